"""Registering a folder of documents, topics and judgments, after checking all of its files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.mirrors import folder_at
from irtoolkit.base.paths import StrPath, on_disk, url_of, without_credentials
from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.editions.reading import FORMS, SUFFIXES
from irtoolkit.datasets.local import folder as folders
from irtoolkit.datasets.local import registry
from irtoolkit.datasets.local.contents import Role
from irtoolkit.datasets.local.examining import examine
from irtoolkit.datasets.local.folder import RoleFiles
from irtoolkit.datasets.local.formats import BOOK, DOC_FORMATS
from irtoolkit.datasets.local.registered import (
    add_to_ir_datasets,
    drop_from_ir_datasets,
    owner_of,
)
from irtoolkit.datasets.local.registry import CollectionRecord
from irtoolkit.datasets.novels import LONGEST, read_novel
from irtoolkit.datasets.text_file import is_text_file


@dataclass(frozen=True)
class Registration:
    """The result of registering a collection.

    Attributes:
        entry: the collection's record in the registry.
        change: whether the collection is new, replaced another one of its name, or is unchanged.
        notes: lines with the files that were used and further remarks for the user.
    """

    entry: CollectionRecord
    change: registry.Change
    notes: tuple[str, ...]


def register_collection(
    name: str,
    folder: StrPath,
    role_files: Mapping[Role, Sequence[str] | None] | None = None,
    *,
    lang: str | None = None,
    lenient: bool = False,
    replace: bool = False,
    sentences: int | None = None,
) -> Registration:
    """Checks a collection and registers it as an ir_datasets id, in this and all later processes.

    An existing registration stays until all files are checked.

    Args:
        name: the id of the dataset.
        folder: the folder with the collection's files, or its URL; or one file of documents, or a book.
        role_files: the user's choice of files; see `irtoolkit.datasets.local.folder.find_role_files`.
        lang: the language code of documents and topics.
        lenient: whether to accept judgments of documents that are not in the collection.
        replace: whether to replace the collection that is registered under the name.
        sentences: of a passage, if the documents are books as plain text; 3 by default.

    Raises:
        InputError: the name is not an id or is taken, or a file is invalid; the collection is not
            registered then.
    """
    if name not in registry.read_registry():
        _check_name(name)
    _check_lang(lang)
    role_files = {role: files for role, files in (role_files or {}).items() if files is not None}
    if _is_file(folder):
        file = on_disk(folder)
        others: dict[Role, Sequence[str]] = {
            role: [folders.NONE] for role in folders.ROLES if role != "docs"
        }
        folder, role_files = file.parent, {"docs": [file.name], **others, **role_files}
    location = _location(folder)
    local_folder = folder_at(location) or Path(location)
    role_contents = folders.find_role_files(local_folder, role_files)
    role_contents["docs"] = _divided(role_contents["docs"], sentences)
    lang = lang or _language(role_contents["docs"])
    entry, notes = examine(local_folder, role_contents, lang, lenient=lenient)
    entry = replaced(entry, folder=location)
    change = registry.add_record(name, entry, replace=replace)
    if change == "replaced":
        drop_from_ir_datasets(name)
    if owner_of(name) is None:
        add_to_ir_datasets(name, entry)
    return Registration(entry, change, (*_lines(role_contents), *notes))


def _location(folder: StrPath) -> StrPath:
    """Returns the absolute path of a folder, or its URL.

    Raises:
        InputError: the URL has credentials.
    """
    # resolve() would replace a link by its target.
    location: StrPath = url_of(folder) or Path(os.path.abspath(on_disk(folder)))
    if without_credentials(str(location)) != str(location):
        raise InputError("the URL has credentials", file=location, remedy="log in without them")
    return location


def _lines(role_contents: Mapping[Role, folders.RoleFiles]) -> list[str]:
    """Returns lines about the files of a collection."""
    reported = [role for role in folders.ROLES if role != "pools" or role in role_contents]
    lines = [_files_of(role, role_contents.get(role)) for role in reported]
    unused = folders.unused_fields(role_contents["docs"])
    if unused:
        lines.append(f"fields of the documents that are not used: {', '.join(unused)}")
    return lines


def _is_file(path: StrPath) -> bool:
    """Returns whether this is a file of documents of this machine, or a book."""
    if url_of(path) is not None:
        return False
    local_path = on_disk(path)
    is_docs = local_path.suffix.lower() in SUFFIXES or is_text_file(local_path.name)
    return is_docs and local_path.is_file()


def _divided(docs: RoleFiles, sentences: int | None) -> RoleFiles:
    """Returns books in passages of so many sentences, and other documents unchanged."""
    if sentences is None:
        return docs
    form = f"{BOOK}{sentences}"
    if not docs.form.startswith(BOOK) or form not in DOC_FORMATS:
        raise InputError(
            f"passages of {number_of(sentences, 'sentences')}, of {folders.format_name(docs.form)}",
            remedy=f"books are {FORMS}, and passages have 1 to {LONGEST} sentences",
        )
    return replaced(docs, form=form)


def _language(docs: RoleFiles) -> str | None:
    """Returns the language of the first book; None for other documents."""
    return read_novel(docs.files[0]).lang if docs.form.startswith(BOOK) else None


def replace_collection(name: str, *, lenient: bool = False) -> Registration:
    """Registers a collection again, with the same folder, files and language as before.

    For files that have changed. See `register_collection`.

    Raises:
        InputError: no collection has the name; a file is gone or invalid, and the old registration
            stays.
    """
    record = registry.record_of(name)
    parts = record.parts()
    form = record.docs.format
    sentences = int(form.removeprefix(BOOK)) if form.startswith(BOOK) else None
    role_files = {
        role: list(parts[role].files) if role in parts else [folders.NONE] for role in folders.ROLES
    }
    return register_collection(
        name,
        record.folder,
        role_files,
        lang=record.lang,
        lenient=lenient,
        replace=True,
        sentences=sentences,
    )


def remove_collection(name: str) -> None:
    """Removes a collection from the registry; its files stay as they are.

    Raises:
        InputError: no collection is registered under that name.
    """
    registry.drop_record(name)
    drop_from_ir_datasets(name)


def _files_of(role: Role, files: RoleFiles | None) -> str:
    if files is None:
        return f"{role}: none"
    more = f" and {len(files.files) - 1} more" if len(files.files) > 1 else ""
    return f"{role}: {files.files[0]}{more} ({folders.format_name(files.form)})"


def _check_lang(lang: str | None) -> None:
    if lang is not None and not registry.is_lang(lang):
        raise InputError(
            f"{lang!r} is not a language code", remedy="a code is for example en, de or zh-Hant"
        )


def _check_name(name: str) -> None:
    if not registry.is_name(name):
        raise InputError(
            f"{name!r} is not a valid id",
            remedy="use letters, digits and - _ . in parts separated by /, each beginning with a"
            " letter or a digit",
        )
    owner = owner_of(name)
    if owner is not None:
        raise InputError(f"the id {name} is {owner}", remedy="choose another name")

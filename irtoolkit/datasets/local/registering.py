"""Registering a folder of documents, topics and judgments, after checking all of its files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from ir_datasets.formats import GenericDoc, GenericQuery

from irtoolkit.base.errors import InputError
from irtoolkit.base.mirrors import folder_at
from irtoolkit.base.paths import StrPath, on_disk, url_of, without_credentials
from irtoolkit.base.records import Qrel
from irtoolkit.datasets.editions.reading import FORMS, SUFFIXES
from irtoolkit.datasets.local import folder as folders
from irtoolkit.datasets.local import registry
from irtoolkit.datasets.local.collection import (
    TitledDoc,
    TopicQuery,
    docs_table,
    file_hash,
    qrels_table,
    topics_table,
)
from irtoolkit.datasets.local.contents import Role
from irtoolkit.datasets.local.folder import RoleFiles
from irtoolkit.datasets.local.formats import BOOK, DOC_FORMATS
from irtoolkit.datasets.local.registered import (
    add_to_ir_datasets,
    drop_from_ir_datasets,
    owner_of,
)
from irtoolkit.datasets.local.registry import CollectionRecord, PartRecord
from irtoolkit.datasets.novels import LONGEST, read_novel
from irtoolkit.datasets.pools import read_pools


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
        folder: the folder with the collection's files, or its URL; or a book in a file.
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
    if lang is not None and not registry.is_lang(lang):
        raise InputError(
            f"{lang!r} is not a language code", remedy="a code is for example en, de or zh-Hant"
        )
    role_files = {role: files for role, files in (role_files or {}).items() if files is not None}
    if _is_book(folder):
        others: dict[Role, Sequence[str]] = {
            role: [folders.NONE] for role in folders.ROLES if role != "docs"
        }
        book = on_disk(folder)
        folder, role_files = book.parent, {"docs": [book.name], **others, **role_files}
    # resolve() would replace a link by its target.
    location: StrPath = url_of(folder) or Path(os.path.abspath(on_disk(folder)))
    if without_credentials(str(location)) != str(location):
        raise InputError("the URL has credentials", file=location, remedy="log in without them")
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
    reported = [role for role in folders.ROLES if role != "pools" or role in role_contents]
    lines = [_files_of(role, role_contents.get(role)) for role in reported]
    unused = folders.unused_fields(role_contents["docs"])
    if unused:
        lines.append(f"fields of the documents that are not used: {', '.join(unused)}")
    return Registration(entry, change, (*lines, *notes))


def _is_book(path: StrPath) -> bool:
    """Returns whether this is a book of this machine."""
    if url_of(path) is not None:
        return False
    local_path = on_disk(path)
    return local_path.suffix.lower() in SUFFIXES and local_path.is_file()


def _divided(docs: RoleFiles, sentences: int | None) -> RoleFiles:
    """Returns books in passages of so many sentences, and other documents unchanged."""
    if sentences is None:
        return docs
    form = f"{BOOK}{sentences}"
    if not docs.form.startswith(BOOK) or form not in DOC_FORMATS:
        raise InputError(
            f"passages of {sentences} sentences, of {folders.format_name(docs.form)}",
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


def examine(
    folder: Path, files: Mapping[Role, RoleFiles], lang: str | None, *, lenient: bool
) -> tuple[CollectionRecord, tuple[str, ...]]:
    """Reads and checks all files; returns the collection's record and notes for the user.

    Args:
        folder: the folder of the collection.
        files: the files of each role.
        lang: the language code of documents and topics.
        lenient: whether to accept judgments of documents that are not in the collection.

    Raises:
        InputError: a file is invalid, or does not fit the others.
    """
    import pyarrow.compute as pc  # slow to import, and only needed here

    of_topics: dict[Role, str] = {"qrels": "judgments", "pools": "candidates"}
    for role, noun in of_topics.items():
        if role in files and "topics" not in files:
            raise InputError(
                f"{noun} without topics",
                file=files[role].files[0],
                remedy="name the topics with --topics FILE, or leave the"
                f" {noun} out with --{role} none",
            )
    paths = {role: part.files[0] for role, part in files.items()}
    facts: dict[Role, tuple[int, Any]] = {}
    docs = docs_table(files["docs"].form, files["docs"].files)
    title, text = docs["title"], docs["text"]
    titled = pc.any(pc.not_equal(title, "")).as_py()
    empty = pc.sum(pc.and_(pc.equal(title, ""), pc.equal(text, ""))).as_py()
    facts["docs"] = len(docs), TitledDoc if titled else GenericDoc
    notes = [f"{empty} documents have no text"] if empty else []
    if "topics" in files:
        topics = topics_table(files["topics"].form, paths["topics"])
        longer = any(pc.any(pc.not_equal(topics[c], "")).as_py() for c in topics.column_names[2:])
        facts["topics"] = len(topics), TopicQuery if longer else GenericQuery
    if "qrels" in files:
        qrels = qrels_table(files["qrels"].form, paths["qrels"])
        notes += _cross_check(paths["qrels"], qrels, topics, docs, lenient=lenient)
        facts["qrels"] = len(qrels), Qrel
    if "pools" in files:
        pools = read_pools(paths["pools"])
        _check_pools(paths["pools"], pools, topics, docs)
        facts["pools"] = len(pools), _Pool
    parts = {role: _part_record(folder, files[role], *fact) for role, fact in facts.items()}
    return CollectionRecord(folder, lang, **parts), tuple(notes)


class _Pool(NamedTuple):
    """The fields of candidates, as the record names them."""

    query_id: str
    doc_ids: list[str]


def _check_pools(
    path: Path, pools: Mapping[str, Sequence[str]], topics: pa.Table, docs: pa.Table
) -> None:
    """Checks that candidates are of all topics, and documents of the collection."""
    queries = topics["query_id"].to_pylist()
    absent = [query for query in queries if query not in pools]
    unknown = set(pools) - set(queries)
    strange = {doc for pool in pools.values() for doc in pool}
    for chunk in docs["doc_id"].chunks:
        strange.difference_update(chunk.to_pylist())
    problem = None
    if unknown:
        problem = f"topic {min(unknown)} has candidates and is not in the file of topics"
    elif absent:
        problem = f"topic {absent[0]} has no candidates"
    elif strange:
        problem = f"candidate {min(strange)} is not in the collection"
    if problem is not None:
        remedy = "name the matching file with --pools FILE, or leave the candidates out with --pools none"
        raise InputError(problem, file=path, remedy=remedy)


def _part_record(folder: Path, role_files: RoleFiles, count: int, record: Any) -> PartRecord:
    files = {
        str(path.relative_to(folder) if path.is_relative_to(folder) else path): file_hash(path)
        for path in role_files.files
    }
    return PartRecord(role_files.form, files, count, record._fields)


def _cross_check(
    path: Path, qrels: pa.Table, topics: pa.Table, docs: pa.Table, *, lenient: bool
) -> list[str]:
    """Checks judgments against topics and documents; returns notes for the user."""
    topic_ids, judged = set(topics["query_id"].to_pylist()), set(qrels["query_id"].to_pylist())
    if not judged <= topic_ids:
        query, line = _first(qrels, "query_id", judged - topic_ids)
        raise InputError(
            f"topic {query} is not in the file of topics",
            file=path,
            line=line,
            remedy="remove its judgments, or name the matching file of topics with --topics",
        )
    unknown = set(qrels["doc_id"].to_pylist())
    for chunk in docs["doc_id"].chunks:
        unknown.difference_update(chunk.to_pylist())
    if unknown and not lenient:
        doc, line = _first(qrels, "doc_id", unknown)
        raise InputError(
            f"document {doc} is not in the collection"
            + (f", nor are {len(unknown) - 1} others" if len(unknown) > 1 else ""),
            file=path,
            line=line,
            remedy="add the missing documents, or accept such judgments with --lenient",
        )
    notes = []
    if unknown:
        notes.append(f"{len(unknown)} judged documents are not in the collection")
    if len(topic_ids) > len(judged):
        notes.append(f"{len(topic_ids) - len(judged)} of {len(topic_ids)} topics have no judgments")
    return notes


def _first(qrels: pa.Table, column: str, ids: set[str]) -> tuple[str, int]:
    """Returns the id and the line of the first judgment whose id is in a set."""
    rows = zip(qrels[column].to_pylist(), qrels["line"].to_pylist(), strict=True)
    return next((name, line) for name, line in rows if name in ids)

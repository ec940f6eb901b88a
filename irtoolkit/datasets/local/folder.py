"""Search for the documents, topics and judgments of a folder, and their formats.

The names of files decide, and for files whose names say nothing, their first lines. If several
files fit, the user has to choose.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.local.contents import (
    Role,
    find_format,
    holds_candidates,
    is_book_file,
    role_of_content,
)
from irtoolkit.datasets.local.formats import BOOK, TITLE, doc_fields
from irtoolkit.datasets.local.sheets import RECORDS, column_names

ROLES: tuple[Role, ...] = ("docs", "topics", "qrels", "pools")
NONE = "none"
_FORMAT_NAMES = {
    "trec": "TREC",
    "jsonl": "JSON lines",
    "tsv": "TSV",
    "beir": "BEIR TSV",
    "run": "a TREC run",
    "parquet": "Parquet",
    "csv": "CSV",
    "arrow": "Arrow",
}

# The order matters: msmarco-doctrain-queries.tsv has topics, and qrels.msmarco-doc.tsv judgments.
_NAMES: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("qrels", re.compile("qrel|judge?ment")),
    ("topics", re.compile("topic|query|queries")),
    ("docs", re.compile("doc|corpus|collection|passage")),
    ("pools", re.compile("top_ranked|candidate|(?<![a-z])pools?(?![a-z])")),
)
# The last three are written by Hugging Face's datasets beside their tables.
_IGNORED_NAME = re.compile(
    r"readme|licen[cs]e|copying|changelog|makefile|citation|dataset_(?:info|dict)\.json|state\.json",
    re.IGNORECASE,
)
_RUN = re.compile(r".*\.run(\.gz)?", re.IGNORECASE)
_IGNORED_SUFFIX = re.compile(
    r".*\.(bib|cff|css|gif|html|ini|jpg|js|lock|log|md|pdf|png|py|rst|run|run\.gz|sh|tar|tar\.gz|tgz"
    r"|tmp|toml|ya?ml|zip)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RoleFiles:
    """The files of one role.

    Attributes:
        form: their format, for example trec.
        files: their paths.
    """

    form: str
    files: tuple[Path, ...]


def format_name(form: str) -> str:
    """Returns a format in words."""
    if form.startswith(BOOK):
        return f"plain text, passages of {number_of(int(form.removeprefix(BOOK)), 'sentences')}"
    return _FORMAT_NAMES[form]


def find_role_files(
    folder: Path, explicit: Mapping[Role, Sequence[str] | None]
) -> dict[Role, RoleFiles]:
    """Returns the files of each role; roles without files are left out.

    Args:
        folder: the folder to search.
        explicit: the user's choice for a role: files or folders, relative to `folder` or else to the
            current folder, or "none". None searches for the files.

    Raises:
        InputError: no such folder or file; several files fit a role; the files of a role have
            different formats; or there are no documents.
    """
    if not folder.is_dir():
        problem = "not a folder" if folder.exists() else "no such folder"
        raise InputError(problem, file=folder, remedy="name the folder of the collection")
    chosen: dict[Role, list[Path]] = {
        role: [] if list(names) == [NONE] else _named(folder, names, role)
        for role, names in explicit.items()
        if names is not None
    }
    used = {path for files in chosen.values() for path in files}
    candidates = _candidates(folder, used)
    for role in ROLES:
        if role in chosen:
            continue
        if len(candidates[role]) > 1:
            choices = " or ".join(
                _in_words(folder, files) for files in sorted(candidates[role])[:5]
            ) + (", ..." if len(candidates[role]) > 5 else "")
            remedy = "choose with --docs FILE..."
            if role != "docs":
                remedy = f"choose with --{role} FILE, or --{role} none"
            raise InputError(
                f"several files may be its {role}: {choices}", file=folder, remedy=remedy
            )
        chosen[role] = [path for files in candidates[role] for path in files]
    if not chosen["docs"] and explicit.get("docs") is None:
        chosen["docs"] = _books(folder, {path for files in chosen.values() for path in files})
    if not chosen["docs"]:
        raise InputError("no documents found", file=folder, remedy="name them with --docs FILE")
    return {role: _with_format(role, chosen[role]) for role in ROLES if chosen[role]}


def unused_fields(role_files: RoleFiles) -> list[str]:
    """Returns the unused fields of the first record; those of other formats have no names."""
    file, form = role_files.files[0], role_files.form
    if form not in RECORDS:
        return []
    line, record = next(RECORDS[form](file))
    # A table is read without the columns that are not used.
    names = {*record, *(() if form == "jsonl" else column_names(file, form))}
    return sorted(names - {*doc_fields(record, file, line), TITLE})


def _named(folder: Path, names: Sequence[str], role: Role) -> list[Path]:
    files: list[Path] = []
    for name in names:
        candidate = next((p for p in (folder / name, Path(name).absolute()) if p.exists()), None)
        if candidate is None:
            raise InputError(
                f"no file {name!r} for --{role}", file=folder, remedy="names are relative to FOLDER"
            )
        inside = list(_files_under(candidate)) if candidate.is_dir() else [candidate]
        if not inside:
            raise InputError("an empty folder", file=candidate, remedy=f"name files with --{role}")
        files.extend(inside)
    paths: set[Path] = set()
    for path in files:
        if path in paths:
            raise InputError(f"given twice for --{role}", file=path, remedy="name each file once")
        paths.add(path)
    return files


def _candidates(folder: Path, used: set[Path]) -> dict[Role, list[list[Path]]]:
    """Returns for each role, the groups of files that fit it."""
    candidates: dict[Role, list[list[Path]]] = {role: [] for role in ROLES}
    parts: dict[str, list[Path]] = {}
    nameless: list[Path] = []
    for path in _entries(folder):
        role = _role_of_name(path.name)
        if role == "pools" and path.is_file() and not holds_candidates(path):
            role = None
        if path.is_dir():
            files = [] if role is None else [p for p in _files_under(path) if p not in used]
            if role == "docs" and files:
                candidates[role].append(files)
            elif role is not None:
                candidates[role].extend([file] for file in files)
        elif path in used:
            continue
        elif role is None:
            nameless.append(path)
        elif role == "docs":
            parts.setdefault(_format_or_name(path), []).append(path)
        else:
            candidates[role].append([path])
    candidates["docs"].extend(parts.values())
    parts = {}
    open_roles = {role for role in ROLES if not candidates[role]}
    for path in nameless if open_roles else ():
        role = role_of_content(path)
        if role not in open_roles:
            continue
        if role == "docs":
            parts.setdefault(_format_or_name(path), []).append(path)
        elif role is not None:
            candidates[role].append([path])
    candidates["docs"].extend(parts.values())
    return candidates


def folder_books(folder: Path) -> list[Path]:
    """Returns the books of a folder, in the order of their names; [] if it has data, too.

    Files about it, for example README.md, and images are not books.
    """
    if any(role_of_content(path) for path in _entries(folder) if path.is_file()):
        return []
    if any(_role_of_name(path.name) for path in _entries(folder) if path.is_dir()):
        return []
    return _books(folder, set())


def other_files(folder: Path, books: Collection[Path]) -> list[str]:
    """Returns the names of a folder's files other than its books and the files about them."""
    return [
        path.name for path in sorted(folder.iterdir()) if not _is_aside(path) and path not in books
    ]


def _books(folder: Path, used: set[Path]) -> list[Path]:
    return [
        path
        for path in sorted(folder.iterdir())
        if is_book_file(path) and path not in used and not _is_aside(path)
    ]


def _entries(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        data = not _IGNORED_SUFFIX.fullmatch(path.name)
        data = data or (_role_of_name(path.name) == "pools" and bool(_RUN.fullmatch(path.name)))
        if not _is_aside(path) and (path.is_dir() or (path.is_file() and data)):
            yield path


def _is_aside(path: Path) -> bool:
    """Returns whether a file is hidden, a copy of an editor, or about the folder."""
    is_ignored = path.is_file() and bool(_IGNORED_NAME.match(path.name))
    return path.name.startswith(".") or path.name.endswith("~") or is_ignored


def _files_under(folder: Path) -> Iterator[Path]:
    for path in _entries(folder):
        if path.is_dir():
            yield from _files_under(path)
        else:
            yield path


def _format_or_name(path: Path) -> str:
    """Returns a key shared by parts of one collection: the format, or the name of a file without one."""
    try:
        return find_format("docs", path)
    except InputError:
        return path.name


def _role_of_name(name: str) -> Role | None:
    lowered = name.lower()
    return next((role for role, pattern in _NAMES if pattern.search(lowered)), None)


def _in_words(folder: Path, files: Sequence[Path]) -> str:
    name = str(files[0].relative_to(folder))
    return name if len(files) == 1 else f"{name} and {len(files) - 1} more"


def _with_format(role: Role, files: Sequence[Path]) -> RoleFiles:
    if role != "docs" and len(files) > 1:
        raise InputError(f"{len(files)} files for --{role}", file=files[1], remedy="give one file")
    forms = {path: find_format(role, path) for path in files}
    for path, form in forms.items():
        if form != forms[files[0]]:
            raise InputError(
                f"this file is {format_name(form)}, and {files[0].name} is {format_name(forms[files[0]])}",
                file=path,
                remedy=f"name files of one format with --{role}",
            )
    return RoleFiles(forms[files[0]], tuple(files))

"""Finds the files of a folder that are its documents, topics and judgments, and their formats.

The names of files decide, and for files whose names say nothing, their first lines. If several
files fit, the user has to choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_lines
from irtoolkit.base.forms import is_parquet_file
from irtoolkit.base.ids import SPACE
from irtoolkit.datasets.local.book_format import BOOK, PASSAGE
from irtoolkit.datasets.local.formats import TITLE, doc_fields, json_records
from irtoolkit.datasets.local.topics import BEIR_HEADER

Role = Literal["docs", "topics", "qrels", "pools"]
ROLES: tuple[Role, ...] = ("docs", "topics", "qrels", "pools")
NONE = "none"
_FORMAT_NAMES = {
    "trec": "TREC", "jsonl": "JSON lines", "tsv": "TSV", "beir": "BEIR TSV", "run": "a TREC run",
    "parquet": "Parquet",
}  # fmt: skip

# The order matters: msmarco-doctrain-queries.tsv has topics, and qrels.msmarco-doc.tsv judgments.
_NAMES: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("qrels", re.compile("qrel|judge?ment")),
    ("topics", re.compile("topic|query|queries")),
    ("docs", re.compile("doc|corpus|collection|passage")),
    ("pools", re.compile("top_ranked")),
)
_IGNORED_NAME = re.compile(r"readme|licen[cs]e|copying|changelog|makefile|citation", re.IGNORECASE)
# Books, whatever their names; .md and .html files are mostly about a collection.
_BOOKS = (".txt", ".epub", ".tei")
_IGNORED_SUFFIX = re.compile(
    r".*\.(bib|cff|css|gif|html|ini|jpg|js|lock|log|md|pdf|png|py|rst|run|run\.gz|sh|tar|tar\.gz|tgz"
    r"|tmp|toml|ya?ml|zip)",
    re.IGNORECASE,
)
_PEEKED_LINES = 50


@dataclass(frozen=True)
class RoleFiles:
    """The files of one role.

    Attributes:
        form: their format, such as trec.
        files: their paths.
    """

    form: str
    files: tuple[Path, ...]


def format_name(form: str) -> str:
    """A format in words."""
    if form.startswith(BOOK):
        return f"plain text, passages of {form.removeprefix(BOOK)} sentences"
    return _FORMAT_NAMES[form]


def find_role_files(
    folder: Path, given: Mapping[Role, Sequence[str] | None]
) -> dict[Role, RoleFiles]:
    """The files of each role; roles without files are left out.

    Args:
        folder: the folder to search.
        given: the user's choice for a role: files or folders, relative to `folder` or else to the
            current folder, or "none". None searches for the files.

    Raises:
        InputError: no such folder or file; several files fit a role; the files of a role have
            different formats; or there are no documents.
    """
    if not folder.is_dir():
        found = "not a folder" if folder.exists() else "no such folder"
        raise InputError(found, file=folder, remedy="name the folder of the collection")
    chosen: dict[Role, list[Path]] = {
        role: [] if list(names) == [NONE] else _named(folder, names, role)
        for role, names in given.items()
        if names is not None
    }
    taken = {path for files in chosen.values() for path in files}
    candidates = _candidates(folder, taken)
    for role in ROLES:
        if role in chosen:
            continue
        if len(candidates[role]) > 1:
            shown = " or ".join(_shown(folder, files) for files in sorted(candidates[role])[:5]) + (
                ", ..." if len(candidates[role]) > 5 else ""
            )
            remedy = f"choose with --{role} FILE" + (f", or --{role} none" * (role != "docs"))
            raise InputError(
                f"several files may be its {role}: {shown}", file=folder, remedy=remedy
            )
        chosen[role] = [path for files in candidates[role] for path in files]
    if not chosen["docs"] and given.get("docs") is None:
        chosen["docs"] = _books(folder, {path for files in chosen.values() for path in files})
    if not chosen["docs"]:
        raise InputError("no documents found", file=folder, remedy="name them with --docs FILE")
    return {role: _with_format(role, chosen[role]) for role in ROLES if chosen[role]}


def unused_fields(found: RoleFiles) -> list[str]:
    """The fields of the first JSON document that are not used."""
    if found.form != "jsonl":
        return []
    line, record = next(iter(json_records(found.files[0])))
    return sorted(set(record) - {*doc_fields(record, found.files[0], line), TITLE})


def _named(folder: Path, names: Sequence[str], role: Role) -> list[Path]:
    files: list[Path] = []
    for name in names:
        place = next((p for p in (folder / name, Path(name).absolute()) if p.exists()), None)
        if place is None:
            raise InputError(
                f"no file {name!r} for --{role}", file=folder, remedy="names are relative to FOLDER"
            )
        inside = list(_files_under(place)) if place.is_dir() else [place]
        if not inside:
            raise InputError("an empty folder", file=place, remedy=f"name files with --{role}")
        files.extend(inside)
    seen: set[Path] = set()
    for path in files:
        if path in seen:
            raise InputError(f"given twice for --{role}", file=path, remedy="name each file once")
        seen.add(path)
    return files


def _candidates(folder: Path, taken: set[Path]) -> dict[Role, list[list[Path]]]:
    """For each role, the groups of files that fit it."""
    candidates: dict[Role, list[list[Path]]] = {role: [] for role in ROLES}
    shards: dict[str, list[Path]] = {}
    nameless: list[Path] = []
    for path in _entries(folder):
        role = _role_of_name(path.name)
        if path.is_dir():
            files = [] if role is None else [p for p in _files_under(path) if p not in taken]
            if role == "docs" and files:
                candidates[role].append(files)
            elif role is not None:
                candidates[role].extend([file] for file in files)
        elif path in taken:
            continue
        elif role is None:
            nameless.append(path)
        elif role == "docs":
            shards.setdefault(_shard(path), []).append(path)
        else:
            candidates[role].append([path])
    candidates["docs"].extend(shards.values())
    shards = {}
    lacking = {role for role in ROLES if not candidates[role]}
    for path in nameless if lacking else ():
        role = _role_of_content(path)
        if role not in lacking:
            continue
        if role == "docs":
            shards.setdefault(_shard(path), []).append(path)
        elif role is not None:
            candidates[role].append([path])
    candidates["docs"].extend(shards.values())
    return candidates


def _books(folder: Path, taken: set[Path]) -> list[Path]:
    """The files of text whose names say nothing: books."""
    return [
        path for path in _entries(folder)
        if _is_plain(path) and path not in taken and _role_of_name(path.name) is None
    ]  # fmt: skip


def _is_plain(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in _BOOKS


def _entries(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") or path.name.endswith("~")
        data = not (_IGNORED_NAME.match(path.name) or _IGNORED_SUFFIX.fullmatch(path.name))
        if not hidden and (path.is_dir() or (path.is_file() and data)):
            yield path


def _files_under(folder: Path) -> Iterator[Path]:
    for path in _entries(folder):
        if path.is_dir():
            yield from _files_under(path)
        else:
            yield path


def _shard(path: Path) -> str:
    """A key that is the same for files whose names differ only in digits: parts of one collection."""
    return re.sub(r"\d+", "0", path.name)


def _role_of_name(name: str) -> Role | None:
    lowered = name.lower()
    return next((role for role, pattern in _NAMES if pattern.search(lowered)), None)


def _role_of_content(path: Path) -> Role | None:
    try:
        for _, line in _peek(path):
            lowered = line.lstrip().lower()
            if re.match(r"<doc[\s>]", lowered):
                return "docs"
            if re.match(r"<top(?:ics?)?[\s>]", lowered):
                return "topics"
            if not lowered.startswith("<"):
                fields = SPACE.split(line.strip())
                judged = len(fields) == 4 and re.fullmatch(r"[+-]?[0-9]+", fields[3])
                return "qrels" if judged or line.split("\t") == BEIR_HEADER else None
    except InputError:  # binary or not readable, and not named by the user
        pass
    return None


def _peek(path: Path) -> Iterator[tuple[int, str]]:
    """Yields (number, line) of the first lines that are not blank."""
    seen = 0
    for number, line in read_lines(path):
        if line.strip():
            yield number, line
            seen += 1
        if seen >= _PEEKED_LINES:
            return


def _shown(folder: Path, files: Sequence[Path]) -> str:
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


def find_format(role: Role, path: Path) -> str:
    """The format of a file, recognised by its first line.

    Raises:
        InputError: the file cannot be read, is empty, or has no known format.
    """
    if role == "pools" and is_parquet_file(path):
        return "parquet"
    is_book = role == "docs" and _is_plain(path)
    try:
        number, line = next(_peek(path), (0, ""))
    except InputError:  # not UTF-8, as many books
        if not is_book:
            raise
        return f"{BOOK}{PASSAGE}"
    if not line:
        raise InputError("an empty file", file=path, remedy=f"name another with --{role}")
    start = line.lstrip()
    if role == "qrels":
        return "beir" if line.split("\t") == BEIR_HEADER else "trec"
    if role == "pools":
        return "jsonl" if start.startswith("{") else "run"
    if start.startswith("<"):
        return "trec"
    if start.startswith("{"):
        return "jsonl"
    if "\t" in line:
        return "tsv"
    if is_book:
        return f"{BOOK}{PASSAGE}"
    raise InputError(
        f"{role} in an unknown format: not TREC SGML, JSON lines or tab-separated text",
        file=path,
        line=number,
        remedy="convert the JSON array to JSON lines, one object per line"
        if start.startswith("[")
        else "convert the file; a line of tab-separated text is an id, a tab and a text",
    )

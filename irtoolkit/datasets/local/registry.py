"""The file that remembers which collections the user has registered.

It stands in ir_datasets' home, and says of each collection where its files are and what they
contained when they were checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.locks import locked
from irtoolkit.datasets.local.formats import DOC_FORMATS
from irtoolkit.datasets.local.topics import QREL_FORMATS, TOPIC_FORMATS
from irtoolkit.datasets.strictjson import read_json

VERSION = 1
_FORMATS: dict[str, frozenset[str]] = {
    "docs": frozenset(DOC_FORMATS),
    "topics": frozenset(TOPIC_FORMATS),
    "qrels": frozenset(QREL_FORMATS),
}
# The records that a part may consist of.
_FIELDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "docs": (("doc_id", "text"), ("doc_id", "title", "text")),
    "topics": (("query_id", "text"), ("query_id", "title", "description", "narrative")),
    "qrels": (("query_id", "doc_id", "relevance"),),
}
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*", re.ASCII)
_LANG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
_MEND = "mend it, or delete it and register your collections again"


def is_name(name: str) -> bool:
    """Whether a text has the form of an ir_datasets id."""
    return _NAME.fullmatch(name) is not None


def is_lang(lang: str) -> bool:
    """Whether a text has the form of a language code, as en or zh-Hant."""
    return _LANG.fullmatch(lang) is not None


@dataclass(frozen=True)
class PartRecord:
    """The documents, topics or judgments of a collection.

    Attributes:
        format: a key of the format tables.
        files: path, relative to the collection's folder where it is inside, to SHA-256.
        count: how many there are.
        fields: the fields of their records.
    """

    format: str
    files: Mapping[str, str]
    count: int
    fields: tuple[str, ...]

    def paths(self, folder: Path) -> list[Path]:
        return [folder / name for name in self.files]


@dataclass(frozen=True)
class CollectionRecord:
    """A registered collection."""

    folder: Path
    lang: str | None
    docs: PartRecord
    topics: PartRecord | None = None
    qrels: PartRecord | None = None

    def parts(self) -> dict[str, PartRecord]:
        """What there is of docs, topics and qrels."""
        found = {"docs": self.docs, "topics": self.topics, "qrels": self.qrels}
        return {role: part for role, part in found.items() if part is not None}

    def to_json(self) -> dict[str, Any]:
        parts = {role: {**asdict(p), "fields": list(p.fields)} for role, p in self.parts().items()}
        return {"folder": str(self.folder), "lang": self.lang, **parts}

    @classmethod
    def from_json(cls, value: Any) -> CollectionRecord:
        """The entry that `to_json` wrote.

        Raises:
            ValueError: anything else.
        """
        if not isinstance(value, dict) or set(value) - {"folder", "lang", *_FORMATS}:
            raise ValueError("not an entry")
        folder, lang = value.get("folder"), value.get("lang")
        if not isinstance(folder, str) or not Path(folder).is_absolute():
            raise ValueError("no absolute folder")
        if lang is not None and not (isinstance(lang, str) and is_lang(lang)):
            raise ValueError("lang is no language code")
        if "docs" not in value:
            raise ValueError("no docs")
        parts = {role: _part(role, value[role]) for role in _FORMATS if role in value}
        return cls(Path(folder), lang, **parts)


def _part(role: str, value: Any) -> PartRecord:
    if not isinstance(value, dict) or set(value) != set(PartRecord.__dataclass_fields__):
        raise ValueError(f"{role} is not what was written")
    files, count, fields = value["files"], value["count"], value["fields"]
    sound = (
        isinstance(value["format"], str)
        and value["format"] in _FORMATS[role]
        and isinstance(files, dict)
        and files
        and all(isinstance(item, str) for item in (*files, *files.values()))
        and isinstance(count, int)
        and isinstance(fields, list)
        and tuple(fields) in _FIELDS[role]
    )
    if not sound:
        raise ValueError(f"{role} is not what was written")
    return PartRecord(value["format"], files, count, tuple(fields))


def registry_path() -> Path:
    """Where the file stands, whether or not it does."""
    return Path(ir_datasets.util.home_path()).absolute() / "irtoolkit" / "registered.json"


def _refuse(problem: InputError) -> None:
    raise problem


def read_registry(report: Callable[[InputError], None] = _refuse) -> dict[str, CollectionRecord]:
    """The registered collections by name, in the order they were registered in.

    Args:
        report: called with what is wrong with the file or with an entry, which is then left out;
            by default it is raised.
    """
    found: dict[str, CollectionRecord] = {}
    try:
        content = _content()
    except InputError as problem:
        report(problem)
        return found
    for name, value in content.items():
        try:
            if not is_name(name):
                raise ValueError("not an id")
            found[name] = CollectionRecord.from_json(value)
        except ValueError as error:
            report(
                InputError(
                    f"the entry of {name!r} is damaged: {error}",
                    file=registry_path(),
                    remedy=f"irtoolkit register --remove {name}",
                )
            )
    return found


def add_record(name: str, entry: CollectionRecord) -> bool:
    """Remembers a collection; whether it was not known yet.

    Raises:
        InputError: the name is taken by another collection, or the file is damaged.
    """
    with _locked():
        content = _content()
        if name in content:
            if content[name] == entry.to_json():
                return False
            raise InputError(
                f"{name} is registered already, and differs",
                file=registry_path(),
                remedy=f"irtoolkit register --remove {name} first, or choose another name",
            )
        _write({**content, name: entry.to_json()})
        return True


def drop_record(name: str) -> None:
    """Forgets a collection.

    Raises:
        InputError: no collection of that name is registered, or the file is damaged.
    """
    with _locked():
        content = _content()
        if name not in content:
            known = ", ".join(content) or "nothing"
            raise InputError(f"{name} is not registered", remedy=f"registered: {known}")
        del content[name]
        _write(content)


def _content() -> dict[str, Any]:
    """The names and entries as they stand in the file."""
    path = registry_path()
    if not path.exists():
        return {}
    try:
        value = read_json(path)
    except InputError as error:
        raise InputError(error.found, file=path, line=error.line, remedy=_MEND) from None
    if isinstance(value, dict) and isinstance(value.get("version"), int):
        if value["version"] > VERSION:
            raise InputError("written by a newer irtoolkit", file=path, remedy="update irtoolkit")
        if isinstance(value.get("collections"), dict):
            return dict(value["collections"])
    raise InputError("not a list of registered collections", file=path, remedy=_MEND)


def _write(content: Mapping[str, Any]) -> None:
    with atomic_text(registry_path()) as out:
        json.dump({"version": VERSION, "collections": content}, out, indent=1)
        out.write("\n")


def _locked() -> AbstractContextManager[bool]:
    """Keeps other processes from reading what this one is about to replace."""
    return locked(
        registry_path().with_suffix(".lock"),
        remedy="make the folder writable, or set IR_DATASETS_HOME to one that is",
    )

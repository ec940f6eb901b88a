"""The file in ir_datasets' home that lists the collections the user has registered.

For each collection it has the folder, the formats, and the hashes that the files had when they were
checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import atomic_text
from irtoolkit.base.locks import locked
from irtoolkit.base.mirrors import folder_at
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.paths import StrPath, is_url, place_of
from irtoolkit.base.temporary_home import check_home_lasts
from irtoolkit.datasets.local.formats import DOC_FORMATS
from irtoolkit.datasets.local.judgments import QREL_FORMATS
from irtoolkit.datasets.local.topics import TOPIC_FORMATS
from irtoolkit.datasets.strictjson import read_json_file

VERSION = 2
_FORMATS: dict[str, frozenset[str]] = {
    "docs": frozenset(DOC_FORMATS),
    "topics": frozenset(TOPIC_FORMATS),
    "qrels": frozenset(QREL_FORMATS),
    "pools": frozenset({"jsonl", "parquet", "run"}),
}
# The fields that the records of a part may have.
_FIELDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "docs": (("doc_id", "text"), ("doc_id", "title", "text")),
    "topics": (("query_id", "text"), ("query_id", "title", "description", "narrative")),
    "qrels": (("query_id", "doc_id", "relevance"),),
    "pools": (("query_id", "doc_ids"),),
}
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*", re.ASCII)
_LANG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
_REPAIR = "repair it, or delete it and register your collections again"


def is_name(name: str) -> bool:
    """Returns whether a text has the form of an ir_datasets id."""
    return _NAME.fullmatch(name) is not None


def is_lang(lang: str) -> bool:
    """Returns whether a text has the form of a language code, for example en or zh-Hant."""
    return _LANG.fullmatch(lang) is not None


@dataclass(frozen=True)
class PartRecord:
    """The documents, topics, judgments or candidates of a registered collection.

    Attributes:
        format: the format of the files, for example trec; a key of DOC_FORMATS, TOPIC_FORMATS or
            QREL_FORMATS, or one of candidates.
        files: the path of each file, relative to the collection's folder if it is in there, and
            its SHA-256.
        count: the number of documents, topics or judgments, or of topics with candidates.
        fields: the names of the records' fields.
    """

    format: str
    files: Mapping[str, str]
    count: int
    fields: tuple[str, ...]

    def paths(self, folder: StrPath) -> list[Path]:
        """Returns the files of a collection in that folder, on this machine.

        Raises:
            InputError: the folder is a URL that cannot be read.
        """
        base = folder_at(folder) or Path(folder)
        return [base / name for name in self.files]


@dataclass(frozen=True)
class CollectionRecord:
    """The record of a registered collection.

    Attributes:
        folder: the absolute path of the collection's folder, or its URL.
        lang: the language code of documents and topics.
        docs: the documents.
        topics: the topics, if there are any.
        qrels: the judgments, if there are any.
        pools: the candidates of each topic, if there are any.
    """

    folder: StrPath
    lang: str | None
    docs: PartRecord
    topics: PartRecord | None = None
    qrels: PartRecord | None = None
    pools: PartRecord | None = None

    def parts(self) -> dict[str, PartRecord]:
        """Returns the parts that the collection has, by "docs", "topics", "qrels" and "pools"."""
        by_role = {
            "docs": self.docs,
            "topics": self.topics,
            "qrels": self.qrels,
            "pools": self.pools,
        }
        return {role: part for role, part in by_role.items() if part is not None}

    def to_json(self) -> dict[str, Any]:
        """Returns the record as JSON values."""
        parts = {role: {**asdict(p), "fields": list(p.fields)} for role, p in self.parts().items()}
        return {"folder": str(self.folder), "lang": self.lang, **parts}

    @classmethod
    def from_json(cls, value: Any) -> CollectionRecord:
        """Builds a record from a result of `to_json`.

        Raises:
            ValueError: the value is anything else.
        """
        if not isinstance(value, dict) or set(value) - {"folder", "lang", *_FORMATS}:
            raise ValueError("it has unknown fields or is not an object")
        folder, lang = value.get("folder"), value.get("lang")
        if not isinstance(folder, str) or not (is_url(folder) or Path(folder).is_absolute()):
            raise ValueError("its folder is not an absolute path")
        if lang is not None and not (isinstance(lang, str) and is_lang(lang)):
            raise ValueError("its lang is not a language code")
        if "docs" not in value:
            raise ValueError("it has no docs")
        parts = {role: _part(role, value[role]) for role in _FORMATS if role in value}
        return cls(place_of(folder), lang, **parts)


def _part(role: str, value: Any) -> PartRecord:
    if not isinstance(value, dict) or set(value) != set(PartRecord.__dataclass_fields__):
        raise ValueError(f"its {role} are not as irtoolkit writes them")
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
        raise ValueError(f"its {role} are not as irtoolkit writes them")
    return PartRecord(value["format"], files, count, tuple(fields))


def registry_path() -> Path:
    """Returns the path of the file, which may not exist yet."""
    return Path(ir_datasets.util.home_path()).absolute() / "irtoolkit" / "registered.json"


def _fail(problem: InputError) -> None:
    raise problem


def read_registry(report: Callable[[InputError], None] = _fail) -> dict[str, CollectionRecord]:
    """Reads the registered collections, by name in the order of registration.

    Args:
        report: called with each problem of the file or of a collection, which is then left out; by
            default the problem is raised.
    """
    records: dict[str, CollectionRecord] = {}
    try:
        content = _content()
    except InputError as problem:
        report(problem)
        return records
    for name, value in content.items():
        try:
            if not is_name(name):
                raise ValueError("the name is not a valid id")
            records[name] = CollectionRecord.from_json(value)
        except ValueError as error:
            report(
                InputError(
                    f"the record of {name!r} is damaged: {error}",
                    file=registry_path(),
                    remedy=f"run irtoolkit register --remove {name}",
                )
            )
    return records


Change = Literal["new", "replaced", "unchanged"]


def add_record(name: str, entry: CollectionRecord, *, replace: bool = False) -> Change:
    """Adds a collection to the file; returns the kind of the change.

    Args:
        name: the id of the collection.
        entry: its record.
        replace: whether it takes the place of another collection of that name.

    Raises:
        InputError: another collection has the name, or the file is damaged.
    """
    check_home_lasts()
    with _locked():
        content = _content()
        existing = content.get(name)
        if existing == entry.to_json():
            return "unchanged"
        if existing is not None and not replace:
            raise InputError(
                f"another collection is registered as {name}",
                remedy="add --replace to put this one in its place, or choose another name",
            )
        _write({**content, name: entry.to_json()})
        return "new" if existing is None else "replaced"


def record_of(name: str) -> CollectionRecord:
    """Returns the record of a collection.

    Raises:
        InputError: no collection has the name, or the file is damaged.
    """
    records = read_registry()
    if name not in records:
        raise _unknown(name, records)
    return records[name]


def _unknown(name: str, records: Mapping[str, Any]) -> InputError:
    listed = ", ".join(records) or "nothing"
    return InputError(
        f"no collection is registered as {name}",
        remedy=f"{did_you_mean(name, records)}registered: {listed}",
    )


def drop_record(name: str) -> None:
    """Removes a collection from the file.

    Raises:
        InputError: no collection has the name, or the file is damaged.
    """
    check_home_lasts()
    with _locked():
        content = _content()
        if name not in content:
            raise _unknown(name, content)
        del content[name]
        _write(content)


def _content() -> dict[str, Any]:
    """Returns the names and records in the file, as JSON values."""
    path = registry_path()
    if not path.exists():
        return {}
    try:
        value = read_json_file(path)
    except InputError as error:
        raise InputError(error.found, file=path, line=error.line, remedy=_REPAIR) from None
    if isinstance(value, dict) and isinstance(value.get("version"), int):
        if value["version"] > VERSION:
            raise InputError("written by a newer irtoolkit", file=path, remedy="update irtoolkit")
        if isinstance(value.get("collections"), dict):
            return dict(value["collections"])
    raise InputError("not a list of registered collections", file=path, remedy=_REPAIR)


def _write(content: Mapping[str, Any]) -> None:
    with atomic_text(registry_path()) as out:
        json.dump({"version": VERSION, "collections": content}, out, indent=1)
        out.write("\n")


def _locked() -> AbstractContextManager[bool]:
    """Locks out other processes that would read what this one is about to replace."""
    return locked(
        registry_path().with_suffix(".lock"),
        remedy="make the folder writable, or set IR_DATASETS_HOME to one that is",
    )

"""Dataclasses read from TOML, each key checked by its field's name and type."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from irtoolkit.base.errors import InputError

Record = TypeVar("Record")
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Place:
    """The part of a TOML file that a record is read from, for messages.

    Attributes:
        file: the file.
        name: the name of the part, for example "row BM25".
        line: 1-based line at which it begins; None if unknown.
    """

    file: Path
    name: str
    line: int | None = None

    def error(self, found: str, remedy: str | None = None) -> InputError:
        """Returns an error about this part of the file."""
        return InputError(f"{self.name}: {found}", file=self.file, line=self.line, remedy=remedy)


def read_record(kind: type[Record], data: Mapping[str, Any], place: Place, **given: Any) -> Record:
    """Returns a dataclass from a TOML table.

    A field is read from the key of its own name, or from the one that its metadata names as "key".

    Args:
        kind: a dataclass whose fields are texts, numbers, and lists and tables of these.
        data: the TOML table.
        place: the location of the TOML table, for messages.
        given: values of fields that the TOML table does not hold.

    Raises:
        InputError: an unknown key, a required key that is missing, or a value of the wrong type.
    """
    read = [field for field in fields(kind) if field.name not in given]  # type: ignore[arg-type]
    by_key = {str(field.metadata.get("key", field.name)): field for field in read}
    hints = get_type_hints(kind)
    for key in data:
        if key not in by_key:
            near = get_close_matches(key, by_key, 1)
            raise place.error(
                f"unknown key {key!r}",
                remedy=f"did you mean {near[0]}?" if near else f"keys: {', '.join(by_key)}",
            )
    values = dict(given)
    for key, field in by_key.items():
        if key in data:
            if not _fits(data[key], hints[field.name]):
                raise place.error(
                    f"{key} is {data[key]!r}, which is not {_words(hints[field.name])}"
                )
            values[field.name] = _plain(data[key], hints[field.name])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise place.error(f"the key {key!r} is missing")
    return kind(**values)


def _plain(value: Any, hint: Any) -> Any:
    """Returns the value as its field holds it: a TOML list for a tuple becomes one."""
    return tuple(value) if isinstance(value, list) and get_origin(hint) is tuple else value


def _fits(value: Any, hint: Any) -> bool:
    """Returns whether a TOML value is of the type of a field."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner if one is not types.NoneType)
    if kind in (list, tuple):
        return isinstance(value, list) and all(_fits(one, inner[0]) for one in value)
    if kind is dict:
        return isinstance(value, dict) and all(_fits(one, inner[1]) for one in value.values())
    if isinstance(value, bool):  # which Python takes for a whole number
        return hint is bool
    return isinstance(value, int | float if hint is float else hint)


def _words(hint: Any) -> str:
    """Returns the type of a field in words."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, types.UnionType):
        return " or ".join(_words(one) for one in inner if one is not types.NoneType)
    if kind in (list, tuple):
        return f"a list of which each is {_words(inner[0])}"
    if kind is dict:
        return (
            f"a table of which each value is {_words(inner[1])}"
            if inner[1] is not Any
            else "a table"
        )
    return _WORDS.get(hint, str(hint))

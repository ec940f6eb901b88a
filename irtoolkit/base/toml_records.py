"""Records: frozen dataclasses whose fields pydantic checks, in Python, TOML and JSON.

Values have to be of the types of the fields and within their ranges, and none is converted: text is
not a number, and true is not 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, cast, dataclass_transform

import pydantic
from pydantic import ConfigDict, Strict, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from irtoolkit.base.arguments import shown_value
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean

# Texts in a tuple, which TOML writes as a list.
Texts = Annotated[tuple[str, ...], Strict(False)]
_Class = TypeVar("_Class", bound=type)
# What a value is not, by pydantic's types of errors.
_WORDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "literal_error": "{expected}",
    "greater_than_equal": "at least {ge:,.15g}",
    "greater_than": "above {gt:,.15g}",
    "less_than_equal": "at most {le:,.15g}",
    "less_than": "below {lt:,.15g}",
}

_KEYS = {"missing": "the key {!r} is missing", "unexpected_keyword_argument": "unknown key {!r}"}


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: _Class) -> _Class:
    """Makes a class that is derived from `Record` a dataclass."""
    config = ConfigDict(extra="forbid", strict=True, validate_by_name=True)
    made: Any = pydantic.dataclasses.dataclass(frozen=True, config=config)(kind)
    return cast("_Class", made)


@record
class Record:
    """The base of records.

    Raises:
        InputError: a value is not of the type of its field, or not in its range.
    """

    __pydantic_fields__: ClassVar[dict[str, FieldInfo]]

    @model_validator(mode="wrap")
    @classmethod
    def _check(cls, values: Any, read: Any) -> Any:
        try:
            return read(values)
        except ValidationError as error:
            raise InputError(_in_words(error.errors()[0], list(cls.__pydantic_fields__))) from None


def _in_words(error: ErrorDetails, fields: Sequence[str]) -> str:
    """Returns the clause on one value that pydantic refuses; positions are of some fields."""
    first, *others = error["loc"]
    if isinstance(first, int):  # an argument without a name
        if first >= len(fields):
            return f"{first + 1} values, and it has {len(fields)} fields"
        error = {**error, "loc": (fields[first], *others)}
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"])[1:]
    if error["type"] in _KEYS:
        return _KEYS[error["type"]].format(key)
    if error["type"] not in _WORDS:
        return f"{key}: {error['msg']}"
    value = error["input"]
    wrong = str(value).lower() if isinstance(value, bool) else shown_value(value)
    words = _WORDS[error["type"]].format(**error.get("ctx", {})).replace("'", "")
    return f"{key}={wrong} is not {words}"


Kind = TypeVar("Kind", bound=Record)


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


def read_record(kind: type[Kind], data: Mapping[str, Any], place: Place, **given: Any) -> Kind:
    """Returns the record of a TOML table.

    A field is read from the key of its own name, or from its alias.

    Args:
        kind: the class of the record.
        data: the TOML table.
        place: the location of the TOML table, for messages.
        given: values of fields that are no keys of the TOML table.

    Raises:
        InputError: an unknown key, a required key that is missing, or a value that its field refuses.
    """
    known = {name: spec for name, spec in kind.__pydantic_fields__.items() if name not in given}
    keys = [spec.alias or name for name, spec in known.items()]
    for key in data:
        if key not in keys:
            remedy = did_you_mean(key, keys).strip() or f"keys: {', '.join(keys)}"
            raise place.error(f"unknown key {key!r}", remedy)
    try:
        return kind(**data, **given)
    except InputError as error:
        raise place.error(error.found) from None

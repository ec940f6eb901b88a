"""The fields of a record type that a file can hold, as Arrow types."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

# Name of a field to its type.
Fields = Mapping[str, pa.DataType]
_PLAIN: dict[Any, pa.DataType] = {
    str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(),
}  # fmt: skip
# What the text of an entry is made of.
_TEXTS = ("title", "text")


def fields_of(cls: type, first: Any, id_field: str, *covered: str) -> dict[str, pa.DataType]:
    """The fields of a record type that its text does not hold, with their types.

    A field is left out where its type is neither text, a number, nor a list of these; where it is
    the whole text; or where the record says that no retriever may see it.

    Args:
        cls: a NamedTuple.
        first: the first record, or None where there is none.
        id_field: the field with the id.
        covered: fields that the text holds.
    """
    hints = get_type_hints(cls)
    hides = getattr(cls, "hides", None)
    found = {}
    for name in getattr(cls, "_fields", ()):
        kind = arrow_type(hints.get(name))
        hidden = hides is not None and first is not None and first.hides(name)
        whole = first is not None and getattr(first, name) == first.default_text()
        if (
            kind is not None
            and not hidden
            and not whole
            and name not in (id_field, *_TEXTS, *covered)
        ):
            found[name] = kind
    return found


def arrow_type(hint: Any) -> pa.DataType | None:
    """The Arrow type of an annotation; None where there is none."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        known = [each for each in inner if each is not type(None)]
        return arrow_type(known[0]) if len(known) == 1 else None
    if origin in (tuple, list) or (isinstance(origin, type) and issubclass(origin, Sequence)):
        members = {each for each in inner if each is not Ellipsis}
        kind = arrow_type(members.pop()) if len(members) == 1 else None
        return None if kind is None else pa.list_(kind)
    return None

"""The fields of a record type that a file can hold, as Arrow types."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from irtoolkit.datasets.books import Passage
from irtoolkit.retrievers.texts import DEFAULT_VIEW, view

TITLE = "title"
# Name of a field to its type.
Fields = Mapping[str, pa.DataType]
_PLAIN: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
}


def fields_of(cls: type, view_name: str, id_field: str) -> dict[str, pa.DataType]:
    """Returns the fields of a record type that a text under a view does not hold, with their types.

    A field is left out if its type is not text, a number, or a list of these; if it is the whole
    text, or its title or what follows the title; or if no retriever may see it. The type decides
    this and not the content of a record: a field that is empty in one may be filled in another.

    Args:
        cls: a NamedTuple.
        view_name: the view that is written; see `irtoolkit.retrievers.texts.view`.
        id_field: the field with the id.
    """
    hints = get_type_hints(cls)
    probe = _probe(cls, hints)
    identical = _held(probe, view_name)
    hides = getattr(probe, "hides", lambda name: False)
    kinds = {name: arrow_type(hints.get(name)) for name in getattr(cls, "_fields", ())}
    return {
        name: kind
        for name, kind in kinds.items()
        if kind is not None and not hides(name) and name not in (id_field, *identical)
    }


def _probe(cls: type, hints: Mapping[str, Any]) -> Any:
    """Returns a record with distinct fields: texts with their names, lists of two of these."""

    def value(name: str) -> Any:
        kind = arrow_type(hints.get(name))
        if kind == pa.string():
            return f"<{name}>"
        return (f"<{name} 1>", f"<{name} 2>") if kind == pa.list_(pa.string()) else None

    return cls(*map(value, getattr(cls, "_fields", ())))


def _held(probe: Any, view_name: str) -> set[str]:
    """Returns the fields that are the text of a view, or its title and what follows it."""
    try:
        text = " ".join(view(probe, view_name))
    except Exception:  # a view that needs more than texts: every field is kept
        return set()
    values = probe._asdict()
    title = values.get(TITLE)
    whole = {text}
    if view_name == DEFAULT_VIEW and isinstance(title, str) and text.startswith(f"{title} "):
        whole |= {title, text[len(title) + 1 :]}
    identical = {name for name, value in values.items() if value in whole}
    # The sentences of a passage are its text, and its id names them.
    if isinstance(probe, Passage) and text in (probe.text, " ".join(probe.sentences)):
        identical |= {"text", "sentences"}
    return identical


def arrow_type(hint: Any) -> pa.DataType | None:
    """Returns the Arrow type of an annotation; None if there is none."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        members_of = [member for member in inner if member is not type(None)]
        return arrow_type(members_of[0]) if len(members_of) == 1 else None
    if origin in (tuple, list) or (isinstance(origin, type) and issubclass(origin, Sequence)):
        members = {member for member in inner if member is not Ellipsis}
        kind = arrow_type(members.pop()) if len(members) == 1 else None
        return None if kind is None else pa.list_(kind)
    return None

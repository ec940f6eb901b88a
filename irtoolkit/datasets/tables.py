"""Datasets that are tables under names, for example a DatasetDict of Hugging Face's datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from irtoolkit.base.errors import InputError
from irtoolkit.base.frames import is_frame


class Tables(NamedTuple):
    """The parts of a dataset; None for a missing one."""

    docs: Any
    queries: Any = None
    qrels: Any = None
    candidates: Any = None


_NAMES = Tables(
    ("corpus", "docs", "documents", "collection", "passages"),
    ("queries", "topics", "query"),
    ("qrels", "judgments", "default"),
    ("top_ranked", "candidates", "pools"),
)


def tables_of(value: Any) -> Tables | None:
    """Returns the parts of a mapping of names to data frames; None for anything else.

    A single table is the documents, whatever its name is.

    Raises:
        InputError: a table of another name, the same part twice, or no documents.
    """
    if not isinstance(value, Mapping) or not value or not all(map(is_frame, value.values())):
        return None
    if len(value) == 1:
        return Tables(next(iter(value.values())))
    tables: dict[str, Any] = {}
    for name, table in value.items():
        part = next((p for p in Tables._fields if str(name).lower() in getattr(_NAMES, p)), None)
        if part is None or part in tables:
            problem = "is no part of a dataset" if part is None else f"is a second table of {part}"
            raise InputError(
                f"table {name!r} {problem}",
                remedy="name the tables corpus, queries, qrels and top_ranked",
            )
        tables[part] = table
    if "docs" not in tables:
        raise InputError(
            f"no documents among the tables {', '.join(map(str, value))}", remedy="name one corpus"
        )
    return Tables(**tables)

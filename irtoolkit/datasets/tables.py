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


def tables_of(given: Any) -> Tables | None:
    """Returns the parts of a mapping of names to data frames; None for anything else.

    A single table is the documents, whatever its name is.

    Raises:
        InputError: a table of another name, the same part twice, or no documents.
    """
    if not isinstance(given, Mapping) or not given or not all(map(is_frame, given.values())):
        return None
    if len(given) == 1:
        return Tables(next(iter(given.values())))
    found: dict[str, Any] = {}
    for name, table in given.items():
        part = next((p for p in Tables._fields if str(name).lower() in getattr(_NAMES, p)), None)
        if part is None or part in found:
            problem = "is no part of a dataset" if part is None else f"is a second table of {part}"
            raise InputError(
                f"table {name!r} {problem}",
                remedy="name the tables corpus, queries, qrels and top_ranked",
            )
        found[part] = table
    if "docs" not in found:
        raise InputError(
            f"no documents among the tables {', '.join(map(str, given))}", remedy="name one corpus"
        )
    return Tables(**found)

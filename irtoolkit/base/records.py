"""Rows that are handed to ir_datasets and ir_measures.

Their annotations must be types and not text, since ir_datasets compares them: so no
`from __future__ import annotations` here, nor where a collection declares records of its own.
"""

from typing import Any, NamedTuple


class Qrel(NamedTuple):
    """One judgment. A benchmark with fractional grades has floats for relevance."""

    query_id: str
    doc_id: str
    relevance: int


class GradedQrel(NamedTuple):
    """One judgment of a benchmark whose grades may be fractions."""

    query_id: str
    doc_id: str
    relevance: float


class ScoredDoc(NamedTuple):
    """One row of a run."""

    query_id: str
    doc_id: str
    score: float


class PoolDoc(NamedTuple):
    """A candidate of a query. The score is 0 for all: a pool is a set, not a ranking."""

    query_id: str
    doc_id: str
    score: float = 0.0


def whole(grade: float) -> Any:
    """Returns a grade as an int if it is a whole number, else as a float."""
    number = int(grade)
    return number if number == grade else float(grade)

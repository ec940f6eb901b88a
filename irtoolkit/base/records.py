"""Records for ir_datasets and ir_measures.

Their annotations must be types and not text, since ir_datasets compares them: so this module has no
`from __future__ import annotations`, nor has any in which a collection declares its own records.
"""

from typing import Any, NamedTuple


class Qrel(NamedTuple):
    """A judgment. A benchmark with fractional grades has floats for relevance."""

    query_id: str
    doc_id: str
    relevance: int


class GradedQrel(NamedTuple):
    """A judgment of a benchmark whose grades may be fractions."""

    query_id: str
    doc_id: str
    relevance: float


class ScoredDoc(NamedTuple):
    """A row of a run."""

    query_id: str
    doc_id: str
    score: float


class PoolDoc(NamedTuple):
    """A candidate of a query. The score is 0 for all: a pool is a set, not a ranking."""

    query_id: str
    doc_id: str
    score: float = 0.0


def whole(grade: float) -> Any:
    """Returns a grade as an int if it is a whole number, otherwise as a float."""
    number = int(grade)
    return number if number == grade else float(grade)

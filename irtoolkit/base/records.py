"""Rows that are handed to ir_datasets and ir_measures.

Their annotations must be types and not text, since ir_datasets compares them: so no
`from __future__ import annotations` here, nor where a collection declares records of its own.
"""

from typing import NamedTuple


class Qrel(NamedTuple):
    """One judgment."""

    query_id: str
    doc_id: str
    relevance: int


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

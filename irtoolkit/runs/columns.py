"""The rows of TREC files as columns, and the numbers that may occur in their fields."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ids, Ints, Singles

RUN_FIELDS = ("query", "iteration", "document", "rank", "score", "tag")
QREL_FIELDS = ("query", "iteration", "document", "grade")

Codes = NDArray[np.int32] | Ints
# Ranks of documents from 1, by query id and document id.
Ranks = dict[str, dict[str, int]]


class TiedRank(int):
    """A rank in the order of a run, with the best rank that a document of equal score has.

    Attributes:
        best: the best rank among the documents of the same score.
    """

    best: int

    def __new__(cls, rank: int, best: int) -> TiedRank:
        tied = super().__new__(cls, rank)
        tied.best = best
        return tied

    def __getnewargs__(self) -> tuple[int, int]:  # type: ignore[override]
        return int(self), self.best


_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class RunColumns:
    """The rows of a TREC run in file order, as parallel arrays.

    Attributes:
        lines: (N,) line numbers, from 1.
        query_ids: (Q,) ids that `queries` points into.
        queries: (N,) index of each row's query.
        doc_ids: (D,) ids that `docs` points into.
        docs: (N,) index of each row's document.
        ranks: (N,) ranks as the file has them.
        scores: (N,) scores, in single precision unless they were read in double precision.
        iterations, iteration: second fields, and (N,) the index of each row's.
        tags, tag: run tags, and (N,) the index of each row's.
    """

    lines: Ints
    query_ids: Ids
    queries: Ints
    doc_ids: Ids
    docs: Ints
    ranks: Ints
    scores: Singles | Floats
    iterations: Ids
    iteration: Codes
    tags: Ids
    tag: Codes


@dataclass(frozen=True)
class QrelColumns:
    """The rows of TREC qrels in file order, as parallel arrays.

    Attributes:
        lines: (N,) line numbers, from 1.
        query_ids: (Q,) ids that `queries` points into.
        queries: (N,) index of each row's query.
        doc_ids: (D,) ids that `docs` points into.
        docs: (N,) index of each row's document.
        grades: (N,) grades.
    """

    lines: Ints
    query_ids: Ids
    queries: Ints
    doc_ids: Ids
    docs: Ints
    grades: Ints


def whole_number(text: str) -> int | None:
    """Returns the 64-bit integer that a field holds, or None."""
    return int(text) if _INTEGER.fullmatch(text) else None


def finite_number(text: str) -> float | None:
    """Returns a decimal number as C's atof reads it; None unless finite as a float32."""
    if _DECIMAL.fullmatch(text) is None:
        return None
    with np.errstate(over="ignore"):
        return float(text) if np.isfinite(np.float32(text)) else None

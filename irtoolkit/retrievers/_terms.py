"""Counting terms, and scoring with sparse term weights."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from irtoolkit.base.analysis import Analyzer
from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Ints
from irtoolkit.base.threads import pool
from irtoolkit.retrievers.base import ScoreMatrix
from irtoolkit.retrievers.texts import Segments

# Segments whose terms are remembered: the sentences of a book come again in many passages.
_REMEMBERED = 1 << 16
# A candidate set of up to so many is scored in double precision; a larger one in single, as Lucene
# scores all of them.
DOUBLE_UP_TO = 1 << 15


class Numbers(dict[str, int]):
    """Token to term number; -1 for a token that is stopped. New terms get the next number."""

    def __init__(self, analyze: Analyzer) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}
        self._term = analyze.term

    def __missing__(self, token: str) -> int:
        term = self._term(token)
        number = -1 if term is None else self.terms.setdefault(term, len(self.terms))
        self[token] = number
        return number


class Vocabulary:
    """Term numbers, given out as terms appear, and count matrices over them."""

    def __init__(self, analyze: Analyzer) -> None:
        self._split, self._lower = analyze.split, analyze.lower
        self._numbers = Numbers(analyze)
        self._known: dict[str, array[int]] = {}
        self._names: list[str] = []

    def __len__(self) -> int:
        return len(self._numbers.terms)

    def items(self) -> Iterable[tuple[str, int]]:
        """Terms with their numbers."""
        return self._numbers.terms.items()

    def names(self) -> list[str]:
        """Every term, at its number."""
        terms = self._numbers.terms
        if len(self._names) < len(terms):
            self._names += islice(terms, len(self._names), None)
        return self._names

    def number(self, term: str) -> int:
        """The number of a term; a new one gets the next number."""
        return self._numbers.terms.setdefault(term, len(self._numbers.terms))

    def count(self, texts: Iterable[Segments]) -> Any:
        """A (texts, terms) CSR matrix of term counts; its terms are those seen so far.

        A text's terms are those of its segments.
        """
        starts, terms = array("q", [0]), array("i")
        for segments in texts:
            if len(segments) == 1:
                terms.extend(self._terms(segments[0]))
            else:
                for segment in segments:
                    terms.extend(self._remembered(segment))
            starts.append(len(terms))
        indices = np.frombuffer(terms, dtype=np.int32) if len(terms) else np.empty(0, np.int32)
        indptr = np.frombuffer(starts, dtype=np.int64)
        stopped = indices < 0
        if stopped.any():
            gone = np.concatenate([[0], np.cumsum(stopped)])
            indices, indptr = indices[~stopped], indptr - gone[indptr]
        return count_matrix(indices, indptr, len(self))

    def _terms(self, text: str) -> array[int]:
        return array("i", map(self._numbers.__getitem__, self._split(self._lower(text))))

    def _remembered(self, segment: str) -> array[int]:
        known = self._known.get(segment)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[segment] = self._terms(segment)
        return known


def count_matrix(terms: Any, offsets: Ints, width: int) -> Any:
    """A (texts, width) CSR matrix of term counts.

    Args:
        terms: (n,) numbers of the terms of all texts.
        offsets: (texts + 1,) where each text's terms begin and end.
        width: number of terms.
    """
    shape = (len(offsets) - 1, max(1, width))
    matrix = csr_array((np.ones(len(terms)), terms, offsets), shape=shape)
    matrix.sum_duplicates()
    return matrix


def widen(matrix: Any, width: int) -> Any:
    """The matrix with as many columns as there are terms by now."""
    matrix.resize((matrix.shape[0], max(1, width)))
    return matrix


def document_frequencies(counts: Any) -> Ints:
    """(terms,) number of rows in which each term occurs."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


class TermScores:
    """Dot products of sparse queries with the weights of a candidate set's terms.

    The time grows with the postings of the queries' terms, and with queries × candidates.
    """

    def __init__(self, weights: Any) -> None:
        """`weights` is a (candidates, terms) CSR matrix."""
        self._count, self._width = weights.shape
        dtype = np.float64 if self._count <= DOUBLE_UP_TO else np.float32
        self._postings = weights.astype(dtype).tocsc()

    def __call__(self, queries: Any) -> ScoreMatrix:
        """(q, candidates) products for a (q, terms) CSR matrix."""
        scores = np.zeros((queries.shape[0], self._count), self._postings.dtype)
        # Terms that only queries have, given out after these weights were made, weigh nothing.
        known = queries[:, : self._width] if queries.shape[1] > self._width else queries
        postings = self._postings.indptr, self._postings.indices, self._postings.data
        threads = cores()
        bounds = np.linspace(0, len(scores), min(threads, len(scores)) + 1).astype(int)

        def part(first: int, last: int) -> None:
            asked = known.indptr[first : last + 1], known.indices, known.data
            kernel()(postings, asked, scores[first:last])

        with pool(threads) as workers:
            list(workers.map(part, bounds[:-1], bounds[1:]))
        return scores


class SharedTerms:
    """Which candidates share a term with a query, whatever the term weighs.

    Args:
        counts: (candidates, terms) CSR matrix; a term occurs where it is not 0.
    """

    def __init__(self, counts: Any) -> None:
        self._counts = counts

    @cached_property
    def _common(self) -> TermScores:
        return TermScores(_pattern(self._counts))

    def __call__(self, queries: Any) -> NDArray[np.bool_]:
        """(q, candidates) for a (q, terms) CSR matrix."""
        shared: NDArray[np.bool_] = self._common(_pattern(queries)) > 0
        return shared


def _pattern(matrix: Any) -> Any:
    """A CSR matrix with 1 in place of whatever is not 0."""
    made = matrix.copy()
    made.data = (made.data != 0).astype(np.float64)
    return made


@cache
def kernel() -> Callable[..., None]:
    """Adds the postings of the terms of each query to its row of scores; compiled once."""
    import numba

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def accumulate(postings: Any, queries: Any, scores: Any) -> None:
        begins, docs, weights = postings
        starts, terms, counts = queries
        for row in range(len(starts) - 1):
            for at in range(starts[row], starts[row + 1]):
                count = counts[at]
                for place in range(begins[terms[at]], begins[terms[at] + 1]):
                    scores[row, docs[place]] += count * weights[place]

    made: Callable[..., None] = accumulate
    return made

"""Counting terms, and scoring with sparse term weights."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from irtoolkit.analysis import Analyzer
from irtoolkit.ids import Ints
from irtoolkit.retrievers.base import Scores
from irtoolkit.retrievers.task import Segments

Floats = NDArray[np.float64]

# Segments whose terms are remembered: the sentences of a book come again in many passages.
_REMEMBERED = 1 << 16
# A candidate set of up to so many is scored in double precision; a larger one in single, as Lucene
# scores all of them.
DOUBLE_UP_TO = 1 << 15
# A term in at least one of so many candidates is scored as a dense row: that is where the work is.
_FREQUENT = 32
_DENSE_BYTES = 1 << 28


class _Numbers(dict[str, int]):
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
        self._split = analyze.split
        self._numbers = _Numbers(analyze)
        self._known: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self._numbers.terms)

    def items(self) -> Iterable[tuple[str, int]]:
        """Terms with their numbers."""
        return self._numbers.terms.items()

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
        matrix = csr_array(
            (np.ones(len(indices)), indices, indptr), shape=(len(starts) - 1, max(1, len(self)))
        )
        matrix.sum_duplicates()
        return matrix

    def _terms(self, text: str) -> array[int]:
        return array("i", map(self._numbers.__getitem__, self._split(text.lower())))

    def _remembered(self, segment: str) -> array[int]:
        known = self._known.get(segment)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[segment] = self._terms(segment)
        return known


def widen(matrix: Any, width: int) -> Any:
    """The matrix with as many columns as there are terms by now."""
    matrix.resize((matrix.shape[0], max(1, width)))
    return matrix


def document_frequencies(counts: Any) -> Ints:
    """(terms,) number of rows in which each term occurs."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


class TermScores:
    """Dot products of sparse queries with the weights of a candidate set's terms.

    Few terms make up most postings. Those are kept as dense rows, where BLAS multiplies them; the
    rest stay sparse. Time grows with queries × (dense rows × candidates + postings of their other
    terms).
    """

    def __init__(self, weights: Any) -> None:
        """`weights` is a (candidates, terms) CSR matrix."""
        self._count = weights.shape[0]
        self._dtype = np.float64 if self._count <= DOUBLE_UP_TO else np.float32
        # Only terms that occur, so that what follows does not grow with the whole vocabulary.
        self._terms, columns = np.unique(weights.indices, return_inverse=True)
        local = csr_array(
            (weights.data.astype(self._dtype), columns.astype(np.int32), weights.indptr),
            shape=(self._count, len(self._terms)),
        )
        postings = local.tocsc()
        found = np.diff(postings.indptr)
        most = max(1, _DENSE_BYTES // (np.dtype(self._dtype).itemsize * max(1, self._count)))
        often = np.argsort(-found, kind="stable")[:most]
        self._often = np.sort(often[found[often] * _FREQUENT >= self._count])
        self._rare = np.setdiff1d(np.arange(len(self._terms)), self._often)
        self._dense = np.ascontiguousarray(postings[:, self._often].toarray().T)
        self._sparse = postings[:, self._rare]
        self._by_term = csr_array(
            (self._sparse.data, self._sparse.indices, self._sparse.indptr),
            shape=(len(self._rare), self._count),
        )

    def __call__(self, queries: Any) -> Scores:
        """(q, candidates) products for a (q, terms) CSR matrix."""
        asked = queries[:, self._terms[self._terms < queries.shape[1]]].astype(self._dtype)
        asked.resize((queries.shape[0], len(self._terms)))
        scores: Scores = asked[:, self._often].toarray() @ self._dense
        rest = asked[:, self._rare]
        if self._count <= DOUBLE_UP_TO:
            scores += (rest @ self._by_term).toarray()
            return scores
        for row, (start, stop) in enumerate(zip(rest.indptr[:-1], rest.indptr[1:], strict=True)):
            columns: csc_array = self._sparse[:, rest.indices[start:stop]]
            scores[row] += columns @ rest.data[start:stop]
        return scores

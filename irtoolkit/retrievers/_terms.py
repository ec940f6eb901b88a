"""Counts of terms in texts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from irtoolkit.base.analysis import Analyzer
from irtoolkit.base.ids import Ints, Segments

# Segments whose terms are remembered: the sentences of a book come again in many passages.
_REMEMBERED = 1 << 16


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


class TermNumbers:
    """Term numbers, given out as terms appear, and count matrices over them."""

    def __init__(self, analyze: Analyzer) -> None:
        self._split, self._lower = analyze.split, analyze.lower
        self._numbers = Numbers(analyze)
        self._known: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self._numbers.terms)

    def names(self) -> list[str]:
        """Every term, at its number."""
        return list(self._numbers.terms)

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
        cached = self._known.get(segment)
        if cached is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            cached = self._known[segment] = self._terms(segment)
        return cached


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


class Frequencies:
    """In how many texts each term occurs, counted block by block.

    Attributes:
        texts: number of texts.
    """

    def __init__(self) -> None:
        self.texts = 0
        self._found = np.zeros(0, np.int64)

    def add(self, counts: Any) -> None:
        """Takes in a (texts, terms) CSR matrix of counts."""
        self.texts += counts.shape[0]
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
        self._found = self.of(len(frequencies)) + frequencies

    def of(self, width: int) -> Ints:
        """(width,) the frequencies of the first terms."""
        return np.pad(self._found, (0, width - len(self._found)))

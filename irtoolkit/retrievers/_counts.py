"""Counts of terms in a task's documents, and what term weights take from a whole set of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from irtoolkit.base.analysis import Analysis
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers._kept import KeptTerms, kept_terms
from irtoolkit.retrievers._terms import Vocabulary, count_matrix, document_frequencies
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import BLOCK_DOCS, Segments

# Of a larger collection, terms are not kept for candidates that are a smaller share of it.
_LARGE, _SHARE = 100_000, 0.25


class Collection(NamedTuple):
    """What term weights take from a whole set of documents.

    Attributes:
        size: number of documents.
        found: (terms,) number of documents in which each term occurs.
        occurrences: (terms,) how often it does.
        empty: number of documents without a term.
    """

    size: int
    found: Ints
    occurrences: Floats
    empty: int = 0

    @classmethod
    def of(cls, counts: Any) -> Collection:
        """The statistics of a (documents, terms) matrix of counts."""
        total = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
        empty = int((np.diff(counts.indptr) == 0).sum())
        return cls(counts.shape[0], document_frequencies(counts), total, empty)

    def widened(self, width: int) -> Collection:
        """The same with a zero for each term that was not yet seen."""
        more = (0, max(1, width) - len(self.found))
        found, occurrences = np.pad(self.found, more), np.pad(self.occurrences, more)
        return self._replace(found=found, occurrences=occurrences)

    def without_empty(self) -> Collection:
        """Returns the statistics of the documents that have a term."""
        return self._replace(size=self.size - self.empty, empty=0)

    def __add__(self, other: object) -> Collection:
        """The statistics of two sets of documents together."""
        if not isinstance(other, Collection):
            return NotImplemented
        width = max(len(self.found), len(other.found))
        one, two = self.widened(width), other.widened(width)
        return Collection(
            one.size + two.size, one.found + two.found, one.occurrences + two.occurrences,
            one.empty + two.empty,
        )  # fmt: skip

    @property
    def average(self) -> float:
        """Mean document length, in terms."""
        return float(self.occurrences.sum() / self.size) if self.size else 0.0


class Counts(Protocol):
    """Counts of terms, whose numbers the vocabulary gives out as terms appear."""

    def of(self, docs: Ints) -> Any:
        """(c, terms) counts of documents of the task."""
        ...

    def corpus(self) -> Collection:
        """The statistics of all documents of the collection."""
        ...


class TextCounts:
    """Counts of terms in texts, which are read when they are counted."""

    def __init__(
        self, task: Task, vocabulary: Vocabulary,
        rewritten: Callable[[Iterable[Segments]], Iterable[Segments]],
    ) -> None:  # fmt: skip
        self._task, self._vocabulary, self._rewritten = task, vocabulary, rewritten

    def of(self, docs: Ints) -> Any:
        """(c, terms) counts of documents of the task."""
        whole = self._task.ranks_corpus and len(docs) == len(self._task.doc_ids)
        texts = self._task.docs if whole else self._task.docs[docs]
        return self._vocabulary.count(self._rewritten(texts))

    def corpus(self) -> Collection:
        """The statistics of all documents of the collection."""
        return Collection.of(self._vocabulary.count(self._rewritten(self._task.corpus())))


class KeptCounts:
    """Counts of terms that the cache keeps; no text is read."""

    def __init__(self, task: Task, vocabulary: Vocabulary, kept: KeptTerms) -> None:
        self._vocabulary, self._kept = vocabulary, kept
        count = len(task.doc_ids)
        self._places = np.arange(count) if task.ranks_corpus else kept.places(task.doc_ids)
        # The vocabulary's number of each kept term; -1 until it appears.
        self._numbers = np.full(len(kept.terms), -1, np.int32)

    def of(self, docs: Ints) -> Any:
        """(c, terms) counts of documents of the task."""
        return self._count(self._places[docs])

    def corpus(self) -> Collection:
        """The statistics of all documents of the collection."""
        total = Collection(0, np.zeros(1, np.int64), np.zeros(1))
        for start in range(0, len(self._kept), BLOCK_DOCS):
            stop = min(start + BLOCK_DOCS, len(self._kept))
            total += Collection.of(self._count(np.arange(start, stop)))
        return total

    def _count(self, places: Ints) -> Any:
        parts, offsets = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for start in range(0, len(places), BLOCK_DOCS):
            terms, ends = self._kept.of(places[start : start + BLOCK_DOCS])
            parts.append(self._numbered(terms))
            offsets.append(ends[1:] + offsets[-1][-1])
        return count_matrix(np.concatenate(parts), np.concatenate(offsets), len(self._vocabulary))

    def _numbered(self, terms: Any) -> Any:
        """The vocabulary's numbers of terms; new ones are given out in the order they appear."""
        numbers = self._numbers[terms]
        new = np.flatnonzero(numbers < 0)
        if not len(new):
            return numbers
        first = np.full(len(self._numbers), -1)
        first[terms[new[::-1]]] = new[::-1]  # what is written last is what comes first
        appearing = np.sort(first[first >= 0])
        for term in np.asarray(terms[appearing]).tolist():
            self._numbers[term] = self._vocabulary.number(self._kept.terms[term])
        return self._numbers[terms]


def counts_of(task: Task, vocabulary: Vocabulary, how: Analysis, reads_corpus: bool) -> Counts:
    """Counts of terms in a task's documents: kept ones, or else those of its texts."""
    dataset = task.dataset
    if (
        dataset is not None
        and dataset.docs_key is not None
        and (reads_corpus or _is_most(task, dataset))
    ):
        kept = kept_terms(dataset, task.doc_view, how)
        if kept is not None:
            return KeptCounts(task, vocabulary, kept)
    return TextCounts(task, vocabulary, lambda texts: texts)


def _is_most(task: Task, dataset: Dataset) -> bool:
    """Whether the candidates are so much of their collection that counting it all pays."""
    size = dataset.docs_count()
    return size is not None and (size <= _LARGE or len(task.doc_ids) >= _SHARE * size)

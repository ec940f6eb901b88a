"""Passages of books with the sentences around them, and settings of retrievers that read these."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.datasets.books import BLOCK_VIEWS, Passages
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import DEFAULT_VIEW, no_text


@dataclass(frozen=True)
class Faded(Retriever):
    """A retriever of queries from which a text is masked out.

    Attributes:
        fade: how much a sentence of the query counts of what the next nearer to the masked text
            counts, above 0 and at most 1; 1 takes the query's text as it is. Queries need the
            fields left and right; a text that is typed is taken as it is.
    """

    fade: float = 1.0

    def check_fade(self) -> None:
        """Raises an InputError for a value that is out of range."""
        if not 0 < self.fade <= 1:
            raise InputError(f"setting fade={self.fade} is not above 0 and at most 1")

    def also_reads(self, task: Task) -> Iterable[str]:
        yield from super().also_reads(task)
        if self.fades(task):
            for side in ("left", "right"):
                yield from chain.from_iterable(task.query_fields(side))

    def fades(self, task: Task) -> bool:
        """Whether sentences of the queries count more, the nearer they are to the masked text."""
        return self.fade < 1 and not task.typed

    def query_sentences(self, task: Task) -> tuple[list[str], Any]:
        """The sentences of all queries, and a (queries, sentences) matrix of what each counts."""
        if task.query_view != DEFAULT_VIEW:
            raise InputError(
                f"fade={self.fade} takes a query's fields left and right, not query={task.query_view}",
                remedy="leave out one of the two",
            )
        texts: list[str] = []
        weights: list[float] = []
        counts: list[int] = []
        sides = zip(task.query_fields("left"), task.query_fields("right"), strict=True)
        for before, after in sides:
            texts += [*before, *after]
            weights += [self.fade**i for i in reversed(range(len(before)))]
            weights += [self.fade**i for i in range(len(after))]
            counts.append(len(before) + len(after))
        offsets = np.cumsum([0, *counts])
        columns = np.arange(len(texts))
        shape = (len(counts), len(texts))
        return texts, csr_array((np.array(weights, np.float64), columns, offsets), shape=shape)


@dataclass(frozen=True)
class FadedTerms(Faded):
    """A retriever that matches terms, of such queries."""

    def query_terms(self, task: Task, searcher: Any) -> CountedQueries:
        """Returns the queries' terms, weighted by the nearness of their sentences."""
        if not self.fades(task):
            terms: CountedQueries = searcher.terms(task.queries)
            return terms
        texts, weights = self.query_sentences(task)
        counted = searcher.terms([(text,) for text in texts])
        shape = len(texts), max(1, len(counted.terms))
        matrix = csr_array((counted.counts, counted.numbers, counted.starts), shape=shape)
        faded = csr_array(weights @ matrix)
        return CountedQueries(
            counted.terms, faded.indptr.astype(np.int64), faded.indices.astype(np.int64), faded.data
        )


# "16", or several numbers of sentences: "1/16/64".
_AROUND = re.compile(r"[1-9][0-9]{0,4}(/[1-9][0-9]{0,4})*")


@dataclass(frozen=True)
class Surrounded(Faded):
    """A retriever that scores a passage of a book together with the sentences around it.

    A window is the passage with r sentences on both sides, fewer at the ends of the book. With k
    windows, the score is (1 - weight) · s(passage) + weight / k · Σ s(window), where s is the score
    of the retriever that this is derived from. Sentences around a passage need not be candidates.

    Attributes:
        around: r, the sentences on either side; several windows as "1/16/64".
        weight: the share of the windows in the score, from 0 to 1.
    """

    around: str = "1/16/64"
    weight: float = 0.75

    def check_surroundings(self) -> None:
        """Raises an InputError for values that are out of range."""
        if not _AROUND.fullmatch(str(self.around)):
            raise InputError(
                f"setting around={self.around} is not numbers of sentences",
                remedy="such as 16, or 1/16/64 for three windows",
            )
        if not 0 <= self.weight <= 1:
            raise InputError(f"setting weight={self.weight} is not between 0 and 1")
        self.check_fade()

    def shares(self) -> list[tuple[int, float]]:
        """Sentences on either side, 0 for the passage itself, and the share in the score."""
        sizes = sorted({int(size) for size in str(self.around).split("/")})
        shares = [(0, 1 - self.weight), *((size, self.weight / len(sizes)) for size in sizes)]
        return [(size, share) for size, share in shares if share > 0]

    def also_reads(self, task: Task) -> Iterable[str]:
        yield from super().also_reads(task)
        for book in _passages(task).sentences():
            yield from (str(len(book)), *book)


@dataclass(frozen=True)
class BookWindows:
    """Where passages are in the sentences of all books of a dataset.

    Attributes:
        sentences: those of all books, one book after another.
        begins, ends: (D,) the first sentence of each passage, and one past its last.
        lows, highs: (D,) the first sentence of its book, and one past its last.
    """

    sentences: list[str]
    begins: Ints
    ends: Ints
    lows: Ints
    highs: Ints

    @classmethod
    def of(cls, passages: Passages, places: Ints) -> BookWindows:
        """Those of the passages at some places of the order of all passages."""
        books = list(passages.sentences())
        edges = np.cumsum([0, *map(len, books)])
        begins, ends = passages.sentence_ranges(places)
        book = np.searchsorted(edges, begins, side="right") - 1
        return cls(list(chain.from_iterable(books)), begins, ends, edges[book], edges[book + 1])

    def ranges(self, docs: Ints, around: int) -> tuple[Ints, Ints]:
        """(c,) the first sentence of the windows of some passages, and one past the last."""
        first = np.maximum(self.begins[docs] - around, self.lows[docs])
        return first, np.minimum(self.ends[docs] + around, self.highs[docs])


def book_windows(task: Task) -> BookWindows:
    """Where the candidates of a task are in their books.

    Raises:
        InputError: the documents are not passages of books, or a view of them is asked for.
    """
    passages = _passages(task)
    if task.doc_view not in BLOCK_VIEWS:
        raise InputError(
            f"surroundings are sentences of books, not doc={task.doc_view}",
            remedy="leave out doc",
        )
    places = passages.places(task.doc_ids)
    if (places < 0).any() and task.dataset is not None:
        raise no_text(task.doc_ids[np.argmax(places < 0)], task.dataset)
    return BookWindows.of(passages, places)


def all_windows(task: Task) -> BookWindows:
    """Where all passages of a task's collection are, candidates or not."""
    passages = _passages(task)
    return BookWindows.of(passages, np.arange(len(passages)))


def incidence(first: Ints, last: Ints, base: int, width: int) -> Any:
    """A (windows, width) matrix of ones where a window has a sentence.

    Args:
        first, last: (c,) the first sentence of each window, and one past its last.
        base: the number of the sentence in column 0.
        width: number of columns.
    """
    counts = last - first
    offsets = np.concatenate([[0], np.cumsum(counts)])
    columns = np.arange(offsets[-1]) + np.repeat(first - base - offsets[:-1], counts)
    return csr_array((np.ones(offsets[-1]), columns, offsets), shape=(len(first), width))


def _passages(task: Task) -> Passages:
    dataset = task.dataset
    passages = None if dataset is None else dataset.passages()
    if passages is None:
        raise InputError(
            f"the documents of {task.dataset_id} are not passages of books",
            remedy="surroundings need a dataset of books, such as relic or plotretrieval",
        )
    return passages

"""Queries with a place in their middle, whose sentences count more the nearer they are to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from irtoolkit.base.errors import InputError
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import DEFAULT_VIEW


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

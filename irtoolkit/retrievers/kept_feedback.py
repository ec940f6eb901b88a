"""Feedback over kept postings: the first search, the terms of what it finds, and the second."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from irtoolkit.base.analysis import analysis_of
from irtoolkit.base.ids import Ints
from irtoolkit.indexes.contents import DocumentTerms
from irtoolkit.indexes.form import OpenShard
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.sharded import CountedShardSet
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.writer import Segments
from irtoolkit.retrievers._feedback import Feedback, FeedbackDocument, Weights
from irtoolkit.retrievers.base import Matches
from irtoolkit.retrievers.kept import LexicalIndex, LexicalSearcher
from irtoolkit.runs.order import TopDocuments

# Queries whose feedback documents are read together: their terms are held.
_QUERIES = 1 << 9
_NONE = np.empty(0, np.int64)


class FeedbackIndex(LexicalIndex):
    """How a retriever with feedback keeps its documents: as the one that searches; a `KeptForm`.

    Args:
        feedback: the retriever.
        searched: the form of what searches.
    """

    def __init__(self, feedback: Feedback, searched: LexicalIndex) -> None:
        super().__init__(feedback)
        self._feedback, self._searched = feedback, searched

    def of(self, shards: Sequence[tuple[PostingsShard, OpenShard]], first: int = 0) -> Any:
        """Shards of postings as one."""
        return self._searched.of(shards, first)

    def searcher(self, shards: CountedShardSet, counting: Any = None) -> FeedbackSearcher:
        """Searches shards of postings."""
        return FeedbackSearcher(self._feedback, self._searched.searcher(shards, counting))


class FeedbackSearcher:
    """Searches kept postings, and again with the terms of what was found; a `Searcher`.

    Args:
        feedback: the retriever.
        searcher: what searches both times.
    """

    def __init__(self, feedback: Feedback, searcher: LexicalSearcher) -> None:
        self._feedback, self._searcher = feedback, searcher
        self.shards = searcher.shards
        # A run and the exact ranks of its documents are asked for one after the other.
        self._expanded: Callable[[tuple[Segments, ...]], CountedQueries] = lru_cache(1)(
            self._expand
        )

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best documents of each query after feedback; see `LexicalSearcher.found`."""
        return self._searcher.found(self._expanded(tuple(queries)), depth, fill=fill)

    def ranks(
        self, queries: Sequence[Segments], wanted: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The exact rank of some documents of each query among all documents, from 1."""
        return self._searcher.standing(self._expanded(tuple(queries)), wanted)

    def matched(self, query: Segments, text: str) -> list[tuple[int, int]]:
        """Where words of the beginning of a text have a term of the query as it was asked."""
        return self._searcher.matched(query, text)

    def terms(self, queries: Sequence[Segments]) -> CountedQueries:
        """The terms of queries, before feedback."""
        return self._searcher.terms(queries)

    def within(self, documents: Ints, terms: Strings | None, *, apart: bool) -> FeedbackSearcher:
        """Returns what searches some documents; see `LexicalSearcher.within`."""
        # Feedback takes any term of them.
        own = self._searcher.within(documents, None, apart=apart)
        return FeedbackSearcher(self._feedback, own)

    def every(self, terms: CountedQueries) -> Matches:
        """The score of every document for each query, after feedback."""
        return self._searcher.every(self._fed(terms))

    def _expand(self, queries: tuple[Segments, ...]) -> CountedQueries:
        return self._fed(self.terms(queries))

    def _fed(self, asked: CountedQueries) -> CountedQueries:
        """Queries with the terms that feedback gives them."""
        if self._feedback.is_off:
            return asked
        return CountedQueries.of(
            [
                row
                for first in range(0, asked.size, _QUERIES)
                for row in self._rows(asked.part(first, min(first + _QUERIES, asked.size)))
            ]
        )

    def _rows(self, asked: CountedQueries) -> list[Weights]:
        """Some queries with the terms that feedback gives them."""
        found = self._searcher.feedback(asked, self._feedback.ranked)
        bounds = pairwise(found.offsets.tolist())
        chosen = [
            np.array(self._feedback.read(last - first), np.int64) + first for first, last in bounds
        ]
        documents = np.unique(found.documents[np.concatenate(chosen)]) if chosen else _NONE
        read = self._read(self.shards.contents(documents))
        rows = []
        for query, own in zip(asked.each(), chosen, strict=True):
            places = np.searchsorted(documents, found.documents[own]).tolist()
            scored = zip(found.scores[own].tolist(), places, strict=True)
            ranking = [FeedbackDocument(score, read(place)) for score, place in scored]
            rows.append(self._feedback.expand(query, ranking))
        return rows

    def _read(self, contents: DocumentTerms) -> Callable[[int], Weights]:
        """What gives the weights of the terms of a document, by its place."""
        feedback, names = self._feedback, list(contents.terms)
        takes = feedback.takes(analysis_of(feedback.settings()))
        counting = self._searcher.counting
        common = feedback.is_common(counting.frequencies(contents.terms), counting.size)
        taken = np.array([bool(takes(name)) for name in names], bool) & ~common

        @lru_cache(None)
        def read(place: int) -> Weights:
            own = slice(int(contents.starts[place]), int(contents.starts[place + 1]))
            numbers, counts = contents.numbers[own], contents.counts[own]
            kept = taken[numbers]
            rows = zip(numbers[kept].tolist(), counts[kept].tolist(), strict=True)
            terms: Mapping[str, int] = {names[number]: count for number, count in rows}
            return feedback.weights(terms)

        return read

"""Searching again with the terms of what the first search has found."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from irtoolkit.base.analysis import Analysis, analysis_of
from irtoolkit.base.ids import Ints, Segments
from irtoolkit.indexes.counting import DocumentTerms
from irtoolkit.indexes.index_format import Searcher
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.strings import Strings
from irtoolkit.retrievers.base import Matches
from irtoolkit.retrievers.lexical import Lexical
from irtoolkit.retrievers.postings_index import PostingsSearcher
from irtoolkit.runs.order import TopDocuments

_FORMS = {"latin": re.compile("[a-z0-9]{2,20}"), "length": re.compile(".{2,20}", re.DOTALL)}

# Queries whose feedback documents are read together: their terms are held.
_QUERIES = 1 << 9
_NONE = np.empty(0, np.int64)

# Terms with their weights.
TermWeights = Mapping[str, float]


class FeedbackDocument(NamedTuple):
    """A document that the first search has found.

    Attributes:
        score: what it scores there.
        weights: of its terms.
    """

    score: float
    weights: TermWeights


@dataclass(frozen=True)
class Feedback(Lexical, ABC):
    """A retriever that expands queries with terms of the best documents.

    Attributes:
        fb_docs: feedback documents: the best of the query's candidates, at most so many.
        fb_terms: terms that feedback adds to a query, at most.
        max_df: share of the documents above which a term is too common for feedback; such a term is
            also in more documents than `fb_docs`, so that a small collection keeps some.
        filter_terms: which terms feedback takes: of 2 to 20 characters of a-z and 0-9 ("latin"), of 2
            to 20 characters ("length"), or all ("none"); "auto" is Anserini's choice.
    """

    # What "auto" is for English; for other languages it is "length".
    english: ClassVar[Literal["latin", "length"]] = "latin"

    fb_docs: int = 10
    fb_terms: int = 10
    max_df: float = 0.1
    filter_terms: Literal["auto", "latin", "length", "none"] = "auto"

    @property
    def is_off(self) -> bool:
        """Whether feedback has no weight: the ranking is then that of the first search."""
        raise NotImplementedError

    @property
    def ranked(self) -> int:
        """How many of the best documents the first search has to find."""
        return self.fb_docs

    def read(self, count: int) -> list[int]:
        """The places of the documents that are read, in a ranking of so many by the first search."""
        return list(range(min(count, self.fb_docs)))

    @abstractmethod
    def weights(self, counts: Mapping[str, int]) -> TermWeights:
        """Returns the weights that a document gives its terms; terms that feedback does not take are left out."""

    @abstractmethod
    def expand(self, query: TermWeights, ranking: Sequence[FeedbackDocument]) -> TermWeights:
        """The weights of the terms of the second search.

        Args:
            query: how often each term occurs in the query.
            ranking: the documents that are read, best first; see `read`.
        """

    def searcher(self, shards: Any, counting: Any = None) -> FeedbackSearcher:
        return FeedbackSearcher(self, super().searcher(shards, counting))

    def is_common(self, count: Any, size: int) -> Any:
        """Whether a term in `count` of `size` documents is too common; numbers or arrays."""
        return count > max(self.max_df * size, self.fb_docs)

    def takes(self, analysis: Analysis) -> Callable[[str], Any]:
        """Whether feedback takes a term, as far as its letters tell."""
        form: str = self.filter_terms
        if form == "auto":
            is_english = analysis.stop != "none" or analysis.stem == "porter"
            form = self.english if is_english else "length"
        return (lambda term: True) if form == "none" else _FORMS[form].fullmatch


class FeedbackSearcher(Searcher):
    """Searches postings, and again with the terms of what was found.

    Args:
        feedback: the retriever.
        searcher: what searches both times.
    """

    def __init__(self, feedback: Feedback, searcher: PostingsSearcher) -> None:
        super().__init__(searcher.shards)
        self._feedback, self._searcher = feedback, searcher
        # A run and the exact ranks of its documents are computed one after the other.
        self._expanded: Callable[[tuple[Segments, ...]], CountedQueries] = lru_cache(1)(
            self._expand
        )

    def encoded(self, queries: Sequence[Segments]) -> Any:
        """Returns queries after feedback as the shards take them."""
        return self._searcher.weighed(self._expanded(tuple(queries)))

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """Returns the best documents of each query after feedback; see `PostingsSearcher.found`."""
        return self._searcher.found(self._expanded(tuple(queries)), depth, fill=fill)

    def found(self, terms: CountedQueries, depth: int, *, fill: bool = False) -> TopDocuments:
        """The best documents of each query after feedback, given its terms before."""
        return self._searcher.found(self._fed(terms), depth, fill=fill)

    def standing(
        self, terms: CountedQueries, documents: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """Returns the ranks of some documents of each query after feedback, given its terms before."""
        return self._searcher.standing(self._fed(terms), documents)

    def matched(self, query: Segments, text: str) -> list[tuple[int, int]]:
        """Returns where words of the beginning of a text have a term of the original query."""
        return self._searcher.matched(query, text)

    def terms(self, queries: Sequence[Segments]) -> CountedQueries:
        """The terms of queries, before feedback."""
        return self._searcher.terms(queries)

    def within(self, documents: Ints, terms: Strings | None, *, apart: bool) -> FeedbackSearcher:
        """Returns what searches some documents; see `PostingsSearcher.within`."""
        # Feedback takes any term of them.
        searcher = self._searcher.within(documents, None, apart=apart)
        return FeedbackSearcher(self._feedback, searcher)

    def every(self, terms: CountedQueries) -> Matches:
        """The score of every document for each query, after feedback."""
        return self._searcher.every(self._fed(terms))

    def _expand(self, queries: tuple[Segments, ...]) -> CountedQueries:
        return self._fed(self.terms(queries))

    def _fed(self, queries: CountedQueries) -> CountedQueries:
        """Returns queries with the terms that feedback adds."""
        if self._feedback.is_off:
            return queries
        return CountedQueries.of(
            [
                row
                for first in range(0, queries.size, _QUERIES)
                for row in self._rows(queries.part(first, min(first + _QUERIES, queries.size)))
            ]
        )

    def _rows(self, queries: CountedQueries) -> list[TermWeights]:
        """Returns some queries with the terms that feedback adds."""
        hits = self._searcher.feedback(queries, self._feedback.ranked)
        bounds = pairwise(hits.offsets.tolist())
        chosen = [
            np.array(self._feedback.read(last - first), np.int64) + first for first, last in bounds
        ]
        documents = np.unique(hits.documents[np.concatenate(chosen)]) if chosen else _NONE
        read = self._read(self.shards.contents(documents))
        rows = []
        for query, best in zip(queries.each(), chosen, strict=True):
            places = np.searchsorted(documents, hits.documents[best]).tolist()
            scored = zip(hits.scores[best].tolist(), places, strict=True)
            ranking = [FeedbackDocument(score, read(position)) for score, position in scored]
            rows.append(self._feedback.expand(query, ranking))
        return rows

    def _read(self, contents: DocumentTerms) -> Callable[[int], TermWeights]:
        """Returns a function from a document's position to the weights of its terms."""
        feedback, names = self._feedback, list(contents.terms)
        takes = feedback.takes(analysis_of(feedback.settings()))
        counting = self._searcher.counting
        common = feedback.is_common(counting.frequencies(contents.terms), counting.size)
        is_taken = np.array([bool(takes(name)) for name in names], bool) & ~common

        @lru_cache(None)
        def read(position: int) -> TermWeights:
            postings = slice(int(contents.starts[position]), int(contents.starts[position + 1]))
            numbers, counts = contents.numbers[postings], contents.counts[postings]
            selected = is_taken[numbers]
            rows = zip(numbers[selected].tolist(), counts[selected].tolist(), strict=True)
            terms: Mapping[str, int] = {names[number]: count for number, count in rows}
            return feedback.weights(terms)

        return read


def heaviest(weights: TermWeights, count: int) -> dict[str, float]:
    """The terms of the greatest weights, at most so many, in order of the terms.

    Weights are compared in single precision, so that their last bits decide nothing; ties are in order
    of the terms.
    """
    rounded = np.array(list(weights.values()), np.float32).tolist()
    order = sorted(zip(rounded, weights, strict=True), key=lambda item: (-item[0], item[1]))
    return {term: weights[term] for term in sorted(term for _, term in order[:count])}

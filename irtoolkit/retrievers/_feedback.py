"""Searching again with the terms of what the first search has found."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from irtoolkit.base.analysis import Analysis
from irtoolkit.base.ids import Ids, Ints
from irtoolkit.retrievers._matching import Candidates, Matcher, Matching, matching, narrowed
from irtoolkit.retrievers.base import Matches, Retriever, ScoreMatrix
from irtoolkit.retrievers.lexical import Lexical
from irtoolkit.runs.order import best_first, keys

# Documents of a candidate set whose terms are remembered.
_REMEMBERED = 1 << 12
_FORMS = {"latin": re.compile("[a-z0-9]{2,20}"), "length": re.compile(".{2,20}", re.DOTALL)}

# Terms with their weights.
Weights = Mapping[str, float]
# Terms of a document, with how often they occur, to the weights that it gives them as feedback.
Reader = Callable[[Mapping[str, int]], Weights]


class FeedbackDocument(NamedTuple):
    """A document that the first search has found.

    Attributes:
        score: what it scores there.
        weights: of its terms.
    """

    score: float
    weights: Weights


@dataclass(frozen=True)
class Feedback(Lexical, ABC):
    """What retrievers share that expand queries with terms of the best documents.

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
    def weights(self, counts: Mapping[str, int]) -> Weights:
        """What a document gives its terms, of which those that are not taken are left out."""

    @abstractmethod
    def expand(self, query: Weights, ranking: Sequence[FeedbackDocument]) -> Weights:
        """The weights of the terms of the second search.

        Args:
            query: how often each term occurs in the query.
            ranking: the documents that are read, best first; see `read`.
        """

    def scores_as(self, base: type[Retriever]) -> bool:
        names = ("weights", "expand", "read", "least")
        same = all(getattr(type(self), name) is getattr(base, name, None) for name in names)
        return same and super().scores_as(base)

    def is_common(self, found: Any, size: int) -> Any:
        """Whether a term in `found` of `size` documents is too common; numbers or arrays."""
        return found > max(self.max_df * size, self.fb_docs)

    def takes(self, how: Analysis) -> Callable[[str], Any]:
        """Whether feedback takes a term, as far as its letters tell."""
        form: str = self.filter_terms
        if form == "auto":
            is_english = how.stop != "none" or how.stem == "porter"
            form = self.english if is_english else "length"
        return (lambda term: True) if form == "none" else _FORMS[form].fullmatch

    def least(self, among: Candidates, queries: Any) -> ScoreMatrix | None:
        """(q, 1) scores that feedback documents exceed; None if all that share a term may be."""
        # What a document without terms scores.
        empty = csr_array((1, among.counts.shape[1]))
        return self.matcher(empty, among.collection)(queries)

    def matched(self, among: Candidates) -> tuple[Matching, int | None]:
        if self.is_off:
            return super().matched(among)
        return SecondSearch(self, among, self.matcher(among.counts, among.collection)), None


class SecondSearch:
    """Scores queries against a candidate set, expands them, and scores what they have become.

    Args:
        feedback: the retriever.
        among: the candidate set.
        match: what both searches score with.
    """

    def __init__(self, feedback: Feedback, among: Candidates, match: Matcher) -> None:
        self._feedback, self._among = feedback, among
        self._matching = matching(match, among.counts)
        self._width = among.counts.shape[1]
        self._takes = feedback.takes(feedback.analysis(among.task.lang))
        self._known: dict[int, Weights] = {}

    @cached_property
    def _is_common(self) -> Any:
        collection = self._among.collection
        return self._feedback.is_common(collection.found, collection.size)

    def __call__(self, queries: Any) -> Matches:
        """The scores for the (q, terms) counts of queries."""
        names = self._among.vocabulary.names()
        asked = [
            dict(zip(map(names.__getitem__, numbers), counts, strict=True))
            for numbers, counts in map(_row, [queries] * queries.shape[0], range(queries.shape[0]))
        ]
        known = narrowed(queries, self._width)
        found, least = self._matching(known), self._feedback.least(self._among, known)
        scores, rows = found.scores, []
        if least is None:
            least = np.full((len(asked), 1), -np.inf)
            scores = np.where(found.shared(), scores, least)
        for at, query in enumerate(asked):
            best = self._best(scores[at], least[at, 0])
            ranking = [FeedbackDocument(float(scores[at, doc]), self._read(doc)) for doc in best]
            rows.append(self._feedback.expand(query, ranking))
        del found, scores
        return self._matching(self._matrix(rows))

    def _best(self, scores: Any, least: float) -> list[int]:
        ids, docs = self._among.task.doc_ids, self._among.docs
        found = best_places(scores, self._feedback.ranked, least, lambda places: ids[docs[places]])
        return [found[place] for place in self._feedback.read(len(found))]

    def _read(self, doc: int) -> Weights:
        found = self._known.get(doc)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            names = self._among.vocabulary.names()
            counts = {
                names[number]: int(count)
                for number, count in zip(*_row(self._among.counts, doc), strict=True)
                if not self._is_common[number] and self._takes(names[number])
            }
            found = self._known[doc] = self._feedback.weights(counts)
        return found

    def _matrix(self, rows: Sequence[Weights]) -> Any:
        """(q, terms) weights; a row keeps its order, which decides the last bit of a score."""
        number = self._among.vocabulary.number
        terms, weights, starts = [], [], [0]
        for row in rows:
            for term, weight in row.items():
                place = number(term)
                if place < self._width:
                    terms.append(place)
                    weights.append(weight)
            starts.append(len(terms))
        data = np.array(weights, np.float64), np.array(terms, np.int32), np.array(starts, np.int64)
        return csr_array(data, shape=(len(rows), self._width))


def _row(matrix: Any, at: int) -> tuple[list[int], list[float]]:
    """The columns and values of a row of a CSR matrix."""
    own = slice(matrix.indptr[at], matrix.indptr[at + 1])
    return matrix.indices[own].tolist(), matrix.data[own].tolist()


def best_places(
    scores: Any, count: int, least: float | None, ids: Callable[[Ints], Ids]
) -> list[int]:
    """Returns the places of the best scores, at most so many, in the one order.

    Args:
        scores: (c,) scores.
        count: how many.
        least: a score that the best exceed; None without.
        ids: the ids of the documents at some places.
    """
    above = np.arange(len(scores)) if least is None else np.flatnonzero(scores > least)
    best = best_first(scores[above], lambda rows: keys(ids(above[rows])), count)
    places: list[int] = above[best].tolist()
    return places


def heaviest(weights: Weights, count: int) -> dict[str, float]:
    """The terms of the greatest weights, at most so many, in order of the terms.

    Weights are compared in single precision, so that their last bits decide nothing; ties are in order
    of the terms.
    """
    rounded = np.array(list(weights.values()), np.float32).tolist()
    order = sorted(zip(rounded, weights, strict=True), key=lambda item: (-item[0], item[1]))
    return {term: weights[term] for term in sorted(term for _, term in order[:count])}

"""Searching again with the terms of what the first search has found."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from irtoolkit.base.analysis import Analysis
from irtoolkit.base.ids import Ids, Ints
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.lexical import Lexical
from irtoolkit.runs.order import best_first, keys

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
        names = ("weights", "expand", "read")
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

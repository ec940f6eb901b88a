"""Formulas whose scores are sums of term weights, such as BM25."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ints


class Weighting(ABC):
    """A formula whose scores are sums over the terms that query and document share.

    A term adds query weight · idf · weight; its query weight is the number of its occurrences in the
    query. A formula can be hashed and pickled: a frozen dataclass.
    """

    @property
    def absent(self) -> float:
        """The weight of a term in documents that lack it, without its idf."""
        return 0.0

    @property
    def counts_empty(self) -> bool:
        """Whether documents without a term count towards their number and the average length."""
        return True

    @property
    def reads_all_terms(self) -> bool:
        """Whether the idf of a term depends on the frequencies of others."""
        return False

    def query_weights(self, counts: Floats) -> Floats:
        """Returns the weights of the terms of queries, by default the counts.

        Args:
            counts: (n,) how often each term occurs in its query, or the weight that feedback gives it.
        """
        return counts

    @abstractmethod
    def idf(self, size: int, found: Ints, all_found: Callable[[], Ints]) -> Floats:
        """Returns the weights of terms, finite.

        Args:
            size: number of documents.
            found: (t,) number of documents that have each term, at least 1.
            all_found: returns the same of every term of the collection.
        """

    @abstractmethod
    def weights(self, counts: Ints, lengths: Ints, average: float) -> Floats:
        """Returns the weights of a term in documents, finite and none negative.

        They must not fall with the count nor rise with the length: a search skips documents by that.

        Args:
            counts: (n,) how often the term occurs in each document.
            lengths: (n,) the number of terms of each document.
            average: mean number of terms of a document.
        """


def check_weights(weighting: Weighting, values: Floats, least: float = -np.inf) -> None:
    """Raises InputError for a weight that is not finite, or below the least."""
    wrong = ~np.isfinite(values) | (values < least)
    if wrong.any():
        raise InputError(
            f"the formula {type(weighting).__name__} gives a term the weight {values[wrong][0]}",
            remedy="weights must be finite, and those of counts not negative",
        )

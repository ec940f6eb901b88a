"""Queries under a formula, as the compiled loops of a search take them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes import weighing
from irtoolkit.indexes.formula import Weighting, check_finite
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.searched_shard import SearchedShard
from irtoolkit.indexes.strings import Strings

# Steps that it takes Python to weigh a term; see `is_worth_loading`.
_WEIGHED = 100


@dataclass(frozen=True)
class Statistics:
    """Statistics of terms in some shards; those of more shards are their sum.

    Attributes:
        size: number of documents.
        tokens: terms of all documents, with repetitions.
        count: the greatest count of a term in a document, or 0.
        length: the shortest length of a document that has a term, or 0.
        found: (t,) number of documents that have each term.
        empty: number of documents without a term.
    """

    size: int
    tokens: int
    count: int
    length: int
    found: Ints
    empty: int = 0

    @classmethod
    def total(cls, parts: Iterable[Statistics]) -> Statistics:
        """Returns the statistics of several shards or sets of shards together."""
        listed = list(parts)
        return cls(
            sum(part.size for part in listed),
            sum(part.tokens for part in listed),
            max((part.count for part in listed), default=0),
            min((part.length for part in listed if part.length), default=0),
            np.sum([part.found for part in listed], axis=0),
            sum(part.empty for part in listed),
        )

    @property
    def average(self) -> float:
        """Mean length of a document, in terms."""
        return self.tokens / self.size if self.size else 0.0


class Counting(Protocol):
    """Shards that count terms."""

    def statistics(self, terms: Strings) -> Statistics:
        """Returns the statistics of terms."""
        ...

    def all_frequencies(self) -> Ints:
        """Number of documents of every term, in the order of the terms."""
        ...


@dataclass(frozen=True)
class QueryBatch:
    """Queries as the compiled loops take them, for one shard."""

    starts: Ints
    terms: Ints
    scales: Floats
    bounds: Ints

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.starts, self.terms, self.scales, self.bounds

    def query(self, number: int) -> tuple[Any, Any, Any]:
        part = slice(self.starts[number], self.starts[number + 1])
        return self.terms[part], self.scales[part], self.bounds[part]


class WeightedQueries:
    """Queries under a formula, with the statistics of all shards; it can be pickled.

    Attributes:
        unit: (q,) what the whole numbers count that scores of a query are summed up as.
        negative: (q,) whether a term of each query weighs less than nothing.
        everywhere: (q,) what a document without a term of a query scores.
    """

    def __init__(
        self,
        shards: Counting,
        queries: CountedQueries,
        weighting: Weighting,
        statistics: Statistics | None = None,
    ) -> None:
        """Weighs the terms of queries, by default with the statistics of the shards."""
        counted = shards.statistics(queries.terms) if statistics is None else statistics
        if not weighting.counts_empty:
            counted = replace(counted, size=counted.size - counted.empty)
        self._weighting, self._queries, self._average = weighting, queries, counted.average
        frequencies = counted.found
        occurs = frequencies > 0
        idf = np.zeros(len(frequencies))
        if occurs.any():
            idf[occurs] = weighting.idf(counted.size, frequencies[occurs], shards.all_frequencies)
            check_finite(weighting, idf)
        # The weight of the greatest count in the shortest document.
        heaviest = _weight(weighting, counted.count or 1, counted.length or 1, counted.average)
        self.unit: Floats = np.empty(queries.size)
        self.negative: NDArray[np.bool_] = np.empty(queries.size, np.bool_)
        totals, self._scales = np.empty(queries.size), np.empty(len(queries.numbers))
        out = self.unit, totals, self.negative, self._scales
        weights = weighting.query_weights(queries.counts)
        _loops(queries).weigh(queries.starts, queries.numbers, weights, idf, heaviest, out)
        self.everywhere: Floats = totals * weighting.absent
        # A term that weighs nothing makes a match, and adds nothing to a score.
        nothing = np.flatnonzero(self._scales == 0)
        self._weightless: Ints = (
            nothing[occurs[queries.numbers[nothing]]] if len(nothing) else nothing
        )

    def __len__(self) -> int:
        return self._queries.size

    def table(self, part: SearchedShard) -> Floats:
        """The weight of each class of a shard."""
        return part.table(self._weighting, self._average)

    def batch(self, part: SearchedShard) -> QueryBatch:
        """The queries with the term numbers of a shard, each in ascending order of bounds."""
        queries, most_terms = self._queries, len(self._scales)
        places = part.places(queries.terms)
        starts, terms = np.zeros(len(self) + 1, np.int64), np.empty(most_terms, np.int64)
        scales, bounds = np.empty(most_terms), np.empty(most_terms, np.int64)
        most = part.most(places, self._weighting, self._average)
        out = starts, terms, scales, bounds
        _loops(queries).place(queries.starts, queries.numbers, self._scales, places, most, out)
        count = int(starts[-1])
        return QueryBatch(starts, terms[:count], scales[:count], bounds[:count])

    @property
    def has_weightless(self) -> bool:
        """Whether a term of a query weighs nothing."""
        return len(self._weightless) > 0

    def weightless(self, part: SearchedShard) -> dict[int, Ints]:
        """Returns the numbers of the terms that weigh nothing in a shard, of each query that has any."""
        rows = self._weightless
        queries = np.searchsorted(self._queries.starts, rows, side="right") - 1
        places = part.places(self._queries.terms)[self._queries.numbers[rows]]
        return {
            query: places[(queries == query) & (places >= 0)]
            for query in np.unique(queries).tolist()
        }


@lru_cache(maxsize=1 << 6)
def _weight(weighting: Weighting, count: int, length: int, average: float) -> float:
    """The weight of a term that occurs so often in a document of such a length."""
    weights = weighting.weights(np.array([count]), np.array([length]), average)
    check_finite(weighting, weights, least=0.0)
    return float(weights[0])


def _loops(queries: CountedQueries) -> Any:
    """The loops that weigh the terms of queries, compiled where that is worth while."""
    if is_worth_loading(_WEIGHED * len(queries.numbers)):
        from irtoolkit.indexes import _compiled_weighing

        return _compiled_weighing
    return weighing

"""Queries under a formula, as the compiled loops of a search take them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes import weighing
from irtoolkit.indexes.counting import Counting, Statistics
from irtoolkit.indexes.formula import Weighting, check_weights
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries

# Steps that it takes Python to weigh a term; see `is_worth_loading`.
_WEIGHED = 100


@dataclass(frozen=True)
class QueryBatch:
    """Queries as the compiled loops take them, for one shard.

    Attributes:
        starts: (q+1,) where the terms of each query begin.
        terms, scales, bounds: the terms end to end, by what their weights are multiplied, and the
            most that each adds to a score.
        table: the weight of each class of the shard.
    """

    starts: Ints
    terms: Ints
    scales: Floats
    bounds: Ints
    table: Floats

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
            check_weights(weighting, idf)
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

    def batch(self, part: PostingsShard) -> QueryBatch:
        """The queries with the term numbers of a shard, each in ascending order of bounds."""
        queries, most_terms = self._queries, len(self._scales)
        places = part.terms.places(queries.terms)
        starts, terms = np.zeros(len(self) + 1, np.int64), np.empty(most_terms, np.int64)
        scales, bounds = np.empty(most_terms), np.empty(most_terms, np.int64)
        table, most = part.weights(places, self._weighting, self._average)
        out = starts, terms, scales, bounds
        _loops(queries).place(queries.starts, queries.numbers, self._scales, places, most, out)
        count = int(starts[-1])
        return QueryBatch(starts, terms[:count], scales[:count], bounds[:count], table)

    @property
    def has_weightless(self) -> bool:
        """Whether a term of a query weighs nothing."""
        return len(self._weightless) > 0

    def weightless(self, part: PostingsShard) -> dict[int, Ints]:
        """Returns the numbers of the terms that weigh nothing in a shard, of each query that has any."""
        rows = self._weightless
        queries = np.searchsorted(self._queries.starts, rows, side="right") - 1
        places = part.terms.places(self._queries.terms)[self._queries.numbers[rows]]
        return {
            query: places[(queries == query) & (places >= 0)]
            for query in np.unique(queries).tolist()
        }


@lru_cache(maxsize=1 << 6)
def _weight(weighting: Weighting, count: int, length: int, average: float) -> float:
    """The weight of a term that occurs so often in a document of such a length."""
    weights = weighting.weights(np.array([count]), np.array([length]), average)
    check_weights(weighting, weights, least=0.0)
    return float(weights[0])


def _loops(queries: CountedQueries) -> Any:
    """The loops that weigh the terms of queries, compiled where that is worth while."""
    if is_worth_loading(_WEIGHED * len(queries.numbers)):
        from irtoolkit.indexes import _compiled_search

        return _compiled_search
    return weighing

"""Queries under a formula, as the compiled loops of a search take them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes import weighing
from irtoolkit.indexes.counting import Counting, Statistics
from irtoolkit.indexes.formula import Weighting, check_weights
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.strings import Strings

# Steps that it takes Python to weigh a term; see `is_worth_loading`.
_WEIGHED = 100


class ShardTerms(NamedTuple):
    """Terms as a shard has them.

    Attributes:
        places: (t,) the number of each term in the shard, or -1.
        most: (t,) the greatest weight of each in a document, without its idf.
        table: the weight of each class of postings.
    """

    places: Ints
    most: Floats
    table: Floats


class WeighedTerms:
    """Terms under a formula, with the statistics of all shards; it can be pickled.

    What is known of a term stays as it is: when more terms come, only these are looked up.

    Attributes:
        weighting: the formula.
        numbering: of the terms; see `CountedQueries`.
        idf: (t,) the weight of each term.
        occurs: (t,) whether a document has it.
        heaviest: the weight of the greatest count in the shortest document.
    """

    def __init__(self, weighting: Weighting, numbering: object = None) -> None:
        self.weighting, self.numbering = weighting, numbering
        self.idf: Floats = np.empty(0)
        self.occurs: NDArray[np.bool_] = np.empty(0, np.bool_)
        # All terms, and the last of them that came at once.
        self._columns: tuple[Strings, Strings] | None = None
        self._in_shards: dict[PostingsShard, ShardTerms] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "numbering": None, "_in_shards": {}}

    def with_terms(self, shards: Counting, terms: Strings) -> WeighedTerms:
        """Weighs the terms of a column that begins with those that are there; returns itself.

        Raises:
            InputError: the formula gives a term a weight that is not finite.
        """
        count = len(self.idf)
        if self._columns is not None and len(terms) <= count:
            return self
        column, weighting = terms.since(count), self.weighting
        statistics = shards.statistics(column)
        if not weighting.counts_empty:
            statistics = replace(statistics, size=statistics.size - statistics.empty)
        if self._columns is None:
            self._average = statistics.average
            self.heaviest = _heaviest(weighting, statistics)
        occurs = statistics.found > 0
        idf = np.zeros(len(column))
        if occurs.any():
            frequencies = statistics.found[occurs]
            idf[occurs] = weighting.idf(statistics.size, frequencies, shards.all_frequencies)
            check_weights(weighting, idf)
        self.occurs = np.concatenate([self.occurs, occurs])
        self._columns = terms, column
        self.idf = np.concatenate([self.idf, idf])
        return self

    def of(self, part: PostingsShard) -> ShardTerms:
        """Returns the terms as a shard has them."""
        assert self._columns is not None, "no terms were weighed"
        terms, column = self._columns
        known = self._in_shards.get(part)
        count = 0 if known is None else len(known.places)
        if known is not None and count >= len(terms):  # another thread may have added more
            return known
        if count + len(column) != len(terms):
            column = terms.since(count)
        places = part.terms.places(column)
        table, most = part.weights(places, self.weighting, self._average)
        if known is not None:
            places, most = (
                np.concatenate([known.places, places]),
                np.concatenate([known.most, most]),
            )
        self._in_shards[part] = in_shard = ShardTerms(places, most, table)
        return in_shard


def _heaviest(weighting: Weighting, statistics: Statistics) -> float:
    """Returns the weight of the greatest count in the shortest document."""
    count, length = np.array([statistics.count or 1]), np.array([statistics.length or 1])
    weights = weighting.weights(count, length, statistics.average)
    check_weights(weighting, weights, least=0.0)
    return float(weights[0])


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

    def __init__(self, terms: WeighedTerms, queries: CountedQueries) -> None:
        """Weighs the terms of queries, each of which `terms` has."""
        self._terms, weighting = terms, terms.weighting
        self._starts, self._numbers = queries.starts, queries.numbers
        self.unit: Floats = np.empty(queries.size)
        self.negative: NDArray[np.bool_] = np.empty(queries.size, np.bool_)
        totals, self._scales = np.empty(queries.size), np.empty(len(queries.numbers))
        out = self.unit, totals, self.negative, self._scales
        weights = weighting.query_weights(queries.counts)
        loops = self._loops()
        loops.weigh(self._starts, self._numbers, weights, terms.idf, terms.heaviest, out)
        self.everywhere: Floats = totals * weighting.absent
        # A term that weighs nothing makes a match, and adds nothing to a score.
        nothing = (self._scales == 0).nonzero()[0]
        self._weightless: Ints = (
            nothing[terms.occurs[self._numbers[nothing]]] if len(nothing) else nothing
        )

    def __len__(self) -> int:
        return len(self.unit)

    def batch(self, part: PostingsShard) -> QueryBatch:
        """The queries with the term numbers of a shard, each in ascending order of bounds."""
        count = len(self._scales)
        places, most, table = self._terms.of(part)
        starts, terms = np.zeros(len(self) + 1, np.int64), np.empty(count, np.int64)
        scales, bounds = np.empty(count), np.empty(count, np.int64)
        out = starts, terms, scales, bounds
        self._loops().place(self._starts, self._numbers, self._scales, places, most, out)
        count = int(starts[-1])
        return QueryBatch(starts, terms[:count], scales[:count], bounds[:count], table)

    @property
    def has_weightless(self) -> bool:
        """Whether a term of a query weighs nothing."""
        return len(self._weightless) > 0

    def weightless(self, part: PostingsShard) -> dict[int, Ints]:
        """Returns the numbers of the terms that weigh nothing in a shard, of each query that has any."""
        rows = self._weightless
        queries = np.searchsorted(self._starts, rows, side="right") - 1
        places = self._terms.of(part).places[self._numbers[rows]]
        return {
            query: places[(queries == query) & (places >= 0)]
            for query in np.unique(queries).tolist()
        }

    def _loops(self) -> Any:
        """The loops that weigh the terms of queries, compiled where that is worth while."""
        if is_worth_loading(_WEIGHED * len(self._numbers)):
            from irtoolkit.indexes import _compiled_search

            return _compiled_search
        return weighing

"""Queries under a formula, as the compiled loops of a search take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.documents import Documents
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import MANY, CountedQueries
from irtoolkit.indexes.strings import Strings

# Binary digits behind the point of a score, and of the greatest score altogether.
_DIGITS, _GREATEST = 40, 61


class Weighting(Protocol):
    """A formula whose scores are sums of idf · weight over the terms that query and document share.

    Attributes:
        absent: what a term adds to all documents, whether they have it or not, times its idf.
    """

    @property
    def absent(self) -> float: ...

    def idf(self, size: int, found: Ints, all_found: Callable[[], Ints]) -> Floats:
        """(t,) weight of terms that occur in `found` of `size` documents; `all_found` has all terms'."""
        ...

    def weights(self, counts: Ints, lengths: Ints, average: float) -> Floats:
        """(n,) weight of a term that occurs so often in a document of such a length, none negative.

        It grows with the count and falls with the length.
        """
        ...


class ShardDocuments(NamedTuple):
    """The documents of a shard.

    Attributes:
        documents: their ids and the order of these.
        deleted: numbers of those that were deleted, ascending.
    """

    documents: Documents
    deleted: Ints


class SearchedShard:
    """A shard that is searched."""

    def __init__(self, shard: PostingsShard, docs: ShardDocuments) -> None:
        self.shard, self.docs = shard, docs
        self._table: tuple[Any, float, Floats] | None = None
        self._found: tuple[Strings, Ints] | None = None

    def places(self, terms: Strings) -> Ints:
        """(t,) the number of each term, or -1."""
        # Searches in several threads share the shard: what one has kept, another replaces.
        found = self._found
        if found is None or found[0] is not terms:
            self._found = found = terms, self.shard.places(terms)
        return found[1]

    @cached_property
    def live(self) -> NDArray[np.uint8]:
        live = np.ones(len(self.shard), np.uint8)
        live[self.docs.deleted] = 0
        return live

    @cached_property
    def names(self) -> NDArray[np.int32]:
        """(d,) place of each document's id in ascending order."""
        names = np.empty(len(self.shard), np.int32)
        names[self.docs.documents.order] = np.arange(len(self.shard), dtype=np.int32)
        return names

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        return self.shard.starts, self.shard.documents, self.shard.classes, self.live

    def table(self, weighting: Weighting, average: float) -> Floats:
        """The weight of each class."""
        kept = self._table
        if kept is None or kept[:2] != (weighting, average):
            shard = self.shard
            # As many as the numbers of classes can say, so that damage does not lead out of them.
            made = np.zeros(max(len(shard.class_counts), 1 << 16))
            made[: len(shard.class_counts)] = weighting.weights(
                shard.class_counts, shard.class_lengths, average
            )
            self._table = kept = weighting, average, made
        return kept[2]

    def frequencies(self, places: Ints) -> Ints:
        """(t,) number of documents that have each term."""
        starts, known = self.shard.starts, places >= 0
        found = np.zeros(len(places), np.int64)
        found[known] = starts[places[known] + 1] - starts[places[known]]
        if len(self.docs.deleted):
            for at in np.flatnonzero(found).tolist():
                own = self.shard.documents[starts[places[at]] : starts[places[at] + 1]]
                found[at] = int(self.live[own].sum())
        return found

    @cached_property
    def tokens(self) -> int:
        lengths = self.shard.lengths
        return int(lengths.sum(dtype=np.int64) - lengths[self.docs.deleted].sum(dtype=np.int64))


class Statistics(Protocol):
    """The statistics of all shards together.

    Attributes:
        parts: the shards.
        size: number of documents.
        average: mean length of a document, in terms.
    """

    parts: Sequence[SearchedShard]

    @property
    def size(self) -> int: ...
    @property
    def average(self) -> float: ...

    def frequencies(self, terms: Strings) -> Ints:
        """(t,) number of documents that have each term."""
        ...

    def all_frequencies(self) -> Ints:
        """Number of documents of every term."""
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
    """Queries under a formula, with the statistics of all shards."""

    def __init__(
        self, statistics: Statistics, queries: CountedQueries, weighting: Weighting
    ) -> None:
        self._statistics, self._weighting, self._queries = statistics, weighting, queries
        found = statistics.frequencies(queries.terms)
        known = found > 0
        idf = np.zeros(len(found))
        if known.any():
            idf[known] = weighting.idf(statistics.size, found[known], statistics.all_frequencies)
        scales = idf[queries.numbers] * queries.counts
        of_query = np.repeat(np.arange(queries.size), np.diff(queries.starts))
        totals = np.bincount(of_query, scales, queries.size)
        self.everywhere: Floats = np.asarray(totals * weighting.absent, np.float64)
        greatest = float(totals.max(initial=0)) * self._heaviest()
        digits = _DIGITS
        if greatest >= 1 << (_GREATEST - _DIGITS):
            digits = _GREATEST - int(np.ceil(np.log2(greatest)))
        self.unit = 2.0**-digits
        self._scales = scales / self.unit

    def _heaviest(self) -> float:
        """The weight of the greatest count in the shortest document."""
        shards = [part.shard for part in self._statistics.parts if len(part.shard.documents)]
        count = max((int(shard.class_counts[-1]) for shard in shards), default=1)
        length = min((int(shard.class_lengths.min()) for shard in shards), default=1)
        average = self._statistics.average
        return float(self._weighting.weights(np.array([count]), np.array([length]), average)[0])

    def __len__(self) -> int:
        return self._queries.size

    def table(self, part: SearchedShard) -> Floats:
        return part.table(self._weighting, self._statistics.average)

    def batch(self, part: SearchedShard) -> QueryBatch:
        """The queries with the term numbers of a shard, each in ascending order of bounds."""
        numbers, own_starts = self._queries.numbers, self._queries.starts
        places = part.places(self._queries.terms)
        here = (places >= 0)[numbers] & (self._scales > 0)
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(here)])
        terms, scales = places[numbers[here]], self._scales[here]
        # As the compiled loops round.
        bounds = (self._most(part, places)[numbers[here]] * scales + 1).astype(np.int64)
        starts = before[own_starts]
        order = _order(starts, bounds)
        return QueryBatch(starts, terms[order], scales[order], bounds[order])

    def _most(self, part: SearchedShard, places: Ints) -> Floats:
        """(t,) the greatest weight of each term in a document."""
        most = np.zeros(len(places))
        there = np.flatnonzero(places >= 0)
        known = part.shard.bounds[places[there]].astype(np.int64)
        for which, counts in enumerate(
            (np.full(len(there), 1), np.full(len(there), 2), known[:, 3])
        ):
            have = known[:, which] > 0
            weights = self._weighting.weights(
                counts[have], known[have, which], self._statistics.average
            )
            most[there[have]] = np.maximum(most[there[have]], weights)
        return most


def _order(starts: Ints, values: Ints) -> Ints:
    """The places of the values of each part, ascending."""
    if len(starts) < MANY:
        return np.lexsort((values, np.repeat(np.arange(len(starts) - 1), np.diff(starts))))
    from irtoolkit.indexes._compiled_best import order_each

    order = np.empty(len(values), np.int64)
    order_each(starts, values, order)
    return order

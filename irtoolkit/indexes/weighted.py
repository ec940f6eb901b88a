"""Queries under a formula, as the compiled loops of a search take them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import MANY, CountedQueries
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings

# Binary digits behind the point of a score, and of the greatest score altogether.
_DIGITS, _GREATEST = 40, 61


class Weighting(ABC):
    """A formula whose scores are sums of idf · weight over the terms that query and document share.

    A formula can be hashed and pickled: a frozen dataclass.
    """

    @property
    def absent(self) -> float:
        """What a term adds to all documents, whether they have it or not, times its idf."""
        return 0.0

    @property
    def counts_empty(self) -> bool:
        """Whether documents without a term count towards their number and the average length."""
        return True

    @property
    def reads_all_terms(self) -> bool:
        """Whether the idf of a term depends on the frequencies of others."""
        return False

    @abstractmethod
    def idf(self, size: int, found: Ints, all_found: Callable[[], Ints]) -> Floats:
        """Returns the weights of terms.

        Args:
            size: number of documents.
            found: (t,) number of documents that have each term, at least 1.
            all_found: returns the same of every term of the collection.
        """

    @abstractmethod
    def weights(self, counts: Ints, lengths: Ints, average: float) -> Floats:
        """Returns the weights of a term in documents, none negative.

        They must grow with the count and fall with the length: a search skips documents by that.

        Args:
            counts: (n,) how often the term occurs in each document.
            lengths: (n,) the number of terms of each document.
            average: mean number of terms of a document.
        """


class SearchedShard:
    """A shard that is searched."""

    def __init__(self, shard: PostingsShard, docs: OpenShard) -> None:
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

    def knows_places_of(self, whole: SearchedShard) -> None:
        """Takes over what was looked up in a shard of which this is a part, with the same terms."""
        self._found = whole._found

    @cached_property
    def live(self) -> NDArray[np.uint8]:
        """(d,) 1 for documents that were not deleted."""
        return self.docs.live

    @property
    def keys(self) -> NDArray[np.int32]:
        """(d,) keys of the documents: of equal scores the greater comes first."""
        return self.docs.documents.keys

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

    def live_documents(self, terms: Ints) -> Ints:
        """Returns the documents that have one of some terms, ascending."""
        starts, docs = self.shard.starts, self.shard.documents
        rows = [docs[starts[term] : starts[term + 1]] for term in terms.tolist()]
        found = np.unique(np.concatenate([np.empty(0, np.int32), *rows])).astype(np.int64)
        live: Ints = found[self.live[found] == 1]
        return live

    def all_frequencies(self) -> Ints:
        """(t,) number of documents that have each of the shard's terms."""
        if not len(self.docs.deleted):
            return np.diff(self.shard.starts)
        from irtoolkit.indexes._compiled_postings import live_postings

        found = np.empty(len(self.shard.terms), np.int64)
        places = np.asarray(self.live, np.int64) - 1
        live_postings(self.shard.starts, self.shard.documents, places, found)
        return found

    @cached_property
    def tokens(self) -> int:
        lengths = self.shard.lengths
        return int(lengths.sum(dtype=np.int64) - lengths[self.docs.deleted].sum(dtype=np.int64))

    @cached_property
    def empty(self) -> int:
        """Number of documents without a term."""
        lengths = self.shard.lengths
        deleted = (lengths[self.docs.deleted] == 0).sum()
        return int((lengths == 0).sum() - deleted)


@dataclass(frozen=True)
class Statistics:
    """What some shards say of some terms; of more shards it is the sum.

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
        """What several shards or sets of shards say together."""
        every = list(parts)
        return cls(
            sum(part.size for part in every), sum(part.tokens for part in every),
            max((part.count for part in every), default=0),
            min((part.length for part in every if part.length), default=0),
            np.sum([part.found for part in every], axis=0),
            sum(part.empty for part in every),
        )  # fmt: skip

    @property
    def average(self) -> float:
        """Mean length of a document, in terms."""
        return self.tokens / self.size if self.size else 0.0


class Counting(Protocol):
    """Shards that count terms."""

    def statistics(self, terms: Strings) -> Statistics:
        """What the shards say of some terms."""
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
        self, shards: Counting, queries: CountedQueries, weighting: Weighting,
        known: Statistics | None = None,
    ) -> None:  # fmt: skip
        """`known` is what the shards say of the terms, where they were asked before."""
        own = shards.statistics(queries.terms) if known is None else known
        if not weighting.counts_empty:
            own = replace(own, size=own.size - own.empty)
        self._weighting, self._queries, self._average = weighting, queries, own.average
        found = own.found
        there = found > 0
        idf = np.zeros(len(found))
        if there.any():
            idf[there] = weighting.idf(own.size, found[there], shards.all_frequencies)
        scales = idf[queries.numbers] * queries.counts
        of_query = np.repeat(np.arange(queries.size), np.diff(queries.starts))
        totals = np.bincount(of_query, scales, queries.size)
        self.negative = np.bincount(of_query, scales < 0, queries.size) > 0
        self.everywhere: Floats = np.asarray(totals * weighting.absent, np.float64)
        # The weight of the greatest count in the shortest document.
        heaviest = weighting.weights(
            np.array([own.count or 1]), np.array([own.length or 1]), own.average
        )
        sizes = np.bincount(of_query, np.abs(scales), queries.size)
        # Of each query by itself: what others are scored beside it changes nothing.
        greatest = np.maximum(sizes * float(heaviest[0]), 1.0)
        digits = np.minimum(_DIGITS, _GREATEST - np.ceil(np.log2(greatest)))
        self.unit: Floats = 2.0**-digits
        self._scales = scales / self.unit[of_query]
        # A term that weighs nothing makes a match, and adds nothing to a score.
        self._known = there[queries.numbers] & (scales != 0)
        self._weightless = there[queries.numbers] & (scales == 0)

    def __len__(self) -> int:
        return self._queries.size

    def table(self, part: SearchedShard) -> Floats:
        """The weight of each class of a shard."""
        return part.table(self._weighting, self._average)

    def batch(self, part: SearchedShard) -> QueryBatch:
        """The queries with the term numbers of a shard, each in ascending order of bounds."""
        numbers, own_starts = self._queries.numbers, self._queries.starts
        places = part.places(self._queries.terms)
        here = (places >= 0)[numbers] & self._known
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(here)])
        terms, scales = places[numbers[here]], self._scales[here]
        # As the compiled loops round.
        bounds = (self._most(part, places)[numbers[here]] * scales + 1).astype(np.int64)
        starts = before[own_starts]
        order = _order(starts, bounds)
        return QueryBatch(starts, terms[order], scales[order], bounds[order])

    def weightless(self, part: SearchedShard) -> dict[int, Ints]:
        """Returns the numbers of the terms that weigh nothing in a shard, of each query that has any."""
        if not self._weightless.any():
            return {}
        at = np.flatnonzero(self._weightless)
        queries = np.searchsorted(self._queries.starts, at, side="right") - 1
        places = part.places(self._queries.terms)[self._queries.numbers[at]]
        return {
            query: places[(queries == query) & (places >= 0)]
            for query in np.unique(queries).tolist()
        }

    def _most(self, part: SearchedShard, places: Ints) -> Floats:
        """(t,) the greatest weight of each term in a document."""
        most = np.zeros(len(places))
        there = np.flatnonzero(places >= 0)
        known = part.shard.bounds[places[there]].astype(np.int64)
        for which, counts in enumerate(
            (np.full(len(there), 1), np.full(len(there), 2), known[:, 3])
        ):
            have = known[:, which] > 0
            weights = self._weighting.weights(counts[have], known[have, which], self._average)
            most[there[have]] = np.maximum(most[there[have]], weights)
        return most


def _order(starts: Ints, values: Ints) -> Ints:
    """The places of the values of each part, ascending."""
    if len(starts) < MANY:
        return np.lexsort((values, np.repeat(np.arange(len(starts) - 1), np.diff(starts))))
    from irtoolkit.indexes._compiled_sums import order_each

    order = np.empty(len(values), np.int64)
    order_each(starts, values, order)
    return order

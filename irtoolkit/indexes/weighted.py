"""Queries under a formula, as the compiled loops of a search take them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes import weighing
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings

# Steps that it takes Python to weigh a term; see `is_worth_loading`.
_WEIGHED = 100


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
            _check_finite(weighting, made, least=0.0)
            self._table = kept = weighting, average, made
        return kept[2]

    def frequencies(self, places: Ints) -> Ints:
        """(t,) number of documents that have each term."""
        starts = self.shard.starts
        found: Ints = np.where(places >= 0, starts[places + 1] - starts[places], 0)
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
            _check_finite(weighting, idf)
        # The weight of the greatest count in the shortest document.
        heaviest = _weight(weighting, own.count or 1, own.length or 1, own.average)
        if own.count:
            _check_finite(weighting, np.array([heaviest]), least=0.0)
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
            nothing[there[queries.numbers[nothing]]] if len(nothing) else nothing
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
        most, out = self._most(part, places), (starts, terms, scales, bounds)
        _loops(queries).place(queries.starts, queries.numbers, self._scales, places, most, out)
        count = int(starts[-1])
        return QueryBatch(starts, terms[:count], scales[:count], bounds[:count])

    @property
    def has_weightless(self) -> bool:
        """Whether a term of a query weighs nothing."""
        return len(self._weightless) > 0

    def weightless(self, part: SearchedShard) -> dict[int, Ints]:
        """Returns the numbers of the terms that weigh nothing in a shard, of each query that has any."""
        at = self._weightless
        queries = np.searchsorted(self._queries.starts, at, side="right") - 1
        places = part.places(self._queries.terms)[self._queries.numbers[at]]
        return {
            query: places[(queries == query) & (places >= 0)]
            for query in np.unique(queries).tolist()
        }

    def _most(self, part: SearchedShard, places: Ints) -> Floats:
        """(t,) the greatest weight of each term in a document; anything for a term that is not there."""
        if not len(part.shard.bounds):
            return np.zeros(len(places))
        # What a term has once, twice or more often, of the shortest document each; see `PostingsShard`.
        bounds = part.shard.bounds[places].astype(np.int64)
        counts, lengths = np.full((len(places), 3), (1, 2, 0)), bounds[:, :3]
        counts[:, 2] = np.maximum(bounds[:, 3], 1)
        shortest = np.maximum(lengths, 1).ravel()
        weights = self._weighting.weights(counts.ravel(), shortest, self._average)
        most: Floats = np.where(lengths > 0, weights.reshape(-1, 3), 0.0).max(axis=1, initial=0.0)
        return most


def _check_finite(weighting: Weighting, values: Floats, least: float = -np.inf) -> None:
    """Raises InputError for a weight that is not finite, or below the least."""
    wrong = ~np.isfinite(values) | (values < least)
    if wrong.any():
        raise InputError(
            f"the formula {type(weighting).__name__} gives a term the weight {values[wrong][0]}",
            remedy="weights must be finite, and those of counts not negative",
        )


@lru_cache(maxsize=1 << 6)
def _weight(weighting: Weighting, count: int, length: int, average: float) -> float:
    """The weight of a term that occurs so often in a document of such a length."""
    return float(weighting.weights(np.array([count]), np.array([length]), average)[0])


def _loops(queries: CountedQueries) -> Any:
    """The loops that weigh the terms of queries, compiled where that is worth while."""
    if is_worth_loading(_WEIGHED * len(queries.numbers)):
        from irtoolkit.indexes import _compiled_weighing

        return _compiled_weighing
    return weighing

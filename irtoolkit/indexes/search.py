"""Search over shards of postings: the best documents of each query, and exact ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints, id_array, rank_ids
from irtoolkit.indexes.documents import Documents
from irtoolkit.indexes.postings import PostingsShard

# Binary digits behind the point of a score, and of the greatest score altogether.
_DIGITS, _GREATEST = 40, 61
# Documents that may tie at the last place before a query is searched again with more room.
_ROOM = 1 << 10
# Results put in order at once.
_CELLS = 1 << 14
# Queries searched at once: their results are held in several forms.
_QUERIES = 1 << 10

# The terms of a query, each with how often it occurs there.
QueryTerms = Mapping[str, int]


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


class TopDocuments(NamedTuple):
    """The best documents of some queries.

    Attributes:
        offsets: (q+1,) where the rows of each query begin.
        documents: (n,) numbers of documents, best first; ties are in descending order of ids.
        scores: (n,) their scores.
    """

    offsets: Ints
    documents: Ints
    scores: Floats

    @classmethod
    def joined(cls, parts: Sequence[TopDocuments]) -> TopDocuments:
        """The documents of several sets of queries, one after the other."""
        sizes = [np.diff(part.offsets) for part in parts]
        counts = np.concatenate([np.zeros(1, np.int64), *sizes])
        return cls(
            np.cumsum(counts),
            np.concatenate([np.empty(0, np.int64), *(part.documents for part in parts)]),
            np.concatenate([np.empty(0), *(part.scores for part in parts)]),
        )


class ShardDocuments(NamedTuple):
    """The documents of a shard.

    Attributes:
        documents: their ids and the order of these.
        deleted: numbers of those that were deleted, ascending.
    """

    documents: Documents
    deleted: Ints


class _Part:
    """A shard that is searched."""

    def __init__(self, shard: PostingsShard, docs: ShardDocuments) -> None:
        self.shard, self.docs = shard, docs
        self._table: tuple[Any, float, Floats] | None = None

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
        if self._table is None or self._table[:2] != (weighting, average):
            shard = self.shard
            # As many as the numbers of classes can say, so that damage does not lead out of them.
            made = np.zeros(max(len(shard.class_counts), 1 << 16))
            made[: len(shard.class_counts)] = weighting.weights(
                shard.class_counts, shard.class_lengths, average
            )
            self._table = weighting, average, made
        return self._table[2]

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


@dataclass(frozen=True)
class _Batch:
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


class PostingsSearch:
    """Shards of postings that are searched as one.

    Scores do not depend on how documents are split into shards: they are sums of whole numbers, and
    statistics are sums over shards.

    Args:
        shards: the postings of each shard, and its documents.
    """

    def __init__(self, shards: Sequence[tuple[PostingsShard, ShardDocuments]]) -> None:
        self._parts = [_Part(shard, docs) for shard, docs in shards]
        self._bases = np.cumsum([0, *(len(part.shard) for part in self._parts)]).astype(np.int64)

    @cached_property
    def size(self) -> int:
        """Number of documents that were not deleted."""
        return sum(len(part.shard) - len(part.docs.deleted) for part in self._parts)

    @cached_property
    def average(self) -> float:
        """Mean length of a document, in terms."""
        return sum(part.tokens for part in self._parts) / self.size if self.size else 0.0

    def frequencies(self, terms: Sequence[str]) -> Ints:
        """(t,) number of documents that have each term."""
        total = np.zeros(len(terms), np.int64)
        for part in self._parts:
            total += part.frequencies(part.shard.places(terms))
        return total

    def all_frequencies(self) -> Ints:
        """Number of documents of every term, in the order of the terms."""
        if len(self._parts) == 1 and not len(self._parts[0].docs.deleted):
            return np.diff(self._parts[0].shard.starts)
        found: dict[str, int] = {}
        for part in self._parts:
            counts = part.frequencies(np.arange(len(part.shard.terms)))
            for term, count in zip(part.shard.terms, counts.tolist(), strict=True):
                found[term] = found.get(term, 0) + count
        return np.array([found[term] for term in sorted(found) if found[term]], np.int64)

    def ids(self, documents: Ints) -> list[str]:
        """The ids of some documents."""
        which = np.searchsorted(self._bases, documents, side="right") - 1
        own = documents - self._bases[which]
        return [
            self._parts[part].docs.documents.ids[place]
            for part, place in zip(which.tolist(), own.tolist(), strict=True)
        ]

    def search(
        self, queries: Sequence[QueryTerms], weighting: Weighting, depth: int
    ) -> TopDocuments:
        """The best documents of each query, among those that share a term with it.

        Args:
            queries: the terms of each query.
            weighting: the formula.
            depth: documents of each query, at most.
        """
        depth = max(1, min(depth, self.size))
        parts = [
            self._searched(_Asked(self, queries[first : first + _QUERIES], weighting), depth)
            for first in range(0, len(queries), _QUERIES)
        ]
        return TopDocuments.joined(parts)

    def _searched(self, asked: _Asked, depth: int) -> TopDocuments:
        """The best documents of some queries."""
        count = len(asked)
        least, best = np.zeros(count, np.int64), np.zeros((count, 0), np.int64)
        found: list[tuple[Ints, Ints, Ints]] = []
        for number, part in enumerate(self._parts):
            counts, documents, scores = _found(
                part, asked.batch(part), asked.table(part), depth, least
            )
            documents += self._bases[number]
            found.append((counts, documents, scores))
            if number + 1 < len(self._parts):
                best = np.concatenate([best, scores], axis=1)
                if best.shape[1] > depth:
                    best = -np.partition(-best, depth - 1, axis=1)[:, :depth]
                least = best.min(axis=1) if best.shape[1] == depth else least
        counts, documents, scores = found[0] if len(found) == 1 else self._merged(found, depth)
        filled = np.arange(documents.shape[1]) < counts[:, None]
        whole = bool(filled.all())
        values = scores * asked.unit + asked.everywhere[:, None]
        return TopDocuments(
            np.concatenate([[0], np.cumsum(counts)]),
            documents.ravel() if whole else documents[filled],
            values.ravel() if whole else values[filled],
        )

    def _merged(
        self, found: Sequence[tuple[Ints, Ints, Ints]], depth: int
    ) -> tuple[Ints, Ints, Ints]:
        """The best of all shards, given the best of each."""
        counts = sum((row[0] for row in found), np.zeros(len(found[0][0]), np.int64))
        documents, scores = (np.concatenate([row[i] for row in found], axis=1) for i in (1, 2))
        order = np.argsort(-scores, axis=1, kind="stable")
        documents = np.take_along_axis(documents, order, axis=1)
        scores = np.take_along_axis(scores, order, axis=1)
        tied = np.zeros(scores.shape, bool)
        tied[:, 1:] = (scores[:, 1:] == scores[:, :-1]) & (scores[:, 1:] > 0)
        tied[:, :-1] |= tied[:, 1:]
        # Ids are read only where they decide the order.
        for query in np.flatnonzero(tied.any(axis=1)).tolist():
            names = np.zeros(scores.shape[1], np.int64)
            here = tied[query]
            names[here] = rank_ids(id_array(self.ids(documents[query, here])))
            again = np.lexsort((-names, -scores[query]))
            documents[query] = documents[query, again]
        return np.minimum(counts, depth), documents[:, :depth], scores[:, :depth]

    def latest(self, count: int) -> Ints:
        """The documents with the last ids, in descending order, at most so many."""
        numbers = []
        for base, part in zip(self._bases[:-1], self._parts, strict=True):
            order = np.asarray(part.docs.documents.order, np.int64)
            if len(part.docs.deleted):
                order = order[part.live[order] == 1]
            numbers.append(order[::-1][:count] + base)
        known = np.concatenate([np.empty(0, np.int64), *numbers])
        if len(numbers) > 1:
            known = known[np.argsort(-rank_ids(id_array(self.ids(known))))]
        return known[:count]

    def scores(self, query: QueryTerms, weighting: Weighting) -> Floats:
        """(d,) the score of every document, deleted ones too, by adding up all postings."""
        from irtoolkit.indexes._compiled_search import WINDOW, add_up

        asked = _Asked(self, [query], weighting)
        sums: list[Ints] = [np.zeros(0, np.int64)]
        for part in self._parts:
            terms, scales, bounds = asked.batch(part).query(0)
            cursors, size = part.shard.starts[terms].astype(np.int64), len(part.shard)
            for low in range(0, size, WINDOW):
                own, high = np.zeros(WINDOW, np.int64), min(size, low + WINDOW)
                add_up(
                    part.arrays, asked.table(part), (terms, scales, bounds), low, high, cursors, own
                )
                sums.append(own[: high - low])
        total: Floats = np.concatenate(sums) * asked.unit + asked.everywhere[0]
        return total

    def ranks(
        self,
        queries: Sequence[QueryTerms],
        weighting: Weighting,
        wanted: Sequence[Sequence[int]],
    ) -> list[list[int]]:
        """The exact rank, from 1, of some documents of each query among all documents.

        Documents that share no term with the query score 0 and are ranked too, by descending id.
        """
        asked = _Asked(self, queries, weighting)
        work = [number for number, docs in enumerate(wanted) if docs]
        return _in_threads(lambda number: asked.ranks(number, wanted[number]), work, len(wanted))


class _Asked:
    """Queries under a formula, with the statistics of all shards."""

    def __init__(
        self, searched: PostingsSearch, queries: Sequence[QueryTerms], weighting: Weighting
    ) -> None:
        self._searched, self._weighting = searched, weighting
        named = list(chain.from_iterable(queries))
        numbers = {term: number for number, term in enumerate(dict.fromkeys(named))}
        counts = np.fromiter(chain.from_iterable(map(dict.values, map(dict, queries))), np.float64)
        self._flat = np.fromiter(map(numbers.__getitem__, named), np.int64, len(named))
        self._starts = np.cumsum([0, *map(len, queries)])
        self._terms = list(numbers)
        found = searched.frequencies(self._terms)
        known = found > 0
        idf = np.zeros(len(found))
        if known.any():
            idf[known] = weighting.idf(searched.size, found[known], searched.all_frequencies)
        scales = idf[self._flat] * counts
        self._query = np.repeat(np.arange(len(queries)), np.diff(self._starts))
        totals = np.bincount(self._query, scales, len(queries))
        self.everywhere = totals * weighting.absent
        greatest = float(totals.max(initial=0)) * self._heaviest()
        digits = _DIGITS
        if greatest >= 1 << (_GREATEST - _DIGITS):
            digits = _GREATEST - int(np.ceil(np.log2(greatest)))
        self.unit = 2.0**-digits
        self._scales = scales / self.unit

    def _heaviest(self) -> float:
        """The weight of the greatest count in the shortest document."""
        shards = [part.shard for part in self._searched._parts if len(part.shard.documents)]
        count = max((int(shard.class_counts[-1]) for shard in shards), default=1)
        length = min((int(shard.class_lengths.min()) for shard in shards), default=1)
        average = self._searched.average
        return float(self._weighting.weights(np.array([count]), np.array([length]), average)[0])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def table(self, part: _Part) -> Floats:
        return part.table(self._weighting, self._searched.average)

    def batch(self, part: _Part) -> _Batch:
        """The queries with the term numbers of a shard, each in ascending order of bounds."""
        places = part.shard.places(self._terms)[self._flat]
        here = np.flatnonzero((places >= 0) & (self._scales > 0))
        terms, scales, query = places[here], self._scales[here], self._query[here]
        bounds = self._bounds(part, terms, scales)
        order = np.lexsort((bounds, query))
        starts = np.searchsorted(query, np.arange(len(self._starts)))
        return _Batch(starts, terms[order], scales[order], bounds[order])

    def _bounds(self, part: _Part, terms: Ints, scales: Floats) -> Ints:
        """(t,) the most that a term adds to a score."""
        known = part.shard.bounds[terms].astype(np.int64)
        most = np.zeros(len(terms))
        for which, counts in enumerate(
            (np.full(len(terms), 1), np.full(len(terms), 2), known[:, 3])
        ):
            have = known[:, which] > 0
            weights = self._weighting.weights(
                counts[have], known[have, which], self._searched.average
            )
            most[have] = np.maximum(most[have], weights)
        # As the compiled loops round.
        return (most * scales + 1).astype(np.int64)

    def ranks(self, number: int, documents: Sequence[int]) -> list[int]:
        from irtoolkit.indexes._compiled_search import WINDOW, score_of, standing

        parts, bases = self._searched._parts, self._searched._bases
        which = (np.searchsorted(bases, documents, side="right") - 1).tolist()
        queries = [self.batch(part).query(number) for part in parts]
        scores = np.array(
            [
                score_of(parts[at].arrays, self.table(parts[at]), queries[at], doc - int(bases[at]))
                for doc, at in zip(documents, which, strict=True)
            ],
            np.int64,
        )
        before = np.zeros(len(documents), np.int64)
        for at, part in enumerate(parts):
            docs = part.docs.documents
            # Of equal scores, later ids come first; a document is not before itself.
            places = [
                int(part.names[doc - bases[at]]) + 1
                if at == own
                else docs.ids.below(
                    parts[own].docs.documents.ids.at(doc - int(bases[own])), docs.order
                )
                for doc, own in zip(documents, which, strict=True)
            ]
            room = np.zeros(WINDOW, np.int64), np.zeros(len(queries[at][0]), np.int64)
            wanted = scores, np.array(places, np.int64)
            standing(part.arrays, self.table(part), queries[at], wanted, part.names, room, before)
        return (before + 1).tolist()


def _found(
    part: _Part, batch: _Batch, table: Floats, depth: int, least: Ints
) -> tuple[Ints, Ints, Ints]:
    """(q,) counts, (q, depth) documents and (q, depth) scores of the best of a shard."""
    from irtoolkit.indexes._compiled_search import CROWDED, WINDOW, search, settle

    count = len(least)
    docs, scores = np.zeros((count, depth), np.int64), np.empty((count, depth), np.int64)
    counts = np.zeros(count, np.int64)
    longest = int(np.diff(batch.starts).max(initial=0))

    def some(numbers: Ints, room: int) -> None:
        memory = (
            np.zeros(WINDOW, np.int64), np.empty(2 * WINDOW, np.int32),
            np.zeros(longest, np.int64), np.empty(room, np.int64), np.empty(room, np.int64),
        )  # fmt: skip
        # Few results at a time stay in the processor's cache while they are put in order.
        step = max(1, _CELLS // depth)
        for first in range(0, len(numbers), step):
            own = numbers[first : first + step]
            part_docs, part_scores = np.zeros((2, len(own), depth), np.int64)
            part_counts = np.zeros(len(own), np.int64)
            out = part_counts, part_docs, part_scores, least[own]
            search(part.arrays, table, batch.arrays, own, part.names, memory, out)
            found = part_counts, part_docs, part_scores
            settle(_order(part_scores), found, part.names, own, (counts, docs, scores))

    room, left = max(4 * depth, _ROOM), np.arange(count)
    while len(left):
        threads = min(os.cpu_count() or 1, len(left))
        if threads > 1:
            # Queries side by side are often alike in length: dealt out in turn, threads end together.
            _in_threads(lambda at: some(left[at::threads], room), list(range(threads)), threads)  # noqa: B023
        else:
            some(left, room)
        left = np.flatnonzero(counts == CROWDED)
        room *= 8
    return counts, docs, scores


def _order(scores: Ints) -> Ints:
    """(q, k) the order of the scores of each row, the least first; ties in any order."""
    bits = max(1, int(scores.shape[1] - 1).bit_length())
    if scores.max(initial=0) >= 1 << (62 - bits):
        return np.argsort(scores, axis=1)
    # Scores with their places in the last bits: numpy sorts faster than it finds an order.
    keys = scores << bits
    keys |= np.arange(scores.shape[1])
    keys.sort(axis=1)
    keys &= (1 << bits) - 1
    return keys


def _in_threads(work: Callable[[int], Any], numbers: Iterable[int], count: int) -> list[Any]:
    """What some work gives for each number, on all cores; an empty list for the other numbers."""
    found: list[Any] = [[] for _ in range(count)]
    chosen = list(numbers)
    if len(chosen) == 1:
        found[chosen[0]] = work(chosen[0])
        return found
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, result in zip(chosen, pool.map(work, chosen), strict=True):
            found[number] = result
    return found

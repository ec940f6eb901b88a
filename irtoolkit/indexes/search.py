"""Search over shards of postings: the best documents of each query, and exact ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from irtoolkit.base.ids import Floats, Ints, id_array, rank_ids
from irtoolkit.indexes import few, pruned
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.top_documents import TopDocuments
from irtoolkit.indexes.weighted import (
    SearchedShard,
    ShardDocuments,
    WeightedQueries,
    Weighting,
)

# Queries searched at once: their results are held in several forms.
_QUERIES = 1 << 10


class PostingsSearch:
    """Shards of postings that are searched as one.

    Scores do not depend on how documents are split into shards: they are sums of whole numbers, and
    statistics are sums over shards.

    Args:
        shards: the postings of each shard, and its documents.
    """

    def __init__(self, shards: Sequence[tuple[PostingsShard, ShardDocuments]]) -> None:
        self.parts: Sequence[SearchedShard] = [SearchedShard(shard, docs) for shard, docs in shards]
        self._bases = np.cumsum([0, *(len(part.shard) for part in self.parts)]).astype(np.int64)

    @cached_property
    def size(self) -> int:
        """Number of documents that were not deleted."""
        return sum(len(part.shard) - len(part.docs.deleted) for part in self.parts)

    @cached_property
    def average(self) -> float:
        """Mean length of a document, in terms."""
        return sum(part.tokens for part in self.parts) / self.size if self.size else 0.0

    def frequencies(self, terms: Strings) -> Ints:
        """(t,) number of documents that have each term."""
        total = np.zeros(len(terms), np.int64)
        for part in self.parts:
            total += part.frequencies(part.places(terms))
        return total

    def all_frequencies(self) -> Ints:
        """Number of documents of every term, in the order of the terms."""
        if len(self.parts) == 1 and not len(self.parts[0].docs.deleted):
            return np.diff(self.parts[0].shard.starts)
        found: dict[str, int] = {}
        for part in self.parts:
            counts = part.frequencies(np.arange(len(part.shard.terms)))
            for term, count in zip(part.shard.terms, counts.tolist(), strict=True):
                found[term] = found.get(term, 0) + count
        return np.array([found[term] for term in sorted(found) if found[term]], np.int64)

    def ids(self, documents: Ints) -> list[str]:
        """The ids of some documents."""
        which = np.searchsorted(self._bases, documents, side="right") - 1
        own = documents - self._bases[which]
        return [
            self.parts[part].docs.documents.ids[place]
            for part, place in zip(which.tolist(), own.tolist(), strict=True)
        ]

    def search(self, queries: CountedQueries, weighting: Weighting, depth: int) -> TopDocuments:
        """The best documents of each query, among those that share a term with it.

        Args:
            queries: the terms of each query.
            weighting: the formula.
            depth: documents of each query, at most.
        """
        depth = max(1, min(depth, self.size))
        parts = [
            self._searched(
                WeightedQueries(self, queries.part(first, first + _QUERIES), weighting), depth
            )
            for first in range(0, queries.size, _QUERIES)
        ]
        return TopDocuments.joined(parts)

    def _searched(self, asked: WeightedQueries, depth: int) -> TopDocuments:
        """The best documents of some queries."""
        count = len(asked)
        least, best = np.zeros(count, np.int64), np.zeros((count, 0), np.int64)
        found: list[tuple[Ints, Ints, Ints]] = []
        batches = [asked.batch(part) for part in self.parts]
        by_numpy = few.is_faster(batches, self.parts)
        for number, (part, batch) in enumerate(zip(self.parts, batches, strict=True)):
            if by_numpy:
                counts, documents, scores = few.best(part, batch, asked.table(part), depth)
            else:
                counts, documents, scores = pruned.best(
                    part, batch, asked.table(part), depth, least
                )
            documents += self._bases[number]
            found.append((counts, documents, scores))
            if number + 1 < len(self.parts):
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
        self._untie(documents, scores)
        return np.minimum(counts, depth), documents[:, :depth], scores[:, :depth]

    def _untie(self, documents: Ints, scores: Ints) -> None:
        """Puts documents of different shards whose scores tie in descending order of ids."""
        parts = np.searchsorted(self._bases, documents, side="right") - 1
        begins = np.ones(scores.shape, bool)
        begins[:, 1:] = scores[:, 1:] != scores[:, :-1]
        firsts = np.flatnonzero(begins)
        flat, known = parts.ravel(), scores.ravel()[firsts] > 0
        lasts = np.append(firsts[1:], flat.size)
        # Shards ascend in a tie. Ids are read only where they decide the order.
        tied = known & (flat[firsts] != flat[lasts - 1])
        sizes = (lasts - firsts)[tied]
        ends = np.cumsum(sizes)
        if not len(sizes):
            return
        rows = np.repeat(firsts[tied] - (ends - sizes), sizes) + np.arange(ends[-1])
        own, which = documents.ravel()[rows], flat[rows]
        ids = self._columns(own, which)
        bounds = np.concatenate([np.zeros(1, np.int64), ends])
        documents.ravel()[rows] = own[ids.merged(bounds, which)]

    def _columns(self, documents: Ints, parts: Ints) -> Strings:
        """The ids of documents of some shards."""
        columns = [part.docs.documents.ids for part in self.parts]
        numbers = [np.flatnonzero(parts == part) for part in range(len(columns))]
        taken = Strings.joined(
            column.taken(documents[own] - base)
            for column, own, base in zip(columns, numbers, self._bases, strict=False)
        )
        back = np.empty(len(documents), np.int64)
        back[np.concatenate(numbers)] = np.arange(len(documents))
        return taken.taken(back)

    def everywhere(self, queries: CountedQueries, weighting: Weighting) -> Floats:
        """(q,) what a document without a term of a query scores."""
        return WeightedQueries(self, queries, weighting).everywhere

    def latest(self, count: int) -> Ints:
        """The documents with the last ids, in descending order, at most so many."""
        numbers = []
        for base, part in zip(self._bases[:-1], self.parts, strict=True):
            order = np.asarray(part.docs.documents.order, np.int64)
            if len(part.docs.deleted):
                order = order[part.live[order] == 1]
            numbers.append(order[::-1][:count] + base)
        known = np.concatenate([np.empty(0, np.int64), *numbers])
        if len(numbers) > 1:
            known = known[np.argsort(-rank_ids(id_array(self.ids(known))))]
        return known[:count]

    def scores(self, query: CountedQueries, weighting: Weighting) -> Floats:
        """(d,) one query's score of every document, deleted ones too, by adding up all postings."""
        from irtoolkit.indexes._compiled_search import WINDOW
        from irtoolkit.indexes._compiled_sums import add_up

        asked = WeightedQueries(self, query, weighting)
        sums: list[Ints] = [np.zeros(0, np.int64)]
        for part in self.parts:
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
        queries: CountedQueries,
        weighting: Weighting,
        wanted: Sequence[Sequence[int]],
    ) -> list[list[int]]:
        """The exact rank, from 1, of some documents of each query among all documents.

        Documents that share no term with the query score 0 and are ranked too, by descending id.
        """
        asked = WeightedQueries(self, queries, weighting)
        batches = [(asked.batch(part), asked.table(part)) for part in self.parts]
        work = [number for number, docs in enumerate(wanted) if docs]
        return _in_threads(
            lambda number: self._ranks(
                [(batch.query(number), table) for batch, table in batches], wanted[number]
            ),
            work,
            len(wanted),
        )

    def _ranks(self, asked: Sequence[tuple[Any, Floats]], documents: Sequence[int]) -> list[int]:
        """The ranks of documents of one query, given with a table of weights for each shard."""
        from irtoolkit.indexes._compiled_search import WINDOW
        from irtoolkit.indexes._compiled_sums import score_of, standing

        parts, bases = self.parts, self._bases
        which = (np.searchsorted(bases, documents, side="right") - 1).tolist()
        scores = np.array(
            [
                score_of(parts[at].arrays, asked[at][1], asked[at][0], doc - int(bases[at]))
                for doc, at in zip(documents, which, strict=True)
            ],
            np.int64,
        )
        before = np.zeros(len(documents), np.int64)
        for at, (part, (query, table)) in enumerate(zip(parts, asked, strict=True)):
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
            room = np.zeros(WINDOW, np.int64), np.zeros(len(query[0]), np.int64)
            wanted = scores, np.array(places, np.int64)
            standing(part.arrays, table, query, wanted, part.names, room, before)
        return (before + 1).tolist()


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

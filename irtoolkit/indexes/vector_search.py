"""Exact search over shards of vectors.

Blocks are compared in single precision, whose last bits depend on where a document is in its block.
Whatever may be among the best, given how far off such a product can be, is then scored in double
precision, pair by pair: so scores and ranks do not depend on shards.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from irtoolkit.base.ids import Floats, Ints, Singles, id_array, rank_ids
from irtoolkit.indexes.documents import Documents
from irtoolkit.indexes.top_documents import TopDocuments
from irtoolkit.indexes.vectors import Comparison, QueryVectors, VectorShard

# Queries compared at once.
_QUERIES = 256


class VectorSearch:
    """Shards of vectors that are searched as one.

    Args:
        shards: vectors, documents, and the numbers of deleted documents.
        comparison: how documents are scored.
    """

    def __init__(
        self, shards: Sequence[tuple[VectorShard, Documents, Ints]], comparison: Comparison
    ) -> None:
        self._shards, self._comparison = shards, comparison
        self._bases = np.cumsum([0, *(len(shard) for shard, _, _ in shards)]).astype(np.int64)

    @cached_property
    def _live(self) -> list[Ints]:
        """(d,) of each shard: 1 for documents that were not deleted."""
        lives = []
        for shard, _, gone in self._shards:
            live = np.ones(len(shard), np.int64)
            live[gone] = 0
            lives.append(live)
        return lives

    @cached_property
    def size(self) -> int:
        """Number of documents that were not deleted."""
        return sum(int(live.sum()) for live in self._live)

    def ids(self, documents: Ints) -> list[str]:
        """The ids of some documents."""
        which = np.searchsorted(self._bases, documents, side="right") - 1
        own = documents - self._bases[which]
        return [
            self._shards[shard][1].ids[place]
            for shard, place in zip(which.tolist(), own.tolist(), strict=True)
        ]

    def search(self, queries: QueryVectors, depth: int) -> TopDocuments:
        """The best documents of each query.

        Args:
            queries: their vectors; each query has at least one.
            depth: documents of each query, at most.
        """
        depth = max(1, min(depth, self.size))
        rows: list[tuple[Ints, Floats]] = []
        for first in range(0, len(queries.starts) - 1, _QUERIES):
            part = _part(queries, first, min(len(queries.starts) - 1, first + _QUERIES))
            near = self.near(part, depth)
            asked = [(part.of(query), docs, depth) for query, docs in enumerate(near)]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                rows += pool.map(lambda one: self._best(*one), asked)
        offsets = np.concatenate([[0], np.cumsum([len(docs) for docs, _ in rows])])
        return TopDocuments(
            offsets.astype(np.int64),
            np.concatenate([np.empty(0, np.int64), *(docs for docs, _ in rows)]),
            np.concatenate([np.empty(0), *(scores for _, scores in rows)]),
        )

    def near(self, queries: QueryVectors, depth: int) -> list[Ints]:
        """Documents of each query that may be among its best."""
        count = len(queries.starts) - 1
        least = np.full(count, -np.inf)
        kept: list[tuple[Ints, Ints, Floats]] = []
        for number, (shard, _, _) in enumerate(self._shards):
            for first, last in shard.blocks():
                scores, off = self._scores(queries, shard, number, first, last)
                near = scores >= least[:, None]
                if scores.shape[1] >= depth and np.count_nonzero(near) > 4 * depth * count:
                    at = scores.shape[1] - depth
                    own = np.partition(scores, at, axis=1)[:, at]
                    least = np.maximum(least, own - 2 * off)
                    near = scores >= least[:, None]
                query, doc = np.nonzero(near)
                kept.append((query, doc + first + self._bases[number], scores[query, doc]))
                if sum(len(part[0]) for part in kept) > 4 * depth * count:
                    kept, least = [_pruned(kept, least, depth, off)], least
        query, docs, values = (
            np.concatenate([part[i] for part in kept] or [np.empty(0, np.int64)]) for i in range(3)
        )
        inside = (values >= least[query]) & np.isfinite(values)
        order = np.argsort(query[inside], kind="stable")
        bounds = np.searchsorted(query[inside][order], np.arange(1, count))
        return np.split(docs[inside][order], bounds)

    def _scores(
        self, queries: QueryVectors, shard: VectorShard, number: int, first: int, last: int
    ) -> tuple[Floats, Floats]:
        begin, end = int(shard.starts[first]), int(shard.starts[last])
        starts = np.asarray(shard.starts[first : last + 1]) - begin
        scores, off = self._comparison.block(
            queries, shard.rows(begin, end), np.asarray(shard.sizes[begin:end]), starts
        )
        live = self._live[number][first:last]
        return (scores if live.all() else np.where(live, scores, -np.inf)), off

    def _best(self, query: Singles, docs: Ints, depth: int) -> tuple[Ints, Floats]:
        """The best of some documents of a query, in order."""
        scores = self._exact_each(query, docs)
        order = np.argsort(-scores, kind="stable")
        docs, scores = docs[order], scores[order]
        tied = np.zeros(len(docs), bool)
        tied[1:] = scores[1:] == scores[:-1]
        tied[:-1] |= tied[1:]
        if tied.any():  # ids are read only where they decide the order
            names = np.zeros(len(docs), np.int64)
            names[tied] = rank_ids(id_array(self.ids(docs[tied])))
            docs = docs[np.lexsort((-names, -scores))]
        return docs[:depth], scores[:depth]

    def _exact_each(self, query: Singles, docs: Ints) -> Floats:
        scores = np.empty(len(docs))
        which = np.searchsorted(self._bases, docs, side="right") - 1
        for number in np.unique(which).tolist():
            here = which == number
            shard, places = self._shards[number][0], docs[here] - self._bases[number]
            counts = shard.starts[places + 1] - shard.starts[places]
            if len(query) == 1 and (counts == 1).all():
                rows = shard.chosen(shard.starts[places])
                scores[here] = self._comparison.exact_each(query, rows)
            else:
                scores[here] = [self._exact(query, doc) for doc in docs[here].tolist()]
        return scores

    def _exact(self, query: Singles, document: int) -> float:
        number = int(np.searchsorted(self._bases, document, side="right")) - 1
        shard, place = self._shards[number][0], document - int(self._bases[number])
        rows = shard.rows(int(shard.starts[place]), int(shard.starts[place + 1]))
        return self._comparison.exact(query, rows)

    def ranks(self, queries: QueryVectors, wanted: Sequence[Sequence[int]]) -> list[list[int]]:
        """The exact rank of some documents of each query among all documents, from 1."""
        found: list[list[int]] = []
        for query, documents in enumerate(wanted):
            found.append(self._ranks(_part(queries, query, query + 1), documents))
        return found

    def _ranks(self, query: QueryVectors, documents: Sequence[int]) -> list[int]:
        if not documents:
            return []
        own = [self._exact(query.vectors, document) for document in documents]
        names = self.ids(np.array(documents, np.int64))
        before = [0] * len(documents)
        for number, (shard, _, _) in enumerate(self._shards):
            for first, last in shard.blocks():
                scores, off = self._scores(query, shard, number, first, last)
                for at, score in enumerate(own):
                    before[at] += int((scores[0] > score + off[0]).sum())
                    near = np.flatnonzero(np.abs(scores[0] - score) <= off[0])
                    docs = near + first + self._bases[number]
                    others = self._exact_each(query.vectors, docs)
                    before[at] += int((others > score).sum())
                    tied = self.ids(docs[others == score])
                    before[at] += sum(name > names[at] for name in tied)
        return [count + 1 for count in before]


def _part(queries: QueryVectors, first: int, last: int) -> QueryVectors:
    begin, end = queries.starts[first], queries.starts[last]
    return QueryVectors(queries.vectors[begin:end], queries.starts[first : last + 1] - begin)


def _pruned(
    kept: list[tuple[Ints, Ints, Floats]], least: Floats, depth: int, off: Floats
) -> tuple[Ints, Ints, Floats]:
    """What may still be among the best of what was kept; raises `least` in place."""
    query, docs, values = (np.concatenate([part[i] for part in kept]) for i in range(3))
    for number in range(len(least)):
        own = values[query == number]
        if len(own) >= depth:
            at = len(own) - depth
            least[number] = max(least[number], np.partition(own, at)[at] - 2 * off[number])
    inside = values >= least[query]
    return query[inside], docs[inside], values[inside]

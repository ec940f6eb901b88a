"""Exact search over shards of vectors.

Blocks are compared in single precision, whose last bits depend on where a document is in its block.
Whatever may be among the best, given how far off such a product can be, is then scored exactly: so
scores and ranks do not depend on shards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.base.rows import in_threads
from irtoolkit.indexes.comparison import QueryVectors
from irtoolkit.indexes.counting import DocumentVectors
from irtoolkit.indexes.nearest import PossibleBest
from irtoolkit.indexes.proposals import LONGEST, ProductBlock, Proposals
from irtoolkit.indexes.sharded import Sharded, Targets, least_keys
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.runs.order import TopDocuments, is_before

# Queries compared at once.
_QUERIES = 256


class VectorSearch(Sharded):
    """Shards of vectors that are searched as one.

    Args:
        shards: the vectors of each shard, and its documents.
        first: see `Sharded`.
    """

    def __init__(self, shards: Sequence[tuple[VectorShard, OpenShard]], first: int = 0) -> None:
        super().__init__(
            [docs for _, docs in shards], [len(vectors) for vectors, _ in shards], first
        )
        self.vectors = [shard for shard, _ in shards]

    @classmethod
    def of(cls, shards: Sequence[OpenShard], first: int = 0) -> VectorSearch:
        """Shards of vectors that are open."""
        return cls([(VectorShard.open(shard.documents.folder), shard) for shard in shards], first)

    @cached_property
    def _live(self) -> list[NDArray[np.uint8]]:
        """(d,) of each shard: 1 for documents that were not deleted."""
        return [shard.live for shard in self.shards]

    @cached_property
    def _longest(self) -> float:
        """The greatest length of a vector of all documents."""
        return max((shard.longest for shard in self.vectors), default=0.0)

    def contents(self, documents: Ints) -> DocumentVectors:
        """The vectors of some documents, which have one each."""
        parts = self.split(documents)
        vectors = []
        for number, _, places in parts:
            shard = self.vectors[number]
            vectors.append(DocumentVectors(shard.chosen(shard.starts[places])))
        return DocumentVectors.together(vectors, [rows for _, rows, _ in parts])

    def best(self, queries: QueryVectors, depth: int, fill: bool = False) -> TopDocuments:
        """The best documents of each query; all documents have a score.

        Args:
            queries: their vectors; each query has at least one.
            depth: documents of each query, at most.
        """
        depth = max(1, min(depth, self.size))
        rows: list[tuple[Ints, Floats]] = []
        for first in range(0, queries.size, _QUERIES):
            part = queries.some(first, min(queries.size, first + _QUERIES))
            near = [
                (part.some(row, row + 1), docs, depth)
                for row, docs in enumerate(self.near(part, depth))
            ]
            rows += in_threads(lambda row: self._best(*row), near)
        return TopDocuments.of_rows(rows)

    def near(self, queries: QueryVectors, depth: int) -> list[Ints]:
        """Documents of each query that may be among its best."""
        depth = min(depth, self.size)
        live = [
            np.flatnonzero(live_part) + base
            for live_part, base in zip(self._live, self.bases.tolist(), strict=False)
        ]
        live_rows = np.concatenate([np.empty(0, np.int64), *live])
        if not depth or max(self._longest, np.sqrt(queries.squares.max(initial=0))) >= LONGEST:
            return [live_rows] * queries.size
        candidates = PossibleBest(np.full(queries.size, -np.inf), depth)
        for number, shard in enumerate(self.vectors):
            live_part = self._live[number]
            for block in self._proposed(queries, shard):
                end = block.first + block.bits.shape[1]
                candidates.take(block, int(self.bases[number]), live_part[block.first : end])
        candidates.finish()
        counts, crowded = candidates.counts.tolist(), candidates.is_crowded
        return [
            live_rows
            if crowded[row] or counts[row] < 0
            else candidates.documents[row, : counts[row]].astype(np.int64)
            for row in range(queries.size)
        ]

    def _proposed(self, queries: QueryVectors, shard: VectorShard) -> Iterator[ProductBlock]:
        """Yields products with the documents of a shard, in single precision."""
        comparison = queries.comparison
        if comparison.similarity != "l2" and shard.has_one_each and queries.has_one_each:
            proposals = Proposals(shard, comparison.similarity == "cosine", half=False)
            yield from proposals.blocks(proposals.factors(queries.rows), slice(0, len(shard)))
            return
        for first, last in shard.blocks():
            scores, off = comparison.proposed(queries, shard, (first, last), self._longest)
            single = np.ascontiguousarray(scores, np.float32)
            yield ProductBlock(first, single.view(np.int32), (off, np.zeros(len(off))))

    def _scores(
        self, queries: QueryVectors, shard: VectorShard, number: int, first: int, last: int
    ) -> tuple[Floats, Floats]:
        scores, off = queries.comparison.proposed(queries, shard, (first, last), self._longest)
        live = self._live[number][first:last]
        return (scores if live.all() else np.where(live, scores, -np.inf)), off

    def _best(self, query: QueryVectors, docs: Ints, depth: int) -> tuple[Ints, Floats]:
        """The best of some documents of a query, in order."""
        return self.ordered(docs, self._exact(query, docs), depth)

    def _exact(self, query: QueryVectors, docs: Ints) -> Floats:
        """(n,) the scores of some documents of a query in double precision."""
        scores = np.empty(len(docs))
        for number, rows, places in self.split(docs):
            subset = self.vectors[number].of_documents(places)
            scores[rows] = query.comparison.scores(query, subset)[0]
        return scores

    def scores(self, queries: QueryVectors, documents: Sequence[Ints]) -> list[Any]:
        """The scores of some documents of each query."""
        return [
            self._exact(queries.some(row, row + 1), numbers)
            for row, numbers in enumerate(documents)
        ]

    def before(self, queries: QueryVectors, targets: Sequence[Targets]) -> list[Ints]:
        """How many documents are before some of each query."""
        return [
            self._before(queries.some(row, row + 1), target) for row, target in enumerate(targets)
        ]

    def _before(self, query: QueryVectors, target: Targets) -> Ints:
        before = np.zeros(len(target.scores), np.int64)
        for number, shard in enumerate(self.vectors if len(before) else ()):
            keys = self.shards[number].documents.keys
            least = least_keys(self.shards[number], target.ids)
            for first, last in shard.blocks():
                scores, off = self._scores(query, shard, number, first, last)
                for row, score in enumerate(target.scores.tolist()):
                    before[row] += (scores[0] > score + off[0]).sum()
                    near = np.flatnonzero(np.abs(scores[0] - score) <= off[0]) + first
                    others = self._exact(query, near + self.bases[number])
                    before[row] += is_before(others, keys[near], score, least[row]).sum()
        return before

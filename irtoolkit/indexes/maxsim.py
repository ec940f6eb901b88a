"""Texts of several vectors: products in few bits say which are compared exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.base.rows import by_rows
from irtoolkit.base.threads import one_thread_each
from irtoolkit.indexes.proposals import LONGEST, ProductBlock, Proposals
from irtoolkit.indexes.rounding import Packed
from irtoolkit.indexes.vectors import VectorShard

# Products that are made at once, which stay in a core's cache.
_CELLS = 1 << 19
# Vectors of queries that are worth a copy of the documents' in bf16.
_WORTH = 32


@dataclass(frozen=True, eq=False)
class MaxSimQueries:
    """Queries that score documents by the most similar vector for each of theirs.

    Attributes:
        queries: the vectors of all queries.
        starts: (q+1,) where those of each query begin.
        cosine: whether similarity is the cosine, else the product.
        total: whether similarities are summed, else the greatest counts.
        without: the similarity of a document without vectors.
    """

    queries: Packed
    starts: Ints
    cosine: bool
    total: bool
    without: float

    def is_possible(self, shard: VectorShard) -> bool:
        """Returns whether no product in single precision can overflow."""
        longest = float(np.sqrt(self.queries.squares.max(initial=0)))
        return max(shard.longest, longest) < LONGEST

    def fill(self, shard: VectorShard, scores: Floats) -> None:
        """Fills in the (q, d) scores of the documents of a shard."""
        proposals, vectors = self._proposals(shard), max(1, _CELLS // len(self.queries.vectors))
        factors = proposals.factors(self.queries)
        bounds = list(shard.blocks(vectors * max(1, shard.vectors.shape[1])))

        def part(blocks: slice) -> None:
            with proposals.multiplying():
                for first, last in bounds[blocks]:
                    begin, end = int(shard.starts[first]), int(shard.starts[last])
                    block = proposals.transposed(factors, begin, end)
                    self._fill_block(shard, (first, last), block, scores)

        with one_thread_each("blas"):
            by_rows(part, shard.vectors, len(bounds))

    def _fill_block(
        self, shard: VectorShard, bounds: tuple[int, int], block: ProductBlock, scores: Floats
    ) -> None:
        """Fills in the scores of some documents, given the products of their vectors."""
        from irtoolkit.indexes._compiled_exact import COSINE, DOT
        from irtoolkit.indexes._compiled_maxsim import most_similar

        (first, last), begin, end = bounds, block.first, block.first + len(block.bits)
        starts = np.asarray(shard.starts[first : last + 1]) - begin
        is_half = shard.vectors.dtype == np.float16
        vectors = shard.vectors[begin:end].view(np.uint16) if is_half else shard.rows(begin, end)
        docs = vectors, np.asarray(shard.squares[begin:end])
        queries = self.queries.vectors, self.queries.squares
        exact = queries, docs, COSINE if self.cosine else DOT
        aggregation = np.asarray(self.starts), self.total, self.without
        most_similar(block.bits, block.off, exact, starts, first, aggregation, scores)

    def _proposals(self, shard: VectorShard) -> Proposals:
        """Returns what multiplies the vectors of a shard; in bf16 it stays with them in memory."""
        if shard.is_mapped:
            return Proposals(shard, self.cosine, half=False)
        cached: Proposals | None = shard.prepared.get(self.cosine)
        if cached is not None:
            return cached
        # Not of the shard itself: two objects that hold each other stay in memory for longer.
        rows = Packed(shard.vectors, shard.scales, shard.squares)
        rows_shard = VectorShard(rows, shard.starts)
        proposals = Proposals(rows_shard, self.cosine, half=len(self.queries.vectors) >= _WORTH)
        if proposals.is_half:
            shard.prepared[self.cosine] = proposals
        return proposals

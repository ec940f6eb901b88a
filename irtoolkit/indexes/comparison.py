"""How queries are compared with documents by their vectors.

A score is computed in double precision from the vectors of one query and one document, as
`irtoolkit.indexes.rounding` makes possible: in memory or from a folder, alone or among others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from irtoolkit.base.cores import cores
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ints, Singles
from irtoolkit.base.threads import one_thread_each, pool
from irtoolkit.indexes.maxsim import MaxSimQueries
from irtoolkit.indexes.rounding import Packed, packed
from irtoolkit.indexes.vectors import VectorShard

Similarity = Literal["cosine", "dot", "l2"]

# Products of vectors, and vectors of documents, that one core makes at once; they stay in its cache.
_CELLS, _VECTORS = 1 << 16, 1 << 10
# Half a step of single precision at 1.
_HALF_STEP = 2.0**-24


@dataclass(frozen=True)
class VectorComparison:
    """How documents are scored by their vectors.

    A vector of the query counts with its most similar vector of the document.

    Attributes:
        similarity: "cosine", "dot" or "l2", the negated distance.
        total: whether the query's vectors are summed, else the greatest counts.
        average: whether the sum is divided by the number of the query's vectors.
        without: the similarity of a document without vectors.
    """

    similarity: Similarity
    total: bool = False
    average: bool = False
    without: float = -1.0

    def __post_init__(self) -> None:
        if self.similarity not in get_args(Similarity):
            raise InputError(
                f"no similarity {self.similarity!r}", remedy=", ".join(get_args(Similarity))
            )

    def scores(
        self, queries: QueryVectors, shard: VectorShard,
        multiply: Callable[[Singles], Floats] | None = None,
    ) -> Floats:  # fmt: skip
        """Returns the (q, d) scores of all documents of a shard.

        Args:
            queries: the queries.
            shard: the documents.
            multiply: gives the exact products of vectors with those of documents that have one each,
                computed elsewhere; by default they are computed here.

        Raises:
            InputError: a query has no vector.
        """
        if (np.diff(queries.starts) < 1).any():
            raise InputError("a query without a token cannot be compared")
        if multiply is not None:
            scores = multiply(queries.vectors)
            self._compare(scores.T, shard.squares, queries.squares)
            return scores
        scores = np.empty((queries.size, len(shard)))
        cosine = self.similarity == "cosine"
        matching = MaxSimQueries(queries.rows, queries.starts, cosine, self.total, self.without)
        if shard.has_one_each and queries.has_one_each:
            for first, last in shard.blocks():
                docs = shard.rows(first, last).astype(np.float64)
                block = np.matmul(queries.doubles, docs.T, out=scores[:, first:last])
                self._compare(block.T, shard.squares[first:last], queries.squares)
        elif self.similarity != "l2" and matching.is_possible(shard):
            matching.fill(shard, scores)
        else:
            self._match(queries, shard, scores)
        if self.average and not (shard.has_one_each and queries.has_one_each):
            scores /= np.diff(queries.starts)[:, None]
        return scores

    def _match(self, queries: QueryVectors, shard: VectorShard, scores: Floats) -> None:
        from irtoolkit.indexes._compiled_exact import matched

        many = max(1, min(_VECTORS, _CELLS // len(queries.vectors)))
        vectors = np.ascontiguousarray(queries.doubles.T)

        def part(bounds: tuple[int, int]) -> None:
            first, last = bounds
            begin, end = int(shard.starts[first]), int(shard.starts[last])
            starts = np.asarray(shard.starts[first : last + 1]) - begin
            if begin == end:
                products = np.empty((0, vectors.shape[1]))
            else:
                products = shard.rows(begin, end).astype(np.float64) @ vectors
            self._compare(products, shard.squares[begin:end], queries.squares)
            block = scores[:, first:last]
            matched(products, starts, queries.starts, self.total, self.without, block)

        with one_thread_each("blas"), pool(cores()) as workers:
            for _ in workers.map(part, shard.blocks(many * max(1, shard.vectors.shape[1]))):
                pass

    def _compare(self, products: Floats, squares: Floats, query_squares: Floats) -> None:
        """Makes (d, q) products similarities, given the squared lengths of both."""
        if self.similarity == "cosine":
            products *= _inverse(squares)[:, None]
            products *= _inverse(query_squares)
        elif self.similarity == "l2":
            products *= -2
            products += squares[:, None] + query_squares
            np.maximum(products, 0, out=products)
            np.sqrt(products, out=products)
            np.negative(products, out=products)

    def proposed(
        self, queries: QueryVectors, shard: VectorShard, block: tuple[int, int], longest: float
    ) -> tuple[Any, Floats]:
        """Returns (q, d) scores of a block of documents in single precision, which depend on what is
        beside them, and how far off each query's may be.

        Args:
            queries: the queries.
            shard, block: the documents, from the first to the last + 1 of a shard.
            longest: the greatest length of a vector of all documents.
        """
        first, last = block
        begin, end = int(shard.starts[first]), int(shard.starts[last])
        starts = np.asarray(shard.starts[first : last + 1]) - begin
        docs, vectors = shard.rows(begin, end), queries.vectors
        if not len(docs):
            docs = np.empty((0, vectors.shape[1]), np.float32)
        sizes = np.sqrt(shard.squares[begin:end]).astype(np.float32)
        lengths: Any = np.sqrt(queries.squares).astype(np.float32)
        # A sum of n products in any order, and what is done to it afterwards.
        unit = (docs.shape[1] + 16) * _HALF_STEP
        products: Any = vectors @ docs.T
        if self.similarity == "cosine":
            products *= (1 / np.where(sizes > 0, sizes, np.float32(1)))[None, :]
            products *= (1 / np.where(lengths > 0, lengths, np.float32(1)))[:, None]
            off = np.full(len(vectors), unit)
        else:
            off = unit * lengths * longest
        if self.similarity == "l2":
            squares = (lengths**2)[:, None] - 2 * products + (sizes**2)[None, :]
            wrong = unit * (lengths + longest) ** 2
            products = -np.sqrt(np.maximum(squares, 0))
            # A root amplifies the error of a small square.
            off = np.sqrt(wrong)
        products, off = self._gathered(products, off, starts, queries.starts)
        return products, np.asarray(off, np.float64) * (1 + 1e-3) + 1e-12

    def _gathered(
        self, products: Any, off: Any, starts: Ints, query_starts: Ints
    ) -> tuple[Any, Any]:
        """Returns (q, d) scores from the similarities of all vectors, and how far off they may be."""
        if not (np.diff(starts) == 1).all():
            filled = starts[1:] > starts[:-1]
            best = np.full((len(products), len(filled)), self.without, products.dtype)
            if filled.any():
                best[:, filled] = np.maximum.reduceat(products, starts[:-1][filled], axis=1)
            products = best
        gather: Any = np.add if self.total else np.maximum
        counts = np.diff(query_starts)
        if not (counts == 1).all():
            products = gather.reduceat(products, query_starts[:-1], axis=0)
            # Sums of many are rounded themselves.
            off = gather.reduceat(off, query_starts[:-1])
            if self.total:
                off = off + counts * _HALF_STEP * np.abs(products).max(axis=1, initial=0) * 2
        return (products / counts[:, None], off / counts) if self.average else (products, off)


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """The vectors of some queries, and how documents are compared with them.

    Attributes:
        vectors: (r, dimensions) of all queries end to end, rounded.
        squares: (r,) their squared lengths.
        starts: (q+1,) where the vectors of each query begin.
        comparison: how documents are scored.
    """

    vectors: Singles
    squares: Floats
    starts: Ints
    comparison: VectorComparison

    @classmethod
    def of(cls, vectors: Any, starts: Ints, comparison: VectorComparison) -> QueryVectors:
        """Returns queries with vectors as a model makes them."""
        rows = packed(vectors)
        return cls(rows.vectors, rows.squares, starts, comparison)

    @property
    def rows(self) -> Packed:
        """The vectors and their squared lengths."""
        return Packed(self.vectors, None, self.squares)

    @property
    def doubles(self) -> Floats:
        """(r, dimensions) the vectors in double precision."""
        return self.vectors.astype(np.float64)

    @property
    def has_one_each(self) -> bool:
        """Whether every query has one vector."""
        return len(self.vectors) == self.size

    @property
    def size(self) -> int:
        """Number of queries."""
        return len(self.starts) - 1

    def chosen(self, rows: Ints) -> QueryVectors:
        """Returns some queries, which have one vector each."""
        starts = np.arange(len(rows) + 1)
        return replace(self, vectors=self.vectors[rows], squares=self.squares[rows], starts=starts)

    def some(self, first: int, last: int) -> QueryVectors:
        """Some queries that follow each other."""
        begin, end = self.starts[first], self.starts[last]
        rows = self.vectors[begin:end], self.squares[begin:end]
        return replace(
            self, vectors=rows[0], squares=rows[1], starts=self.starts[first : last + 1] - begin
        )


def _inverse(squares: Floats) -> Floats:
    """(n,) 1 divided by each length, and 0 for a length of 0."""
    lengths = np.sqrt(squares)
    return np.divide(1, lengths, out=np.zeros(len(lengths)), where=lengths > 0)

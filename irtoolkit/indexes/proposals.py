"""Products in few bits of queries and documents, and how far off they can be.

With d the vector of a document and d' the same in bf16, q and q' those of a query:
|q'd' - qd| <= |q'| |d' - d| + |q' - q| |d|. Both differences are measured. To this comes what single
precision loses in a sum, and what rounding the sum to bf16 does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.ids import Floats, Singles
from irtoolkit.base.rows import by_rows
from irtoolkit.base.threads import one_thread_each
from irtoolkit.indexes.rounding import Packed
from irtoolkit.indexes.vectors import VectorShard

# Products that are made at once, which stay in a core's cache; and of how many documents.
_CELLS, _DOCS = 1 << 19, (1 << 10, 1 << 13)
# Documents that are put into bf16 at once.
_ROWS = 1 << 17
# Half a step of single precision at 1, and of bf16.
_HALF_STEP, _HALF_STEP_OF_BF16 = 2.0**-24, 2.0**-8
# The greatest number of single precision, and the least that is normal.
_LARGEST, _LEAST_NORMAL = np.finfo(np.float32).max, 2.0**-126
# One in so many documents, and at least so many, are multiplied to guess how high the best are.
_SHARE, _LEAST = 16, 1 << 11
# By so many standard deviations the documents in a sample may be fewer than those that are expected.
_MARGIN = 3.5
# Lengths above which a product in single precision may overflow.
LONGEST = 1e15


class ProductBlock(NamedTuple):
    """Products of queries and some documents.

    Attributes:
        first: the number of the first document.
        bits: (q, b) products in single precision or bf16, as whole numbers.
        off: how far off they can be; see `Factors`.
    """

    first: int
    bits: Any
    off: tuple[Floats, Floats]


class Factors(NamedTuple):
    """Queries as they are multiplied.

    Attributes:
        vectors: (q, dimensions) in single precision or bf16.
        off: (q,) how far off each query's products can be before they are rounded to bf16, and (q,)
            by what part of itself a product is rounded.
    """

    vectors: Any
    off: tuple[Floats, Floats]


class Proposals:
    """The vectors of a shard, ready to be multiplied fast.

    Args:
        shard: the documents; to search them, with one vector each.
        cosine: whether vectors are scaled to length 1.
        half: whether documents are held in bf16 where the processor multiplies it fast.
    """

    def __init__(self, shard: VectorShard, cosine: bool, half: bool = True) -> None:
        self._shard, self._cosine = shard, cosine
        lengths = np.sqrt(shard.squares)
        self._greatest = 1.0 if cosine else float(lengths.max(initial=0))
        self._scales = np.minimum(_scales(lengths), _LARGEST) if cosine else None
        self._half: Any = None
        self._changed = 0.0
        if half and _has_fast_bf16():
            self._make_half()

    @property
    def is_half(self) -> bool:
        """Whether vectors are held in bf16."""
        return self._half is not None

    def blocks(self, factors: Factors, docs: slice) -> Iterator[ProductBlock]:
        """Yields the products with some documents that follow each other.

        A block is overwritten by the next: memory that is there already is filled faster.
        """
        least, most = _DOCS
        step = max(least, min(most, _CELLS // len(factors.vectors)))
        room = _memory(factors.vectors, step)
        with self.multiplying():
            for first in range(docs.start, docs.stop, step):
                others, scales = self._others(first, min(docs.stop, first + step))
                bits = _bits(factors.vectors, others, room, scales)
                yield ProductBlock(first, bits, factors.off)

    def transposed(self, factors: Factors, first: int, last: int) -> ProductBlock:
        """Returns the (b, r) products of some vectors with all of the queries.

        To be called within `multiplying`.
        """
        others, scales = self._others(first, last)
        room = _memory(others, len(factors.vectors))
        scales = None if scales is None else scales[:, None]
        return ProductBlock(first, _bits(others, factors.vectors, room, scales), factors.off)

    def multiplying(self) -> AbstractContextManager[object]:
        """Returns a context in which the calling thread multiplies vectors in bf16 alone.

        Threads of OpenMP would wait for more work in a loop, and keep others from theirs. To set their
        number takes as long as many products.
        """
        if not self.is_half:
            return nullcontext()
        import torch

        torch.get_num_threads()  # a thread that has not called it yet forgets its limit
        return one_thread_each("openmp")

    def guess(self, factors: Factors, depth: int) -> Floats:
        """Returns (q,) scores that somewhat more than `depth` documents should reach."""
        from irtoolkit.indexes._compiled_nearest import greatest_values

        vectors, (base, share) = factors
        sample, guesses = self._sample, np.empty(len(vectors))
        expected = depth * len(sample) / len(self._shard)
        rank = min(len(sample), int(expected + _MARGIN * expected**0.5) + 2)

        def part(rows: slice) -> None:
            with self.multiplying():
                products = _bits(vectors[rows], sample, _memory(vectors[rows], len(sample)))
            greatest_values(products, rank, guesses[rows])

        by_rows(part, self._shard.vectors, len(guesses), slices=1)
        lowest: Floats = guesses - base - share * np.abs(guesses)
        return lowest

    @cached_property
    def _sample(self) -> Any:
        """Some documents from everywhere."""
        step = max(1, len(self._shard) // max(_LEAST, len(self._shard) // _SHARE))
        if self._half is not None:
            return self._half[::step].contiguous()
        sample = self._shard.chosen(np.arange(0, len(self._shard), step))
        return sample if self._scales is None else sample * self._scales[::step, None]

    def _others(self, first: int, last: int) -> tuple[Any, Singles | None]:
        """Returns (b, dimensions) documents as they are multiplied, and (b,) by what their products
        are multiplied, if at all: they are fewer numbers than the vectors."""
        if self._half is not None:
            return self._half[first:last], None
        scales = None if self._scales is None else self._scales[first:last]
        return self._shard.rows(first, last), scales

    def factors(self, queries: Packed) -> Factors:
        """Returns queries as they are multiplied."""
        vectors, lengths = queries.vectors, np.sqrt(queries.squares)
        scales = _scales(lengths) if self._cosine else np.ones(len(vectors), np.float32)
        sizes = (lengths * scales) * (1 + 1e-6)
        # A sum is added up in any order, and of scaled vectors; it may be cut off instead of rounded.
        off = (2 * vectors.shape[1] + 64) * _HALF_STEP * sizes * self._greatest + 1e-30
        if self._half is None:
            if self._scales is not None:
                # Products below the least normal number may become 0 before they are scaled.
                off += vectors.shape[1] * _LEAST_NORMAL * float(self._scales.max(initial=0))
            return Factors(vectors * scales[:, None], (off, np.zeros(len(vectors))))
        half = _bf16(vectors.shape)
        changed = _halve(vectors, scales, half)
        sizes = sizes + changed
        off = (off + sizes * self._changed + changed * self._greatest) * (1 + 1e-6)
        return Factors(half, (off, np.full(len(vectors), _HALF_STEP_OF_BF16 * 1.01)))

    def _make_half(self) -> None:
        count, width = self._shard.vectors.shape
        self._half = _bf16((count, width))
        scales = np.ones(count, np.float32) if self._scales is None else self._scales
        for first in range(0, count, _ROWS):
            last = min(count, first + _ROWS)
            changed = _halve(
                self._shard.rows(first, last), scales[first:last], self._half[first:last]
            )
            self._changed = max(self._changed, float(changed.max(initial=0)))


def _halve(vectors: Singles, scales: Singles, halves: Any) -> Floats:
    """Fills in vectors, each times a scale, in bf16; returns (n,) the lengths of what that changes."""
    import torch

    from irtoolkit.indexes._compiled_exact import halve_rows

    bits, changed = halves.view(torch.int16).numpy().view(np.uint16), np.empty(len(vectors))
    by_rows(
        lambda rows: halve_rows(vectors[rows], scales[rows], bits[rows], changed[rows]), vectors
    )
    return changed * (1 + 1e-6)


def _bf16(shape: tuple[int, ...]) -> Any:
    """Returns memory for numbers in bf16."""
    import torch

    return torch.empty(shape, dtype=torch.bfloat16)


def _memory(rows: Any, others: int) -> Any:
    """Returns memory for the products of rows and so many others."""
    shape = (len(rows) * others,)
    return np.empty(shape, np.float32) if isinstance(rows, np.ndarray) else _bf16(shape)


def _bits(rows: Any, others: Any, memory: Any, scales: Singles | None = None) -> Any:
    """Returns the products of rows and others, multiplied by some scales, as whole numbers."""
    out = memory[: len(rows) * len(others)].reshape(len(rows), len(others))
    if isinstance(rows, np.ndarray):
        products = np.matmul(rows, others.T, out=out)
        if scales is not None:
            products *= scales
        return products.view(np.int32)
    import torch

    return torch.mm(rows, others.T, out=out).view(torch.int16).numpy()


def _scales(lengths: Floats) -> Singles:
    """Returns (n,) by what vectors are multiplied to have the length 1."""
    scales: Singles = (1 / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scales


def _has_fast_bf16() -> bool:
    """Whether torch is loaded, and the processor multiplies bf16 faster than single precision."""
    torch: Any = sys.modules.get("torch")
    check = getattr(torch.cpu, "_is_avx512_bf16_supported", None) if torch is not None else None
    return bool(check is not None and check())

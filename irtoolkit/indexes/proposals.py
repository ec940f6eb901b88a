"""Products in few bits of queries and documents, and how far off they can be.

With d the vector of a document and d' the same in bf16, q and q' those of a query:
|q'd' - qd| <= |q'| |d' - d| + |q' - q| |d|. Both differences are measured. To this comes what single
precision loses in a sum, and what rounding the sum to bf16 does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Floats, Singles
from irtoolkit.base.rows import by_rows
from irtoolkit.base.threads import one_thread_each
from irtoolkit.indexes.rounding import Packed
from irtoolkit.indexes.vectors import VectorShard

# Documents whose products are made at once; with some queries they stay in the processor's cache.
_DOCS = 1 << 13
# Documents that are put into bf16 at once.
_ROWS = 1 << 17
# Half a step of single precision at 1, and of bf16.
_HALF_STEP, _HALF_STEP_OF_BF16 = 2.0**-24, 2.0**-8
# One in so many documents, and at least so many, are multiplied to guess how high the best are.
_SHARE, _LEAST = 16, 1 << 11
# By so many standard deviations the documents in a sample may be fewer than those that are expected.
_MARGIN = 3.5
# Lengths above which a product in single precision may overflow.
LONGEST = 1e15


class Block(NamedTuple):
    """Products of queries and some documents.

    Attributes:
        first: the number of the first document.
        bits: (q, b) products in single precision or bf16, as whole numbers.
        off: (q,) how far off each query's can be before it is rounded to bf16, and (q,) by what part
            of itself a product is rounded.
    """

    first: int
    bits: Any
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
        self._lengths = np.sqrt(shard.squares)
        self._greatest = 1.0 if cosine else float(self._lengths.max(initial=0))
        self._half: Any = None
        self._changed = 0.0
        if half and _has_fast_bf16():
            self._make_half()

    @property
    def is_half(self) -> bool:
        """Whether vectors are held in bf16."""
        return self._half is not None

    def blocks(self, queries: Packed) -> Iterator[Block]:
        """Yields the products with all documents."""
        asked, off = self._asked(queries)
        for first in range(0, len(self._shard), _DOCS):
            last = min(len(self._shard), first + _DOCS)
            docs = self._scaled(first, last) if self._half is None else self._half[first:last]
            yield Block(first, _bits(asked, docs), off)

    def transposed(self, queries: Packed, first: int, last: int) -> Block:
        """Returns the (b, r) products of some vectors with all of the queries."""
        asked, off = self._asked(queries)
        docs = self._scaled(first, last) if self._half is None else self._half[first:last]
        return Block(first, _bits(docs, asked), off)

    def guess(self, queries: Packed, depth: int) -> Floats:
        """Returns (q,) scores that somewhat more than `depth` documents should reach."""
        from irtoolkit.indexes._compiled_nearest import greatest_values

        asked, (base, share) = self._asked(queries)
        expected = depth * len(self._sample) / len(self._shard)
        rank = min(len(self._sample), int(expected + _MARGIN * expected**0.5) + 2)
        bits, made = _bits(asked, self._sample), np.empty(len(asked))
        by_rows(lambda rows: greatest_values(bits[rows], rank, made[rows]), bits)
        lowest: Floats = made - base - share * np.abs(made)
        return lowest

    @cached_property
    def _sample(self) -> Any:
        """Some documents from everywhere."""
        step = max(1, len(self._shard) // max(_LEAST, len(self._shard) // _SHARE))
        if self._half is not None:
            return self._half[::step].contiguous()
        blocks = range(0, len(self._shard), _DOCS * step)
        return np.concatenate([self._scaled(at, at + _DOCS * step)[::step] for at in blocks])

    def _scaled(self, first: int, last: int) -> Singles:
        """(b, dimensions) documents as they are multiplied."""
        rows = self._shard.rows(first, last)
        return _unit(rows, self._lengths[first:last]) if self._cosine else rows

    def _asked(self, queries: Packed) -> tuple[Any, tuple[Floats, Floats]]:
        """Returns queries as they are multiplied, and how far off their products can be."""
        asked = queries.vectors
        if self._cosine:
            asked = _unit(asked, np.sqrt(queries.squares))
        sizes = np.linalg.norm(asked.astype(np.float64), axis=1) * (1 + 1e-6)
        # A sum is added up in any order, and of scaled vectors; it may be cut off instead of rounded.
        off = (2 * asked.shape[1] + 64) * _HALF_STEP * sizes * self._greatest + 1e-30
        if self._half is None:
            return asked, (off, np.zeros(len(asked)))
        import torch

        half = torch.empty(asked.shape, dtype=torch.bfloat16)
        changed = _halve(asked, np.ones(len(asked), np.float32), half)
        sizes = sizes + changed
        off = (off + sizes * self._changed + changed * self._greatest) * (1 + 1e-6)
        return half, (off, np.full(len(asked), _HALF_STEP_OF_BF16 * 1.01))

    def _make_half(self) -> None:
        import torch

        count, width = self._shard.vectors.shape
        self._half = torch.empty((count, width), dtype=torch.bfloat16)
        scales = _scales(self._lengths) if self._cosine else np.ones(count, np.float32)
        for first in range(0, count, _ROWS):
            last = min(count, first + _ROWS)
            changed = _halve(
                self._shard.rows(first, last), scales[first:last], self._half[first:last]
            )
            self._changed = max(self._changed, float(changed.max(initial=0)))


def _halve(vectors: Singles, scales: Singles, halves: Any) -> Floats:
    """Fills in vectors, each times a scale, in bf16; returns (n,) the lengths of what that changes."""
    import torch

    from irtoolkit.indexes._compiled_vectors import halve_rows

    bits, changed = halves.view(torch.int16).numpy().view(np.uint16), np.empty(len(vectors))
    by_rows(
        lambda rows: halve_rows(vectors[rows], scales[rows], bits[rows], changed[rows]), vectors
    )
    return changed * (1 + 1e-6)


def _bits(rows: Any, others: Any) -> Any:
    """Returns the products of rows and others as whole numbers."""
    if isinstance(rows, np.ndarray):
        return (rows @ others.T).view(np.int32)
    import torch

    made = torch.empty((len(rows), len(others)), dtype=torch.bfloat16)
    bits, share = made.view(torch.int16).numpy(), -(-len(rows) // cores())

    def part(numbers: slice) -> None:
        own = slice(share * numbers.start, share * numbers.stop)
        torch.get_num_threads()  # a thread that has not called it yet forgets its limit
        # Threads of OpenMP would wait for more work in a loop, and keep others from theirs.
        with one_thread_each("openmp"):
            torch.mm(rows[own], others.T, out=made[own])

    by_rows(part, bits, -(-len(rows) // share))
    return bits


def _unit(vectors: Singles, lengths: Floats) -> Singles:
    """Returns vectors of length 1, or 0, in single precision."""
    return vectors * _scales(lengths)[:, None]


def _scales(lengths: Floats) -> Singles:
    """Returns (n,) by what vectors are multiplied to have the length 1."""
    scales: Singles = (1 / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return scales


def _has_fast_bf16() -> bool:
    """Whether torch is loaded, and the processor multiplies bf16 faster than single precision."""
    torch: Any = sys.modules.get("torch")
    known = getattr(torch.cpu, "_is_avx512_bf16_supported", None) if torch is not None else None
    return bool(known is not None and known())

"""Vectors whose products are exact, so that a score depends on nothing but its two texts.

The components of a vector become whole multiples of a power of two: of so many bits that the sum of
the products of two such vectors fits into the 53 bits of a double. No partial sum is then rounded, and
every library, processor and block of a matrix gives the same bits. A component is off by at most 2^-22
of the greatest one, of 384 dimensions, which is what single precision keeps of a score.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from irtoolkit.base.ids import Floats, Singles
from irtoolkit.base.rows import by_rows

VectorPrecision = Literal["fp32", "fp16", "int8"]
KINDS: dict[VectorPrecision, Any] = {"fp32": np.float32, "fp16": np.float16, "int8": np.int8}
# Bits of a double, and of the scale of int8 codes: times the 7 bits of a code they are few enough.
_BITS, _BITS_OF_SCALE = 53, 11
# Numbers that are rounded at once.
_NUMBERS = 1 << 20


class Packed(NamedTuple):
    """Vectors as they are stored.

    Attributes:
        vectors: (n, dimensions) numbers or codes.
        scales: (n,) what int8 codes are multiplied by, or None.
        squares: (n,) the squared length of each vector, which is exact.
    """

    vectors: Any
    scales: Singles | None
    squares: Floats


def packed(vectors: Any, stored: VectorPrecision = "fp32") -> Packed:
    """Returns (n, dimensions) vectors rounded and in the precision in which they are stored."""
    single = np.ascontiguousarray(vectors, np.float32)
    if stored == "int8":
        return _codes(single)
    if stored == "fp16":
        return _halves(single)
    rounded, squares = _rounded(single)
    return Packed(rounded, None, squares)


def rounded(vectors: Any) -> Singles:
    """Returns (n, dimensions) vectors of which sums of products are exact in double precision."""
    return _rounded(np.ascontiguousarray(vectors, np.float32))[0]


def _rounded(single: Singles) -> tuple[Singles, Floats]:
    """Returns vectors rounded, and their squared lengths."""
    from irtoolkit.indexes._compiled_exact import round_rows

    bits = (_BITS - max(0, single.shape[1] - 1).bit_length()) // 2
    rounded, squares = np.empty_like(single), np.empty(len(single))
    by_rows(lambda rows: round_rows(single[rows], bits, rounded[rows], squares[rows]), single)
    return rounded, squares


def squares_of(vectors: Any) -> Floats:
    """Returns (n,) the squared lengths of rounded vectors."""
    squares = np.empty(len(vectors))
    for rows in _blocks(vectors):
        wide = vectors[rows].astype(np.float64)
        squares[rows] = np.einsum("ij,ij->i", wide, wide)
    return squares


def _halves(single: Singles) -> Packed:
    halves, wide = np.empty(single.shape, np.float16), np.empty_like(single)

    def part(rows: slice) -> None:
        halves[rows] = single[rows]
        wide[rows] = halves[rows]

    by_rows(part, single)
    rounded, squares = _rounded(wide)
    # Vectors of length 1 are hardly ever changed.
    stored = halves if np.array_equal(rounded, wide) else rounded.astype(np.float16)
    return Packed(stored, None, squares)


def _codes(single: Singles) -> Packed:
    greatest = np.abs(single).max(axis=1, initial=0).astype(np.float64)
    fractions, exponents = np.frexp(greatest / 127)
    # Rounded up, so that no code is above 127.
    wide = np.ldexp(np.ceil(np.ldexp(fractions, _BITS_OF_SCALE)), exponents - _BITS_OF_SCALE)
    scales = wide.astype(np.float32)
    codes = np.empty(single.shape, np.int8)
    for rows in _blocks(single):
        divisors = np.where(scales[rows] > 0, scales[rows], 1)[:, None]
        codes[rows] = np.rint(single[rows] / divisors).clip(-127, 127)
    return Packed(codes, scales, squares_of(codes) * scales.astype(np.float64) ** 2)


def _blocks(vectors: Any) -> Iterator[slice]:
    """Yields the rows of some vectors at a time."""
    step = max(1, _NUMBERS // max(1, vectors.shape[1]))
    for first in range(0, len(vectors), step):
        yield slice(first, first + step)

"""The compiled loops over vectors: rounding, and gathering the similarities of several of a text."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, cache=True, fastmath={"nnan"})  # type: ignore[untyped-decorator]
def matched(
    similarities: Any, doc_starts: Any, query_starts: Any, total: bool, without: float, scores: Any
) -> None:
    """Fills in (q, d) scores: the greatest similarity over each document's rows, summed over each
    query's columns in their order, or the greatest of these too."""
    width = similarities.shape[1]
    best = np.empty(width)
    for doc in range(len(doc_starts) - 1):
        best[:] = without
        if doc_starts[doc] < doc_starts[doc + 1]:
            best[:] = similarities[doc_starts[doc]]
        for row in range(doc_starts[doc] + 1, doc_starts[doc + 1]):
            for column in range(width):
                value = similarities[row, column]
                best[column] = value if value > best[column] else best[column]
        for query in range(len(query_starts) - 1):
            score = best[query_starts[query]]
            for column in range(query_starts[query] + 1, query_starts[query + 1]):
                score = score + best[column] if total else max(score, best[column])
            scores[query, doc] = score


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # type: ignore[untyped-decorator]
def round_rows(vectors: Any, bits: int, rounded: Any, squares: Any) -> None:
    """Fills in vectors in multiples of a power of two, and their squared lengths.

    The greatest component of a vector has so many bits. All sums are exact, in whatever order.
    """
    whole = vectors.view(np.int32)
    greatest = np.empty(1, np.int32)
    value = greatest.view(np.float32)
    for row in range(len(vectors)):
        top = np.int32(0)
        for column in range(vectors.shape[1]):
            top = max(top, np.int32(whole[row, column] & np.int32(0x7FFFFFFF)))
        greatest[0] = top
        exponent = math.frexp(np.float64(value[0]))[1] if np.isfinite(value[0]) else 0
        unit = math.ldexp(1.0, exponent - bits)
        times, total = 1 / unit, 0.0
        for column in range(vectors.shape[1]):
            near = np.rint(np.float64(vectors[row, column]) * times) * unit
            rounded[row, column] = near
            total += near * near
        squares[row] = total


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # type: ignore[untyped-decorator]
def halve_rows(vectors: Any, scales: Any, halves: Any, changed: Any) -> None:
    """Fills in the bits of vectors in bf16, each times a scale, and the lengths of what that changes."""
    scaled = np.empty(vectors.shape[1], np.float32)
    bits = scaled.view(np.uint32)
    for row in range(len(vectors)):
        scale, total = scales[row], 0.0
        for column in range(vectors.shape[1]):
            scaled[column] = vectors[row, column] * scale
        for column in range(vectors.shape[1]):
            odd = (bits[column] >> np.uint32(16)) & np.uint32(1)
            halves[row, column] = np.uint32(bits[column] + np.uint32(0x7FFF) + odd) >> np.uint32(16)
        for column in range(vectors.shape[1]):
            value = scaled[column]
            bits[column] = np.uint32(halves[row, column]) << np.uint32(16)
            gap = np.float64(scaled[column]) - np.float64(value)
            total += gap * gap
        changed[row] = math.sqrt(total)

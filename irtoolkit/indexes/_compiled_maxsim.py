"""The compiled loop of late interaction: the most similar vector of a document, for each of a query.

Products in few bits say which vectors of a document can be the most similar; these alone are compared
exactly. Products are compared as whole numbers that ascend with them.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.indexes._compiled_exact import exact_score
from irtoolkit.indexes._compiled_nearest import needed


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _ascending(rows: Any) -> None:
    """Makes the bits of products whole numbers that ascend with them."""
    shift = 8 * rows.itemsize - 1
    mask = (1 << shift) - 1
    for row in range(len(rows)):
        for column in range(rows.shape[1]):
            rows[row, column] ^= (rows[row, column] >> shift) & mask


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _greatest(rows: Any, bounds: Any, first_rows: Any) -> None:
    """Fills in the greatest number of each column, and the first row that has it."""
    for column in range(len(bounds)):
        bounds[column], first_rows[column] = rows[0, column], 0
    for row in range(1, len(rows)):
        for column in range(len(bounds)):
            is_greater = rows[row, column] > bounds[column]
            bounds[column] = rows[row, column] if is_greater else bounds[column]
            first_rows[column] = row if is_greater else first_rows[column]


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _lower(rows: Any, off: Any, bounds: Any, counts: Any) -> None:
    """Lowers greatest products to what the greatest similarity reaches; counts what reaches that.

    `off` is that of `sift`.
    """
    shift, mask = 32 - 8 * rows.itemsize, (1 << (8 * rows.itemsize - 1)) - 1
    bits = np.empty(1, np.int32)
    value = bits.view(np.float32)
    for column in range(len(bounds)):
        number = np.int64(bounds[column])
        bits[0] = (number ^ ((number >> 63) & mask)) << shift
        base, share = off[0][column], off[1][column]
        least = np.float64(value[0]) - base - share * abs(value[0])
        value[0] = needed(least, base, share)
        number = np.int64(bits[0])
        bounds[column] = (number ^ ((number >> 31) & 0x7FFFFFFF)) >> shift
        counts[column] = 0
    for row in range(len(rows)):
        for column in range(len(bounds)):
            counts[column] += np.int32(rows[row, column] >= bounds[column])


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _widen(vector: Any, wide: Any) -> None:
    """Fills in a vector in single precision, given in it or as the bits of half precision."""
    if vector.itemsize == 4:
        for column in range(len(vector)):
            wide[column] = vector[column]
        return
    bits = wide.view(np.uint32)
    for column in range(len(vector)):
        half = np.uint32(vector[column])
        # The exponents of single precision begin 112 lower.
        bits[column] = (half & np.uint32(0x8000)) << np.uint32(16)
        bits[column] |= (half & np.uint32(0x7FFF)) << np.uint32(13)
        wide[column] *= np.float32(2.0**112)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def most_similar(
    block: Any, off: Any, exact: Any, starts: Any, first: int, aggregation: Any, scores: Any
) -> None:
    """Fills in the scores of some documents.

    Args:
        block: (b, r) bits of the products of their vectors with those of the queries; overwritten.
        off: (r,) and (r,): how far off a product can be, and what part of itself it is rounded by.
        exact: the (vectors, squares) of the queries and of the block, and the kind of similarity; the
            block's in single precision, or the bits of half precision.
        starts: (d+1,) where the vectors of each document begin in the block.
        first: the number of the first document.
        aggregation: (starts, total, without): where the vectors of each query begin, whether they are summed,
            and the similarity of a document without vectors.
        scores: (q, n) of all documents.
    """
    queries, docs, kind = exact
    query_starts, total, without = aggregation
    width = block.shape[1]
    bounds, best = np.empty(width, block.dtype), np.empty(width)
    first_rows, counts = np.empty(width, np.int32), np.empty(width, np.int32)
    wide = np.empty(docs[0].shape[1], np.float32)
    for doc in range(len(starts) - 1):
        begin, end = starts[doc], starts[doc + 1]
        best[:] = without if begin == end else -np.inf
        if begin < end:
            rows = block[begin:end]
            _ascending(rows)
            _greatest(rows, bounds, first_rows)
            _lower(rows, off, bounds, counts)
            for column in range(width):
                vector, row = (queries[0][column], queries[1][column]), first_rows[column]
                while counts[column]:
                    if rows[row, column] >= bounds[column]:
                        position = begin + row
                        _widen(docs[0][position], wide)
                        value = exact_score(*vector, wide, docs[1][position], kind)
                        best[column] = max(best[column], value)
                        counts[column] -= 1
                    row = row + 1 if row + 1 < len(rows) else 0
        for query in range(len(query_starts) - 1):
            score = best[query_starts[query]]
            for column in range(query_starts[query] + 1, query_starts[query + 1]):
                score = score + best[column] if total else max(score, best[column])
            scores[query, first + doc] = score

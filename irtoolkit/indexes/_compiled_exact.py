"""The compiled loops over vectors: rounding, and exact scores, whose sums have no error and so no order."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

# Documents whose vectors stay in a core's cache.
STAY = 1024
COSINE, DOT = 0, 1


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # type: ignore[untyped-decorator]
def _products(query: Any, vectors: Any, docs: Any, out: Any) -> None:
    """Fills in the products of rounded vectors, added up in the precision of the query.

    In double precision they are exact, in whatever order they are added up. Four at a time, so that
    memory is waited for less often.
    """
    last, nothing = len(docs) - 1, query.dtype.type(0)
    for first in range(0, len(docs), 4):
        row_a, row_b = vectors[docs[first]], vectors[docs[min(first + 1, last)]]
        row_c, row_d = vectors[docs[min(first + 2, last)]], vectors[docs[min(first + 3, last)]]
        a, b, c, d = nothing, nothing, nothing, nothing
        for column in range(len(query)):
            component = query[column]
            a += component * row_a[column]
            b += component * row_b[column]
            c += component * row_c[column]
            d += component * row_d[column]
        out[first] = a
        out[min(first + 1, last)] = b
        out[min(first + 2, last)] = c
        out[min(first + 3, last)] = d


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _similarity(product: float, square: float, query_square: float, kind: int) -> float:
    """Returns what `Comparison` makes of a product and both squared lengths, in the same steps."""
    if kind == COSINE:
        inverse = 1 / np.sqrt(square) if square > 0 else 0.0
        product = product * inverse * (1 / np.sqrt(query_square) if query_square > 0 else 0.0)
    return product


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def scores_of(query: Any, query_square: float, docs: Any, kind: int, places: Any, out: Any) -> None:
    """Fills in the scores of some documents, exact ones if the query is in double precision.

    `docs` are the (vectors, squares) of all.
    """
    vectors, squares = docs
    _products(query, vectors, places, out)
    for row in range(len(places)):
        out[row] = _similarity(out[row], squares[places[row]], query_square, kind)


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # type: ignore[untyped-decorator]
def _product(first: Any, second: Any) -> float:
    total = 0.0
    for column in range(len(first)):
        total += np.float64(first[column]) * np.float64(second[column])
    return total


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def exact_score(query: Any, query_square: float, doc: Any, square: float, kind: int) -> Any:
    """Returns the similarity of two vectors, of which the squared lengths are given."""
    return _similarity(_product(query, doc), square, query_square, kind)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def undecided(
    query: Any, query_square: float, docs: Any, kind: int, places: Any, score: float, out: Any
) -> tuple[int, int]:
    """Compares the scores of some documents with another in single precision.

    Those that it cannot decide about are moved to the beginning of `places`; `out` is memory.

    Returns:
        How many documents have a greater score, and how many are not decided about.
    """
    scores_of(query, query_square, docs, kind, places, out)
    # A sum in any order, and the steps after it.
    unit = (len(query) + 16) * 2.0**-24
    greater, left = 0, 0
    for row in range(len(places)):
        length = np.sqrt(docs[1][places[row]] * query_square)
        off = unit * length + 1e-30
        if kind == COSINE:
            off = off / length if length > 0 else np.inf
        greater += out[row] - score > off
        places[left] = places[row]
        left += abs(out[row] - score) <= off
    return greater, left


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def exact_rows(
    queries: Any, docs: Any, kind: int, pairs: Any, begin: int, end: int, out: Any
) -> None:
    """Fills in the scores of those of some pairs whose document is between two numbers.

    `queries` are (vectors in double precision, squares), `docs` (vectors, squares). `pairs` are (q, m)
    documents of each query, ascending, and (q,) how many. Some documents are compared with all queries
    before the next are.
    """
    places, counts = pairs
    cursors = np.empty(len(counts), np.int64)
    for row in range(len(counts)):
        cursors[row] = np.searchsorted(places[row, : counts[row]], begin)
    for start in range(begin, end, STAY):
        stop = min(end, start + STAY)
        for row in range(len(counts)):
            first, count = cursors[row], counts[row]
            last = first
            while last < count and places[row, last] < stop:
                last += 1
            if last > first:
                query_square, part = queries[1][row], places[row, first:last]
                scores_of(queries[0][row], query_square, docs, kind, part, out[row, first:last])
                cursors[row] = last


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

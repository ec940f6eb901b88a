"""The compiled loops of exact search: products in few bits propose documents, exact ones decide.

Products are compared as whole numbers, the bits that they have in memory, many at a time. Of two
positive ones the greater has the greater bits; of two negative ones it has the lesser.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.runs._order_kernels import greatest_at

# Products that are compared at a time.
_PART = 64
# Documents whose vectors stay in a core's cache.
_STAY = 512
COSINE, DOT = 0, 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _bits_below(value: float, block: Any) -> Any:
    """Returns the bits of a value as a block has them; rounded downwards."""
    single = np.empty(1, np.float32)
    single[0] = value
    bits = np.int64(single.view(np.int32)[0])
    bits ^= (bits >> 31) & 0x7FFFFFFF
    bits >>= 8 * (4 - block.itemsize)
    bits ^= (bits >> 63) & ((1 << (8 * block.itemsize - 1)) - 1)
    typed = np.empty(1, block.dtype)
    typed[0] = bits
    return typed[0]


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _at_least(part: Any, bound: Any) -> int:
    """Returns how many products are not below a bound."""
    count = np.int16(0)
    if bound >= 0:
        for at in range(len(part)):
            count = np.int16(count + np.int16(part[at] >= bound))
    else:
        for at in range(len(part)):
            count = np.int16(count + np.int16((part[at] >= 0) | (part[at] <= bound)))
    return int(count)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _above(part: Any, bound: Any) -> int:
    """Returns how many products are above a bound."""
    count = np.int16(0)
    if bound >= 0:
        for at in range(len(part)):
            count = np.int16(count + np.int16(part[at] > bound))
    else:
        for at in range(len(part)):
            count = np.int16(count + np.int16((part[at] >= 0) | (part[at] < bound)))
    return int(count)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _hits(part: Any, low: Any, high: Any, hits: Any) -> int:
    """Notes where products are from one bound to another; returns how many.

    What is noted is overwritten if it was none: a branch that is guessed wrong costs more.
    """
    count = 0
    for at in range(len(part)):
        bits = part[at]
        hits[count] = at
        if low >= 0:
            count += (bits >= low) & (bits <= high)
        elif high >= 0:
            count += ((bits >= 0) & (bits <= high)) | ((bits < 0) & (bits <= low))
        else:
            count += (bits <= low) & (bits >= high)
    return count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _needed(bound: float, base: float, share: float) -> float:
    """Returns a value below which no product v stands for a score that reaches a bound.

    It stands for scores up to v + base + share |v|.
    """
    need = bound - base
    return need - 2 * share * abs(need) if need > -np.inf else need


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def sift(block: Any, first: int, live: Any, off: Any, kept: Any, least: Any) -> None:
    """Keeps the documents of a block that may be among the best.

    Args:
        block: (q, b) bits of products in single precision (int32) or in bf16 (int16).
        first: the number of the first document.
        live: (b,) whether each document may be found; of length 0 where all may.
        off: (q,) and (q,): how far off a product can be, and what part of itself it is rounded by.
        kept: (docs, lower, upper, counts): (q, room) documents with bounds of their scores, and (q,)
            how many; a count above the room says that there was none.
        least: (q,) what at least k documents of each query reach; and k.
    """
    docs, counts = kept[0], kept[3]
    bounds, k = least
    width, room = block.shape[1], docs.shape[1]
    shift = 8 * (4 - block.itemsize)
    greatest = _bits_below(np.inf, block)
    hits = np.empty(_PART, np.int64)
    bits = np.empty(1, np.int32)
    value = bits.view(np.float32)
    for row in range(len(block)):
        if counts[row] > room:
            continue
        base, share = off[0][row], off[1][row]
        bound = _bits_below(_needed(bounds[row], base, share), block)
        count = counts[row]
        for begin in range(0, width, _PART):
            part = block[row, begin : begin + _PART]
            if not _at_least(part, bound):
                continue
            for hit in range(_hits(part, bound, greatest, hits)):
                at = hits[hit]
                if len(live) and not live[begin + at]:
                    continue
                if count == room:
                    counts[row] = count
                    bounds[row] = prune(row, kept, bounds[row], k)
                    bound = _bits_below(_needed(bounds[row], base, share), block)
                    count = counts[row]
                    if count > room - room // 8:
                        count = room + 1
                        break
                bits[0] = np.int32(part[at]) << shift
                error = base + share * abs(value[0])
                docs[row, count] = first + begin + at
                kept[1][row, count], kept[2][row, count] = value[0] - error, value[0] + error
                count += 1
            if count > room:
                break
        counts[row] = count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def prune(row: int, kept: Any, bound: float, k: int) -> float:
    """Drops the documents of a row that cannot be among its best; returns what k of them reach."""
    docs, lower, upper, counts = kept
    count = counts[row]
    if count >= k:
        bound = max(bound, greatest_at(lower[row, :count].copy(), count, k))
    place = 0
    for at in range(count):
        if upper[row, at] >= bound:
            docs[row, place] = docs[row, at]
            lower[row, place], upper[row, place] = lower[row, at], upper[row, at]
            place += 1
    counts[row] = place
    return bound


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def finish(kept: Any, least: Any, guesses: Any) -> None:
    """Drops what cannot be among the best of each row.

    The count of a row whose `guesses` were too high, which fewer than k documents reach, becomes -1.
    """
    counts = kept[3]
    bounds, k = least
    for row in range(len(bounds)):
        if counts[row] > kept[0].shape[1]:
            continue
        if (
            counts[row] < k
            or greatest_at(kept[1][row, : counts[row]].copy(), counts[row], k) < guesses[row]
        ):
            counts[row] = -1
        else:
            bounds[row] = prune(row, kept, bounds[row], k)


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # type: ignore[untyped-decorator]
def _products(query: Any, vectors: Any, docs: Any, out: Any) -> None:
    """Fills in the products of rounded vectors, which are exact in whatever order they are added up.

    Four at a time, so that memory is waited for less often.
    """
    last = len(docs) - 1
    for first in range(0, len(docs), 4):
        one, two = vectors[docs[first]], vectors[docs[min(first + 1, last)]]
        three, four = vectors[docs[min(first + 2, last)]], vectors[docs[min(first + 3, last)]]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for at in range(len(query)):
            own = np.float64(query[at])
            a += own * np.float64(one[at])
            b += own * np.float64(two[at])
            c += own * np.float64(three[at])
            d += own * np.float64(four[at])
        out[first] = a
        out[min(first + 1, last)] = b
        out[min(first + 2, last)] = c
        out[min(first + 3, last)] = d


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _similarity(product: float, square: float, own: float, kind: int) -> float:
    """Returns what `Comparison` makes of a product and both squared lengths, in the same steps."""
    if kind == COSINE:
        inverse = 1 / np.sqrt(square) if square > 0 else 0.0
        product = product * inverse * (1 / np.sqrt(own) if own > 0 else 0.0)
    return product


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def exact_scores(query: Any, own: float, docs: Any, kind: int, places: Any, out: Any) -> None:
    """Fills in the scores of some documents; `docs` are the (vectors, squares) of all."""
    vectors, squares = docs
    _products(query, vectors, places, out)
    for at in range(len(places)):
        out[at] = _similarity(out[at], squares[places[at]], own, kind)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def exact_rows(queries: Any, docs: Any, kind: int, places: Any, counts: Any, out: Any) -> None:
    """Fills in the (q, m) scores of so many documents of each query; the rest are -inf.

    `queries` and `docs` are (vectors, squares). Some documents are compared with all queries before the
    next, if those of each query ascend.
    """
    at = np.zeros(len(counts), np.int64)
    for start in range(0, len(docs[0]), _STAY):
        for row in range(len(counts)):
            first, count = at[row], counts[row]
            last = first
            while last < count and places[row, last] < start + _STAY:
                last += 1
            if last > first:
                own, part = queries[1][row], places[row, first:last]
                exact_scores(queries[0][row], own, docs, kind, part, out[row, first:last])
                at[row] = last
    for row in range(len(counts)):
        for rest in range(at[row], out.shape[1]):
            out[row, rest] = -np.inf


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def count_before(block: Any, first: int, off: Any, exact: Any, targets: Any) -> None:
    """Counts the documents of a block that come before wanted ones.

    Args:
        block, first, off: see `sift`.
        exact: the (vectors, squares) of the queries and of the documents, and the kind of similarity.
        targets: (rows, scores, places, order, before, greater): the query, the score and the place
            among ties of each, the places of all documents, and the counts.
    """
    queries, docs, kind = exact
    rows, scores, places, order, before, greater = targets
    near, found = np.empty(_STAY, np.int64), np.empty(_STAY)
    for start in range(0, block.shape[1], _STAY):
        stop = min(block.shape[1], start + _STAY)
        for number in range(len(rows)):
            row, score = rows[number], scores[number]
            base, share = off[0][row], off[1][row]
            low = _bits_below(_needed(score, base, share), block)
            # A product above this is that of a greater score.
            need = score + base
            high = _bits_below(need + 2 * share * abs(need) + 1e-6 * abs(need), block)
            part = block[row, start:stop]
            more, count = _above(part, high), 0
            if _at_least(part, low) > more:
                count = _hits(part, low, high, near)
                for at in range(count):
                    near[at] += first + start
            own = queries[1][row]
            exact_scores(queries[0][row], own, docs, kind, near[:count], found[:count])
            tied = 0
            for at in range(count):
                more += found[at] > score
                tied += found[at] == score and order[near[at]] < places[number]
            greater[number] += more
            before[number] += more + tied

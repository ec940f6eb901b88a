"""The compiled loops that keep and order the best of many scores."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# Values that are put in order by insertion.
SORTED = 32


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def greatest_at(values: Any, count: int, depth: int) -> Any:
    """The value at a depth from above, by quickselect; the values are moved."""
    low, high, wanted = 0, count - 1, count - depth
    while low < high:
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if wanted <= right:
            high = right
        elif wanted >= left:
            low = left
        else:
            break
    return values[wanted]


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def best_of(found: Any, scores: Any, count: int, depth: int) -> tuple[int, Any]:
    """Drops what is below the best `depth`; how many are left, and the least of them."""
    least = greatest_at(scores[:count].copy(), count, depth)
    return from_least(found, scores, count, least), least


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def from_least(found: Any, scores: Any, count: int, least: Any) -> int:
    """Drops what is below a score; how many are left."""
    left = 0
    for at in range(count):
        # Without a branch, which would often be guessed wrong.
        score = scores[at]
        found[left], scores[left] = found[at], score
        left += score >= least
    return left


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def without_earliest(found: Any, scores: Any, count: int, depth: int, names: Any) -> int:
    """Drops the earliest ids of the documents that tie at the last place; how many are left."""
    least = scores[0]
    for at in range(count):
        least = min(least, scores[at])
    tied = np.empty(count, np.int64)
    above, known = 0, 0
    for at in range(count):
        if scores[at] > least:
            above += 1
        else:
            tied[known] = names[found[at]]
            known += 1
    latest = greatest_at(tied, known, depth - above)
    left = 0
    for at in range(count):
        if scores[at] > least or names[found[at]] >= latest:
            found[left], scores[left] = found[at], scores[at]
            left += 1
    return left


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def settle(order: Any, found: Any, names: Any, asked: Any, out: Any) -> None:
    """Writes documents in their order: score descending, then id descending.

    Args:
        order: (q, k) places of each query's documents by ascending score.
        found: (counts, documents, scores) of the same queries, in any order; scores beyond the count
            are zeros.
        names: place of each document's id among the shard's, ascending.
        asked: (q,) numbers of the queries.
        out: (counts, documents, scores), rows by the number of the query.
    """
    counts, docs, scores = found
    all_counts, all_docs, all_scores = out
    last = order.shape[1] - 1
    for row in range(len(asked)):
        number = asked[row]
        all_counts[number] = counts[row]
        for i in range(order.shape[1]):
            at = order[row, last - i]
            doc, score = docs[row, at], scores[row, at]
            j = i
            while (
                j
                and all_scores[number, j - 1] == score
                and score > 0
                and names[all_docs[number, j - 1]] < names[doc]
            ):
                all_docs[number, j] = all_docs[number, j - 1]
                j -= 1
            all_docs[number, j], all_scores[number, i] = doc, score


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def order_each(starts: Any, values: Any, out: Any) -> None:
    """The places of the values of each part in ascending order; equal ones in theirs."""
    for part in range(len(starts) - 1):
        first, last = starts[part], starts[part + 1]
        if last - first > SORTED:
            out[first:last] = first + np.argsort(values[first:last], kind="mergesort")
            continue
        for place in range(first, last):
            at = place
            while at > first and values[out[at - 1]] > values[place]:
                out[at] = out[at - 1]
                at -= 1
            out[at] = place

"""The compiled loops that put documents with whole numbers as scores in the one order.

Import this module only at the point of use: numba takes long to import.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.runs._order_kernels import is_before

# Documents that are sorted by insertion, and binary digits that others are dealt out by at once.
INSERTED, DIGIT = 32, 11


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def put_in_order(docs: Any, scores: Any, keys: Any, room: Any) -> None:
    """Sorts documents with integer scores into the one order.

    Args:
        docs, scores: (n,) the documents.
        keys: keys of all documents: of equal scores the greater comes first.
        room: (documents, scores), memory for as many.
    """
    count = len(docs)
    if count <= INSERTED:
        _insert(docs, scores, keys)
        return
    greatest, least = scores[0], scores[0]
    for i in range(count):
        greatest, least = max(greatest, scores[i]), min(least, scores[i])
    # By the leading digits of the scores, and then what these do not tell.
    shift = 0
    while (greatest - least) >> shift >= 1 << (2 * DIGIT):
        shift += 1
    _deal(docs, scores, greatest, shift, room)
    _deal(room[0], room[1], greatest, shift + DIGIT, (docs, scores))
    first = 0
    for last in range(1, count + 1):
        if (
            last == count
            or (greatest - scores[last]) >> shift != (greatest - scores[first]) >> shift
        ):
            if last - first > INSERTED:
                _heap_sort(docs[first:last], scores[first:last], keys)
            elif last - first > 1:
                _insert(docs[first:last], scores[first:last], keys)
            first = last


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _deal(docs: Any, scores: Any, greatest: Any, shift: int, out: Any) -> None:
    """Copies documents in the order of one digit of their scores; equal ones stay in their order."""
    starts = np.zeros((1 << DIGIT) + 1, np.int64)
    mask, count = (1 << DIGIT) - 1, min(len(docs), len(out[0]))
    for i in range(count):
        starts[((greatest - scores[i]) >> shift & mask) + 1] += 1
    for digit in range(1 << DIGIT):
        starts[digit + 1] += starts[digit]
    out_docs, out_scores = out
    for i in range(count):
        digit = (greatest - scores[i]) >> shift & mask
        out_docs[starts[digit]], out_scores[starts[digit]] = docs[i], scores[i]
        starts[digit] += 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _insert(docs: Any, scores: Any, keys: Any) -> None:
    """Sorts a few documents."""
    for i in range(1, len(docs)):
        doc, score, j = docs[i], scores[i], i
        while j and is_before(score, keys[doc], scores[j - 1], keys[docs[j - 1]]):
            docs[j], scores[j] = docs[j - 1], scores[j - 1]
            j -= 1
        docs[j], scores[j] = doc, score


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _heap_sort(docs: Any, scores: Any, keys: Any) -> None:
    """Sorts many documents; the last in the order is at the top of the heap."""
    end = len(docs)
    start = end // 2
    while end > 1:
        if start:
            start -= 1
        else:
            end -= 1
            docs[0], docs[end] = docs[end], docs[0]
            scores[0], scores[end] = scores[end], scores[0]
        root, child = start, 2 * start + 1
        while child < end:
            if child + 1 < end and is_before(
                scores[child], keys[docs[child]], scores[child + 1], keys[docs[child + 1]]
            ):
                child += 1
            if is_before(scores[child], keys[docs[child]], scores[root], keys[docs[root]]):
                break
            docs[root], docs[child] = docs[child], docs[root]
            scores[root], scores[child] = scores[child], scores[root]
            root, child = child, 2 * child + 1

"""The compiled loops over columns of text."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def find_each(data: Any, starts: Any, wanted: Any, wanted_starts: Any, out: Any) -> None:
    """Where each wanted text is among texts in byte order, or -1."""
    for number in range(len(out)):
        first, last = wanted_starts[number], wanted_starts[number + 1]
        low, high = 0, len(starts) - 1
        while low < high:
            middle = (low + high) // 2
            # A damaged start must not lead out of the texts.
            begin, end = max(0, starts[middle]), min(len(data), starts[middle + 1])
            if order_of(data, begin, end, wanted, first, last) < 0:
                low = middle + 1
            else:
                high = middle
        out[number] = -1
        if low < len(starts) - 1:
            begin, end = max(0, starts[low]), min(len(data), starts[low + 1])
            if order_of(data, begin, end, wanted, first, last) == 0:
                out[number] = low


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def order_of(one: Any, at: int, end: int, other: Any, at_other: int, end_other: int) -> int:
    """Below, at or above 0 where a text is before, the same as, or after another in byte order."""
    for step in range(min(end - at, end_other - at_other)):
        left, right = one[at + step], other[at_other + step]
        if left != right:
            return -1 if left < right else 1
    return (end - at) - (end_other - at_other)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def copy_each(data: Any, starts: Any, places: Any, out: Any, out_starts: Any) -> None:
    """Copies some texts, end to end."""
    for number in range(len(places)):
        first, at = starts[places[number]], out_starts[number]
        for step in range(out_starts[number + 1] - at):
            out[at + step] = data[first + step]

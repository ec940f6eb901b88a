"""The compiled loops over columns of text."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def find_each(data: Any, starts: Any, texts: Any, text_starts: Any, out: Any) -> None:
    """Fills in the position of each text among texts in byte order, or -1."""
    for number in range(len(out)):
        first, last = text_starts[number], text_starts[number + 1]
        low, high = 0, len(starts) - 1
        while low < high:
            middle = (low + high) // 2
            # A damaged start must not lead out of the texts.
            begin, end = max(0, starts[middle]), min(len(data), starts[middle + 1])
            if order_of(data, begin, end, texts, first, last) < 0:
                low = middle + 1
            else:
                high = middle
        out[number] = -1
        if low < len(starts) - 1:
            begin, end = max(0, starts[low]), min(len(data), starts[low + 1])
            if order_of(data, begin, end, texts, first, last) == 0:
                out[number] = low


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def order_of(
    text: Any, begin: int, end: int, text_other: Any, begin_other: int, end_other: int
) -> int:
    """Compares two texts in byte order: below 0 if the first comes first, above 0 if it comes last."""
    for step in range(min(end - begin, end_other - begin_other)):
        byte, byte_other = text[begin + step], text_other[begin_other + step]
        if byte != byte_other:
            return -1 if byte < byte_other else 1
    return (end - begin) - (end_other - begin_other)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def copy_each(data: Any, starts: Any, places: Any, out: Any, out_starts: Any) -> None:
    """Copies some texts, end to end."""
    for number in range(len(places)):
        first, begin = starts[places[number]], out_starts[number]
        for step in range(out_starts[number + 1] - begin):
            out[begin + step] = data[first + step]

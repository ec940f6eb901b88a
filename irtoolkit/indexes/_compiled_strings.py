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


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def merge_ties(bounds: Any, parts: Any, data: Any, starts: Any, room: Any, out: Any) -> None:
    """Puts ties between shards in descending order of ids.

    Args:
        bounds: (t+1,) where the rows of each tie begin.
        parts: the shard of each row, ascending in a tie; its rows of one shard are in order.
        data, starts: the ids of the rows.
        room: as many places as there are rows.
        out: places of the rows in their order, to be filled.
    """
    for tie in range(len(bounds) - 1):
        begin, end = bounds[tie], bounds[tie + 1]
        done = begin
        # Each shard's rows are merged with those of all before it.
        while done < end:
            last = done
            while last < end and parts[last] == parts[done]:
                last += 1
            left, right, at = begin, done, begin
            while left < done or right < last:
                if right == last:
                    take_left = True
                elif left == done:
                    take_left = False
                else:
                    one, other = out[left], right
                    take_left = (
                        order_of(
                            data, starts[one], starts[one + 1],
                            data, starts[other], starts[other + 1],
                        ) > 0
                    )  # fmt: skip
                if take_left:
                    room[at] = out[left]
                    left += 1
                else:
                    room[at] = right
                    right += 1
                at += 1
            out[begin:last] = room[begin:last]
            done = last

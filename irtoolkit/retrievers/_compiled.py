"""The loops that numpy does not do fast, compiled once for good.

Functions of a module are kept compiled on disk; functions inside functions that call one another
would be compiled again by every process. Import this module where it is needed and not before:
numba takes long to import.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.indexes._compiled_best import greatest_at

GREATEST = float(np.finfo(np.float32).max)
# What became of some rows: all is done; a score has no room below it; or more scores than a few are
# equal in single precision and not in double, and are to be sorted in another way.
DONE, LOW, CROWDED = 0, 1, 2
NEAR = 64
# The greatest number of a document: what is sorted has it in half of 64 bits.
LAST = (1 << 32) - 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def first_bad(scores: Any, places: Any) -> None:
    for row in range(len(scores)):
        bad = 0
        for place in range(scores.shape[1]):
            bad += not (abs(scores[row, place]) <= GREATEST)
        if bad:
            for place in range(scores.shape[1]):
                if not (abs(scores[row, place]) <= GREATEST):
                    places[row] = place
                    break


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def count(scores: Any, rows: Any, places: Any, greater: Any, equal: Any) -> None:
    for pair in range(len(rows)):
        row = scores[rows[pair]]
        mine = row[places[pair]]
        more, same = 0, 0
        for place in range(len(row)):
            more += row[place] > mine
            same += row[place] == mine
        greater[pair], equal[pair] = more, same


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def peaks_of(row: Any, peaks: Any) -> None:
    # Parts are the columns of the row laid out in lines, so that a line is handled at once.
    parts = len(peaks)
    for part in range(parts):  # an assignment of arrays takes a second longer to compile
        peaks[part] = row[part]
    for begin in range(parts, len(row), parts):
        line = row[begin : begin + parts]
        for part in range(len(line)):
            peaks[part] = max(line[part], peaks[part])


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def above(row: Any, peaks: Any, bound: Any, found: Any) -> int:
    # What is found goes into an array that is there already: one that grows is ten times slower.
    count = 0
    for part in range(len(peaks)):
        if peaks[part] >= bound:
            line = row[part :: len(peaks)]
            for place in range(len(line)):
                if line[place] >= bound:
                    found[count] = part + place * len(peaks)
                    count += 1
    return count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def contenders(row: Any, depth: int, peaks: Any, found: Any) -> int:
    peaks_of(row, peaks)
    bound = greatest_at(peaks.copy(), len(peaks), depth)
    count: int = above(row, peaks, bound, found)
    return count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def pack(scores: Any, second: Any, keys: Any) -> None:
    """Keys that ascend as scores fall, and then as the second order goes."""
    bits = np.empty(1, np.float32)
    view = bits.view(np.uint32)
    for row in range(len(scores)):
        for place in range(len(second)):
            bits[0] = np.float32(scores[row, second[place]]) + np.float32(0)  # no -0
            falling = view[0]
            if not falling >> np.uint32(31):
                falling ^= np.uint32(0x7FFFFFFF)
            keys[row, place] = (np.uint64(falling) << np.uint64(32)) | np.uint64(place)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def finish(scores: Any, second: Any, names: Any, keys: Any, order: Any, single: Any) -> int:
    """Reads the order off sorted keys; then lowers scores by the fewest steps that show it."""
    lowest = np.float32(-np.inf)
    count = len(second)
    for row in range(len(scores)):
        mine = scores[row]
        for i in range(count):
            place = second[keys[row, i] & np.uint64(0xFFFFFFFF)]
            j = i
            # An insertion sort of what is equal in single precision.
            while (
                j
                and mine[order[row, j - 1]] < mine[place]
                and np.float32(mine[order[row, j - 1]]) == np.float32(mine[place])
            ):
                order[row, j] = order[row, j - 1]
                j -= 1
                if i - j > NEAR:
                    return CROWDED
            order[row, j] = place
        for i in range(count):
            place = order[row, i]
            value = np.float32(mine[place])
            if i:
                above, after = single[row, i - 1], names[place] > names[order[row, i - 1]]
                # Among equals the later id would be put first.
                if value > above or (value == above and after):
                    value = np.nextafter(above, lowest) if after else above
                    if value == lowest:
                        return LOW
            single[row, i] = value
    return DONE


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def leading(scores: Any, names: Any, by_name: bool, room: Any, out: Any) -> None:
    """Finds the best of each row where far more compete than are kept.

    `room` is (peaks, places), memory to work in; `out` is (order, single, done), to be filled.
    """
    peaks, places = room
    order, single, done = out
    depth = order.shape[1]
    for row in range(len(scores)):
        count = contenders(scores[row], depth, peaks, places)
        # Numbers of one type are sorted, and arrays filled by loops: each other way of numpy's would
        # take a second or more to compile.
        numbers = np.empty(count, np.uint64)
        for i in range(count):
            numbers[i] = places[i]
        # In the order of the candidates, by which ties may be broken.
        numbers.sort()
        pool, known = np.empty(count, np.int64), np.empty(count, np.int64)
        mine = np.empty((1, count), scores.dtype)
        for i in range(count):
            pool[i] = numbers[i]
            mine[0, i], known[i] = scores[row, pool[i]], names[pool[i]]
        second = np.arange(count)
        if by_name:
            for i in range(count):
                numbers[i] = (np.uint64(LAST - known[i]) << np.uint64(32)) | np.uint64(i)
            numbers.sort()
            for i in range(count):
                second[i] = numbers[i] & np.uint64(LAST)
        keys = np.empty((1, count), np.uint64)
        pack(mine, second, keys)
        keys[0].sort()
        places_of = np.empty((1, count), np.int64)
        written = np.empty((1, count), np.float32)
        done[row] = finish(mine, second, known, keys, places_of, written)
        for i in range(depth):
            order[row, i], single[row, i] = pool[places_of[0, i]], written[0, i]

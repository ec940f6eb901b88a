"""The compiled loops of the one order of documents.

Equal scores are ordered by descending key. Callers supply the keys, which alone hold the tie rule.

Functions of a module are cached on disk once compiled; functions inside functions that call one
another would be compiled again by every process. Import this module only at the point of use: numba
takes long to import.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.runs import _lowering

lower = numba.njit(nogil=True, cache=True)(_lowering.lower)

# What became of some rows: all is done; a score has no room below it; or more scores than a few are
# equal in single precision and not in double, and are to be sorted in another way.
DONE, LOW, CROWDED = 0, 1, 2
NEAR = 64
# The greatest key: sorted integers have it in half of 64 bits.
LAST = (1 << 32) - 1
# Scores whose greatest is noted together.
PART = 64


def parts_of(count: int, k: int) -> int:
    """Returns into how many parts a row is laid out to find its best: a few times as many as k."""
    return -(-count // max(1, min(PART, count // (4 * k))))


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def is_before(score: Any, key: Any, target: Any, least_key: Any) -> bool:
    """Returns whether a document comes before a target, given the least key that wins a tie."""
    before: bool = score > target or (score == target and key >= least_key)
    return before


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def count_before(scores: Any, keys: Any, targets: Any, before: Any, greater: Any) -> None:
    """Counts the documents that come before some candidates, and those with a greater score.

    `targets` is (rows, places) of the candidates.
    """
    rows, places = targets
    for pair in range(len(rows)):
        row, index = scores[rows[pair]], places[pair]
        score, key = row[index], keys[index]
        more, same, tied = 0, 0, 0
        for i in range(len(row)):
            more += row[i] > score
            same += row[i] == score
        if same > 1:
            for i in range(len(row)):
                tied += row[i] == score and keys[i] > key
        before[pair], greater[pair] = more + tied, more


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
def above(row: Any, peaks: Any, bound: Any, out: Any) -> int:
    # Results go into an existing array: one that grows is ten times slower.
    count = 0
    for part in range(len(peaks)):
        if peaks[part] >= bound:
            line = row[part :: len(peaks)]
            for i in range(len(line)):
                if line[i] >= bound:
                    out[count] = part + i * len(peaks)
                    count += 1
    return count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def contenders(row: Any, depth: int, peaks: Any, out: Any) -> int:
    peaks_of(row, peaks)
    bound = greatest_at(peaks.copy(), len(peaks), depth)
    count: int = above(row, peaks, bound, out)
    return count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def pack(scores: Any, sequence: Any, packed: Any) -> None:
    """Packs scores and tie positions into integers that ascend in the order of the ranking."""
    bits = np.empty(1, np.float32)
    view = bits.view(np.uint32)
    for row in range(len(scores)):
        for i in range(len(sequence)):
            bits[0] = np.float32(scores[row, sequence[i]]) + np.float32(0)  # no -0
            falling = view[0]
            if not falling >> np.uint32(31):
                falling ^= np.uint32(0x7FFFFFFF)
            packed[row, i] = (np.uint64(falling) << np.uint64(32)) | np.uint64(i)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def finish(scores: Any, sequence: Any, id_keys: Any, packed: Any, order: Any, single: Any) -> int:
    """Reads the order off sorted numbers; then lowers scores by the fewest steps that show it."""
    lowest = np.float32(-np.inf)
    count = len(sequence)
    for row in range(len(scores)):
        values = scores[row]
        for i in range(count):
            index = sequence[packed[row, i] & np.uint64(0xFFFFFFFF)]
            j = i
            # An insertion sort of scores that are equal in single precision.
            while (
                j
                and values[order[row, j - 1]] < values[index]
                and np.float32(values[order[row, j - 1]]) == np.float32(values[index])
            ):
                order[row, j] = order[row, j - 1]
                j -= 1
                if i - j > NEAR:
                    return CROWDED
            order[row, j] = index
        for i in range(count):
            index = order[row, i]
            value = np.float32(values[index])
            if i:
                above, after = single[row, i - 1], id_keys[index] > id_keys[order[row, i - 1]]
                # A reader would put the greater key first.
                if value > above or (value == above and after):
                    value = np.nextafter(above, lowest) if after else above
                    if value == lowest:
                        return LOW
            single[row, i] = value
    return DONE


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def leading(scores: Any, id_keys: Any, by_key: bool, room: Any, out: Any) -> None:
    """Finds the best of each row if there are far more candidates than results.

    `room` is (peaks, places), scratch memory; `out` is (order, single, done), to be filled.
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
        pool, keys_pool = np.empty(count, np.int64), np.empty(count, np.int64)
        values = np.empty((1, count), scores.dtype)
        for i in range(count):
            pool[i] = numbers[i]
            values[0, i], keys_pool[i] = scores[row, pool[i]], id_keys[pool[i]]
        sequence = np.arange(count)
        if by_key:
            for i in range(count):
                numbers[i] = (np.uint64(LAST - keys_pool[i]) << np.uint64(32)) | np.uint64(i)
            numbers.sort()
            for i in range(count):
                sequence[i] = numbers[i] & np.uint64(LAST)
        packed = np.empty((1, count), np.uint64)
        pack(values, sequence, packed)
        packed[0].sort()
        places_of = np.empty((1, count), np.int64)
        written = np.empty((1, count), np.float32)
        done[row] = finish(values, sequence, keys_pool, packed, places_of, written)
        for i in range(depth):
            order[row, i], single[row, i] = pool[places_of[0, i]], written[0, i]


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def greatest_at(values: Any, count: int, depth: int) -> Any:
    """Returns the value at a depth from above, by quickselect; the values are moved."""
    low, high, target = 0, count - 1, count - depth
    while low < high:
        pivot = values[(low + high) // 2]
        start, right = low, high
        while start <= right:
            while values[start] < pivot:
                start += 1
            while values[right] > pivot:
                right -= 1
            if start <= right:
                values[start], values[right] = values[right], values[start]
                start += 1
                right -= 1
        if target <= right:
            high = right
        elif target >= start:
            low = start
        else:
            break
    return values[target]


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def best_of(indices: Any, scores: Any, count: int, depth: int) -> tuple[int, Any]:
    """Drops documents below the best `depth`; returns how many remain, and their least score."""
    least = greatest_at(scores[:count].copy(), count, depth)
    return from_least(indices, scores, count, least), least


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def from_least(indices: Any, scores: Any, count: int, least: Any) -> int:
    """Drops documents below a score; returns how many are left."""
    count_left = 0
    for i in range(count):
        # Without a branch, which would often be guessed wrong.
        score = scores[i]
        indices[count_left], scores[count_left] = indices[i], score
        count_left += score >= least
    return count_left


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def drop_last_ties(indices: Any, scores: Any, count: int, depth: int, keys: Any) -> int:
    """Drops the last of the documents that tie at the last position; returns how many are left."""
    least = scores[0]
    for i in range(count):
        least = min(least, scores[i])
    tied = np.empty(count, np.int64)
    above, equal = 0, 0
    for i in range(count):
        if scores[i] > least:
            above += 1
        else:
            tied[equal] = keys[indices[i]]
            equal += 1
    least_key = greatest_at(tied, equal, depth - above)
    remaining = 0
    for i in range(count):
        if scores[i] > least or keys[indices[i]] >= least_key:
            indices[remaining], scores[remaining] = indices[i], scores[i]
            remaining += 1
    return remaining

"""The best of each row of single-precision scores in order, compiled: close to one pass of a row.

First, a bound is found that somewhat more scores reach than needed. Those are sorted into buckets,
in which few remain to be compared. A row that this does not suit, with many equal scores for
example, is reported, and sorted in another way.

Import this module only at the point of use: numba takes long to import.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.runs._order_kernels import CROWDED, DONE, LAST, LOW, NEAR, parts_of, peaks_of

# The row is not of the usual kind: too few or too many scores reach the bound, or a bucket is full.
UNUSUAL = 3
# Of the sampled scores so many should be among the best, so that their share is known well enough.
_SAMPLED = 64
# Scores that a bucket may hold.
_FULL = 48
_BUCKETS = 512
# If there are so many times more candidates than results, whole parts of a row are skipped.
_MANY = 32
_FLIP = np.uint32(0x7FFFFFFF)
_SIGN = np.uint32(31)
_HALF = np.uint64(32)
_ONE = np.uint32(1)


def room_of(count: int, depth: int) -> tuple[Any, ...]:
    """Returns scratch memory for rows of a number of scores.

    It consists of scores to find a bound by; the positions of scores that reach it, the scores and
    their buckets; the offsets of the buckets; and sorted keys.
    """
    many = count >= _MANY * depth
    sampled = parts_of(count, depth) if many else min(count, count * _SAMPLED // depth)
    most = 2 * depth + 4 * _SAMPLED
    return (
        np.empty(sampled, np.float32),
        np.empty(count + 1, np.uint32),
        np.empty(most, np.float32),
        np.empty(most, np.uint32),
        np.empty(4 * depth + 2, np.uint32),
        np.empty(most, np.uint64),
    )


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def leading_singles(scores: Any, ties: Any, room: Any, out: Any) -> None:
    """Finds the best of each row.

    `ties` is (id keys, places, sequence): the key of each candidate's id, its place in the order of
    ties, and the candidate at each such place. `out` is (order, single, done), to be filled.
    """
    id_keys, indices, sequence = ties
    order, single, done = out
    sample, places, values, buckets, begins, keys = room
    depth = order.shape[1]
    for row in range(len(scores)):
        count = _contenders(scores[row], depth, sample, places)
        done[row] = UNUSUAL
        if depth <= count <= len(values):
            for i in range(count):
                values[i] = scores[row, places[i]] + np.float32(0)  # no -0
            if _spread(values[:count], buckets, begins):
                _sort(indices, places, values[:count], (buckets, begins, keys), depth)
                done[row] = _written(keys, id_keys, sequence, order[row], single[row])


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _contenders(row: Any, depth: int, sample: Any, places: Any) -> int:
    """Lists the places of scores among which the best are; rarely, too few."""
    size, filled = len(sample), np.uint32(0)
    if len(row) >= _MANY * depth:
        # As many parts of the row as are wanted have a score above this, so at least as many scores.
        peaks_of(row, sample)
        bound = _lower_bound(sample, depth)
        for part in range(size):
            if sample[part] >= bound:
                line = row[part::size]
                for column in range(len(line)):
                    places[filled] = part + column * size
                    filled = np.uint32(filled + np.uint32(line[column] >= bound))
        return int(filled)
    step = len(row) // size
    for i in range(size):
        sample[i] = row[i * step]
    share = depth / len(row)
    expected = share * size
    expected_count = int(expected + 3 * np.sqrt(expected * (1 - share)) + 2)
    bound = _lower_bound(sample, min(expected_count, size))
    for column in range(np.uint32(len(row))):
        places[filled] = column
        filled = np.uint32(filled + np.uint32(row[column] >= bound))
    return int(filled)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _lower_bound(values: Any, target: int) -> Any:
    """Returns a number that so many values reach, and few more do."""
    top, low = values[0], values[0]
    for i in range(len(values)):
        top, low = max(top, values[i]), min(low, values[i])
    width = np.float64(top) - np.float64(low)
    if not width > 0:
        return low
    counts = np.zeros(_BUCKETS + 1, np.int64)
    scale = _BUCKETS / width
    for i in range(len(values)):
        counts[int((np.float64(values[i]) - np.float64(low)) * scale)] += 1
    bucket, total = _BUCKETS, counts[_BUCKETS]
    while total < target and bucket > 0:
        bucket -= 1
        total += counts[bucket]
    # One bucket more: an edge is rounded.
    return low if bucket < 2 else np.float32(np.float64(low) + (bucket - 1) / scale)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _spread(values: Any, buckets: Any, begins: Any) -> bool:
    """Puts scores into buckets from the highest on; returns False if too many share one.

    Low scores are close together, as in the tail of a distribution: their buckets are narrow.
    """
    top, low = values[0], values[0]
    for i in range(len(values)):
        top, low = max(top, values[i]), min(low, values[i])
    width, last = top - low, len(begins) - 2
    if not width > 0:
        return False
    for i in range(len(values)):
        below = (top - values[i]) / width
        buckets[i] = min(last, np.int64(below * below * np.float32(last)))
    begins[:] = 0
    for i in range(len(values)):
        begins[buckets[i] + _ONE] += _ONE
    fullest, total = np.uint32(0), np.uint32(0)
    for i in range(1, len(begins)):
        fullest = max(fullest, begins[i])
        total = np.uint32(total + begins[i])
        begins[i] = total
    return bool(fullest <= _FULL)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _sort(indices: Any, places: Any, values: Any, room: Any, depth: int) -> None:
    """Writes keys that ascend in the order of the ranking; sorts them as far as needed."""
    buckets, begins, keys = room
    bits = values.view(np.uint32)
    for i in range(len(values)):
        falling = bits[i]
        if not falling >> _SIGN:
            falling ^= _FLIP
        bucket = buckets[i]
        keys[begins[bucket]] = (np.uint64(falling) << _HALF) | np.uint64(indices[places[i]])
        begins[bucket] += _ONE
    # A bucket's begin is now its end, and no key is in another's.
    bucket = 0
    while begins[bucket] < depth:
        bucket += 1
    for i in range(1, np.int64(begins[bucket])):
        key, j = keys[i], i
        while j and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _written(keys: Any, id_keys: Any, sequence: Any, order: Any, single: Any) -> int:
    """Reads order and scores off sorted keys; lowers scores by the fewest steps that show it."""
    bits = single.view(np.uint32)
    for i in range(len(order)):
        falling = np.uint32(keys[i] >> _HALF)
        order[i] = sequence[np.uint32(keys[i])]
        bits[i] = falling if falling >> _SIGN else falling ^ _FLIP
    lowest = np.float32(-np.inf)
    for i in range(1, len(order)):
        above = single[i - 1]
        if single[i] >= above:
            # A reader would put the greater key first.
            after = id_keys[order[i]] > id_keys[order[i - 1]]
            if single[i] > above or after:
                single[i] = np.nextafter(above, lowest) if after else above
                if single[i] == lowest:
                    return LOW
    return DONE


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def leading_of_some(rows: Any, places: Any, packed: Any, out: Any) -> None:
    """Finds the best of some candidates of each query, if there are enough of them.

    Args:
        rows: (scores, candidates, counts): (q, m) and (q, m), and (q,) how many each query has.
        places: (c,) position of each candidate in the order of ties.
        packed: (q, m) sorted integers of descending scores and positions.
        out: (order, single, done), to be filled.
    """
    scores, candidates, counts = rows
    order, single, done = out
    depth = order.shape[1]
    for row in range(len(order)):
        done[row] = DONE
        if counts[row] < depth:
            continue
        indices = np.empty(counts[row], np.int64)
        ties = places[candidates[row, : counts[row]]]
        done[row] = _arrange(scores[row], ties, packed[row], indices, depth)
        if done[row] == DONE:
            for i in range(depth):
                order[row, i] = candidates[row, indices[i]]
            done[row] = _lowered(scores[row], ties, indices, single[row])


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _arrange(scores: Any, ties: Any, packed: Any, indices: Any, depth: int) -> int:
    """Reads the order off sorted integers, and corrects it among equal single-precision scores."""
    for i in range(len(indices)):
        index = np.int64(packed[i] & np.uint64(LAST))
        score = scores[index]
        if i >= depth and np.float32(score) < np.float32(scores[indices[i - 1]]):
            break
        j = i
        while j and np.float32(scores[indices[j - 1]]) == np.float32(score):
            above = scores[indices[j - 1]]
            if above > score or (above == score and ties[indices[j - 1]] < ties[index]):
                break
            indices[j] = indices[j - 1]
            j -= 1
            if i - j > NEAR:
                return CROWDED
        indices[j] = index
    return DONE


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _lowered(scores: Any, ties: Any, indices: Any, single: Any) -> int:
    """Fills in scores, lowered by the fewest steps that show their order."""
    lowest = np.float32(-np.inf)
    for i in range(len(single)):
        single[i] = scores[indices[i]]
        if i and single[i] >= single[i - 1]:
            above, after = single[i - 1], ties[indices[i]] < ties[indices[i - 1]]
            if single[i] > above or after:
                single[i] = np.nextafter(above, lowest) if after else above
                if single[i] == lowest:
                    return LOW
    return DONE

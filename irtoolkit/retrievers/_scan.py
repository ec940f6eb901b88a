"""Single passes over blocks of scores, compiled, on all cores: as fast as memory gives them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.ids import Ints

Scores = NDArray[np.floating[Any]]

# Scores whose greatest is noted together: two lines of a processor's cache, or four.
_PART = 32
# Fewer scores than this are not worth a second thread.
_ALONE = 1 << 16
_GREATEST = float(np.finfo(np.float32).max)


def first_unwritable(scores: Scores) -> tuple[int, int] | None:
    """Row and column of the first score that is no finite single-precision number, or None."""
    places = np.full(len(scores), -1)
    find = _kernels()[0]
    _by_rows(lambda rows: find(scores[rows], places[rows]), scores)
    rows = np.flatnonzero(places >= 0)
    return (int(rows[0]), int(places[rows[0]])) if len(rows) else None


def contenders(scores: Scores, depth: int) -> list[Ints]:
    """For each row, places of its best `depth` scores, of all tied with the last, and of few more.

    Of the greatest scores of the parts of a row, the depth-th is no greater than its depth-th score.
    """
    _, peaks_of, above, _ = _kernels()
    parts = -(-scores.shape[1] // _PART)
    if depth >= parts:
        return [np.arange(scores.shape[1])] * len(scores)
    found: list[Ints] = [np.empty(0, np.int64)] * len(scores)

    def part(rows: slice) -> None:
        peaks = np.empty(parts, scores.dtype)
        for number in range(*rows.indices(len(scores))):
            peaks_of(scores[number], peaks)
            bound = np.partition(peaks, parts - depth)[parts - depth]
            found[number] = above(scores[number], peaks, bound)

    _by_rows(part, scores)
    return found


def standing(scores: Scores, rows: Ints, places: Ints) -> tuple[Ints, Ints]:
    """(n,) how many scores of a row are greater than that at a place, and how many are equal to it."""
    greater, equal = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    count = _kernels()[3]
    _by_rows(
        lambda part: count(scores, rows[part], places[part], greater[part], equal[part]),
        scores, len(rows),
    )  # fmt: skip
    return greater, equal


def _by_rows(
    function: Callable[[slice], object], scores: Scores, count: int | None = None
) -> None:
    """Calls a function with slices of so many rows, on all cores where that is worth it."""
    count = len(scores) if count is None else count
    threads = min(os.cpu_count() or 1, count)
    if threads <= 1 or scores.size < _ALONE:
        function(slice(0, count))
        return
    bounds = np.linspace(0, count, threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(function, map(slice, bounds[:-1], bounds[1:])))


@cache
def _kernels() -> tuple[Callable[..., Any], ...]:
    import numba

    greatest, width = _GREATEST, _PART

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def find(scores: Any, places: Any) -> None:
        for row in range(len(scores)):
            bad = 0
            for place in range(scores.shape[1]):
                bad += not (abs(scores[row, place]) <= greatest)
            if bad:
                for place in range(scores.shape[1]):
                    if not (abs(scores[row, place]) <= greatest):
                        places[row] = place
                        break

    @numba.njit(nogil=True, cache=True, fastmath={"nnan", "nsz"})  # type: ignore[untyped-decorator]
    def peaks_of(row: Any, peaks: Any) -> None:
        for part in range(len(peaks)):
            begin = part * width
            end = min(begin + width, len(row))
            best = row[begin]
            for place in range(begin + 1, end):
                best = max(best, row[place])
            peaks[part] = best

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def above(row: Any, peaks: Any, bound: Any) -> Any:
        count = 0
        for part in range(len(peaks)):
            count += width * (peaks[part] >= bound)
        found = np.empty(count, np.int64)
        count = 0
        for part in range(len(peaks)):
            if peaks[part] >= bound:
                for place in range(part * width, min((part + 1) * width, len(row))):
                    if row[place] >= bound:
                        found[count] = place
                        count += 1
        return found[:count]

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

    return find, peaks_of, above, count

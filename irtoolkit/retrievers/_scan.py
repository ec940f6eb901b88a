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

# Scores whose greatest is noted together.
_PART = 64
# Fewer scores than this are not worth a second thread.
_ALONE = 1 << 16
_GREATEST = float(np.finfo(np.float32).max)


def first_unwritable(scores: Scores) -> tuple[int, int] | None:
    """Row and column of the first score that is no finite single-precision number, or None."""
    places = np.full(len(scores), -1)
    find, _ = _kernels()
    by_rows(lambda rows: find(scores[rows], places[rows]), scores)
    rows = np.flatnonzero(places >= 0)
    return (int(rows[0]), int(places[rows[0]])) if len(rows) else None


def parts_of(count: int, depth: int) -> int:
    """Into how many parts a row is laid out to find its best: a few times as many as are kept."""
    return -(-count // max(1, min(_PART, count // (4 * depth))))


def standing(scores: Scores, rows: Ints, places: Ints) -> tuple[Ints, Ints]:
    """(n,) how many scores of a row are greater than that at a place, and how many are equal to it."""
    greater, equal = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    _, count = _kernels()
    by_rows(
        lambda part: count(scores, rows[part], places[part], greater[part], equal[part]),
        scores, len(rows),
    )  # fmt: skip
    return greater, equal


def by_rows(function: Callable[[slice], object], scores: Scores, count: int | None = None) -> None:
    """Calls a function with slices of so many rows, on all cores where that is worth it."""
    count = len(scores) if count is None else count
    threads = min(os.cpu_count() or 1, count)
    if threads <= 1 or scores.size < _ALONE:
        function(slice(0, count))
        return
    bounds = np.linspace(0, count, threads + 1).astype(int)
    list(_pool(os.getpid()).map(function, map(slice, bounds[:-1], bounds[1:])))


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that stay; a forked process has its own."""
    return ThreadPoolExecutor(os.cpu_count())


@cache
def _kernels() -> tuple[Callable[..., Any], ...]:
    import numba

    greatest = _GREATEST

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

    return find, count


@cache
def contenders_kernel() -> Callable[..., Any]:
    """Compiled: the places of a row's best scores, of all tied with the last, and of few more.

    Called with a row, how many scores are wanted, an array for the greatest of its parts (see
    `parts_of`), and one as long as the row for the places; gives their number. Of the greatest
    scores of the parts, the depth-th is no greater than the row's depth-th score.
    """
    import numba

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def peaks_of(row: Any, peaks: Any) -> None:
        # Parts are the columns of the row laid out in lines, so that a line is handled at once.
        parts = len(peaks)
        peaks[:] = row[:parts]
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
        bound = np.partition(peaks, len(peaks) - depth)[len(peaks) - depth]
        count: int = above(row, peaks, bound, found)
        return count

    made: Callable[..., Any] = contenders
    return made

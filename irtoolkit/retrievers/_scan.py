"""Single passes over blocks of scores, compiled, on all cores: as fast as memory gives them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import local
from typing import TypeVar

import numpy as np

from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Ints
from irtoolkit.base.threads import pool
from irtoolkit.retrievers.base import ScoreMatrix

# Scores whose greatest is noted together.
_PART = 64
# Fewer scores than this are not worth a second thread.
_ALONE = 1 << 16
# Slices for each core.
_SLICES = 4
T = TypeVar("T")
_here = local()


def first_unwritable(scores: ScoreMatrix) -> tuple[int, int] | None:
    """Row and column of the first score that is no finite single-precision number, or None."""
    places = np.full(len(scores), -1)
    from irtoolkit.retrievers._compiled import first_bad

    by_rows(lambda rows: first_bad(scores[rows], places[rows]), scores)
    rows = np.flatnonzero(places >= 0)
    return (int(rows[0]), int(places[rows[0]])) if len(rows) else None


def parts_of(count: int, depth: int) -> int:
    """Into how many parts a row is laid out to find its best: a few times as many as are kept."""
    return -(-count // max(1, min(_PART, count // (4 * depth))))


def standing(scores: ScoreMatrix, rows: Ints, places: Ints) -> tuple[Ints, Ints]:
    """(n,) how many scores of a row are greater than that at a place, and how many are equal to it."""
    greater, equal = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    from irtoolkit.retrievers._compiled import count

    by_rows(
        lambda part: count(scores, rows[part], places[part], greater[part], equal[part]),
        scores, len(rows),
    )  # fmt: skip
    return greater, equal


def by_rows(
    function: Callable[[slice], T], scores: ScoreMatrix, count: int | None = None
) -> list[T]:
    """What a function makes of slices of so many rows, on all cores where that is worth it.

    A function that calls this itself gets its rows in one slice: it is on one of the cores already.
    """
    count = len(scores) if count is None else count
    threads = 1 if _busy() else min(cores(), count)
    if threads <= 1 or scores.size < _ALONE:
        return [function(slice(0, count))]

    def part(rows: slice) -> T:
        _here.busy = True
        try:
            return function(rows)
        finally:
            _here.busy = False

    # A core that other programs use too does fewer of them.
    bounds = np.linspace(0, count, min(count, _SLICES * threads) + 1).astype(int)
    return list(_pool(os.getpid()).map(part, map(slice, bounds[:-1], bounds[1:])))


def _busy() -> bool:
    """Whether this thread is at work on a slice."""
    return getattr(_here, "busy", False)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that stay; a forked process has its own."""
    return pool(cores())

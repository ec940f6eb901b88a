"""Work on slices of the rows of a matrix, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.cores import cores
from irtoolkit.base.threads import pool

# Fewer cells than this are not worth a second thread.
_ALONE = 1 << 16
# Slices for each core.
_SLICES = 4
T = TypeVar("T")
Item = TypeVar("Item")
_here = local()


def by_rows(
    function: Callable[[slice], T],
    cells: NDArray[Any],
    count: int | None = None,
    slices: int = _SLICES,
) -> list[T]:
    """Returns the results of a function of slices of rows, on all cores if that is worth it.

    A call from inside such a function gets its rows in one slice, as it already runs on one of the
    cores.

    Args:
        function: takes a slice of rows.
        cells: the matrix, whose size decides whether threads are worth it.
        count: the number of rows; by default those of the matrix.
        slices: how many slices each core gets; a core that other programs use too does fewer of them.
    """
    count = len(cells) if count is None else count
    threads = 1 if _busy() else min(cores(), count)
    if threads <= 1 or cells.size < _ALONE:
        return [function(slice(0, count))]
    bounds = np.linspace(0, count, min(count, slices * threads) + 1).astype(int)
    return in_threads(function, list(map(slice, bounds[:-1], bounds[1:])))


def in_threads(work: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """Returns the results of some work for each item, done on all cores.

    A call from inside such work is done by its thread.
    """
    if len(items) < 2 or _busy() or cores() < 2:
        return [work(item) for item in items]

    def alone(item: Item) -> T:
        _here.busy = True
        try:
            return work(item)
        finally:
            _here.busy = False

    return list(_pool(os.getpid()).map(alone, items))


def _busy() -> bool:
    """Returns whether this thread is at work on a slice."""
    return getattr(_here, "busy", False)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Returns a persistent pool of threads; a forked process has its own."""
    return pool(cores())

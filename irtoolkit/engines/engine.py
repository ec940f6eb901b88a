"""Engines, which do pieces of work here or elsewhere, and the engine that work goes to now."""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from irtoolkit.base.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

_DRIVER = Path("/proc/driver/nvidia/gpus")


class Engine(ABC):
    """An engine, which does independent pieces of work with the same results wherever it runs.

    Attributes:
        name: "local", "processes" or "ray".
        versions: of the libraries that it works with, for records.
    """

    name: str
    versions: Mapping[str, str] = {}

    @property
    @abstractmethod
    def workers(self) -> int:
        """The number of pieces of work at once."""

    @property
    def gpus(self) -> int:
        """The number of GPUs that the workers have."""
        return len(visible_gpus())

    @abstractmethod
    def map(
        self,
        work: Callable[[T], R],
        items: Iterable[T],
        *,
        gpus: float = 0.0,
        together: bool = False,
    ) -> Iterator[R]:
        """Yields the result of some work for each item, in the order of the items.

        Only a few results per worker are held at once. Work on an item may be done more than once,
        because a worker may die, so it must be idempotent: what it writes appears whole, under a
        name that identifies its content.

        A worker keeps the work from item to item, so whatever an object loads and keeps in itself
        is loaded once in each worker. Within a piece of work, and between the results of a `map`,
        the engine does further work in the same process. Logs and warnings of workers are shown
        once; their progress bars are not, so show one over the results.

        Args:
            work: a function, or a picklable object that can be called; large things that it needs, for
                example texts in memory, are sent to each worker once.
            items: picklable, and of some megabytes at most. They are read as workers need them, one
                ahead.
            gpus: GPUs that each piece of work needs, if there are any.
            together: whether the pieces wait for each other. Then all are begun at once, none is done
                again, and the first that fails ends the others.

        Raises:
            InputError: an error of the work, with the worker's machine; or a worker that dies
                again and again.
            WorkerKilledError: `together`, a worker has died.
        """

    def close(self) -> None:  # noqa: B027
        """Ends the workers, if there are any."""


class LocalEngine(Engine):
    """An `Engine` that does one piece of work after another in this process."""

    name = "local"

    @property
    def workers(self) -> int:
        """One: this process."""
        return 1

    def map(
        self,
        work: Callable[[T], R],
        items: Iterable[T],
        *,
        gpus: float = 0.0,
        together: bool = False,
    ) -> Iterator[R]:
        """Yields the result of some work for each item, in the order of the items.

        Raises:
            InputError: several items `together`: one process would wait for itself.
        """
        if not together:
            return map(work, items)
        waiting = list(items)
        if len(waiting) > 1:
            raise InputError(
                f"{len(waiting)} pieces wait for each other, and this is one process",
                remedy="begin them when no other work of the engine is under way",
            )
        return map(work, waiting)


_CURRENT: ContextVar[Engine | None] = ContextVar("engine", default=None)
_LOCAL = LocalEngine()


def current() -> Engine:
    """Returns the engine of the innermost `using`, otherwise this process."""
    return _CURRENT.get() or _LOCAL


@contextmanager
def using(engine: Engine) -> Iterator[Engine]:
    """Sends work to an engine."""
    token = _CURRENT.set(engine)
    try:
        yield engine
    finally:
        _CURRENT.reset(token)


def visible_gpus() -> list[str]:
    """Returns the GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them.

    They are detected without loading a numeric library.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        names = [name.strip() for name in visible.split(",")]
        # CUDA reads them up to the first that names none, such as -1.
        return list(takewhile(lambda name: name and not name.startswith("-"), names))
    try:
        return [str(number) for number in range(len(list(_DRIVER.iterdir())))]
    except OSError:
        return []


def workers_lack_gpus() -> bool:
    """Returns whether all workers lack GPUs, so that this process uses none of its own either."""
    lack = bool(visible_gpus()) and not current().gpus
    if lack:
        _warn_of_workers()
    return lack


@cache
def _warn_of_workers() -> None:
    logging.getLogger(__name__).warning(
        "the workers have no GPU, unlike this machine: all is computed on CPUs"
    )

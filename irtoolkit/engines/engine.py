"""The protocol of engines, and the engine that work goes to now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

from irtoolkit.engines.local import LocalEngine

T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """An engine, which does independent pieces of work with the same results wherever it runs.

    Attributes:
        name: "local", "processes" or "ray".
        workers: number of pieces of work at once.
    """

    name: str

    @property
    def workers(self) -> int: ...

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
            items: picklable, and small: paths and numbers rather than texts. They are read as
                workers need them, one ahead.
            gpus: GPUs that each piece of work needs, if there are any.
            together: whether the pieces wait for each other. Then all are begun at once, none is done
                again, and the first that fails ends the others.

        Raises:
            InputError: an error of the work, with the worker's machine; or a worker that dies
                again and again.
            WorkerKilledError: `together`, a worker has died.
        """
        ...


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

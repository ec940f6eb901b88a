"""Work in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from irtoolkit.base.errors import InputError

T = TypeVar("T")
R = TypeVar("R")


class LocalEngine:
    """An `Engine` that does one piece of work after another in this process."""

    name = "local"
    workers = 1

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

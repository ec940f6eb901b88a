"""Work in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class LocalEngine:
    """Does one piece of work after another in this process; an `Engine`."""

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
        """What some work gives for each item, in the order of the items."""
        return map(work, items)

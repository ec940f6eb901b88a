"""Engines of several workers: results in order, messages once, work within work in this process."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from irtoolkit.engines.engine import Engine, LocalEngine
from irtoolkit.engines.work import Items, Outcome, Reporter

T = TypeVar("T")
R = TypeVar("R")


class Pool(Protocol):
    """Workers that take the pieces of one `map` by number."""

    def start(self, number: int) -> None:
        """Gives the piece of a number to a worker."""
        ...

    def finished(self) -> list[tuple[int, bytes]]:
        """Waits until pieces are done; returns their numbers with the results of `perform`.

        Raises:
            InputError: workers die of a piece again and again.
        """
        ...

    def close(self) -> None:
        """Ends pieces whose results are no longer needed."""
        ...


class PooledEngine(Engine):
    """An `Engine` whose workers are other processes. A `map` within another runs in this one."""

    def __init__(self) -> None:
        self._reporter = Reporter()
        self._mapping = False

    def map(
        self,
        work: Callable[[T], R],
        items: Iterable[T],
        *,
        gpus: float = 0.0,
        together: bool = False,
    ) -> Iterator[R]:
        """Yields the result of some work for each item, in order; see `Engine`."""
        if self._mapping:
            yield from LocalEngine().map(work, items, together=together)
            return
        self._mapping = True
        try:
            pieces = Items(items)
            if together:
                self.check_together(pieces)
            pool = self.pool(work, pieces, gpus, together)
            try:
                for outcome in self._outcomes(pool, pieces, together):
                    yield self._reporter.value(outcome)
            finally:
                pool.close()
        finally:
            self._mapping = False

    def _outcomes(self, pool: Pool, pieces: Items[Any], together: bool) -> Iterator[Outcome]:
        if together:
            return all_at_once(pieces, pool)
        running, buffered = self.limits()
        return in_order(pieces, pool, running=running, buffered=buffered)

    @abstractmethod
    def pool(
        self, work: Callable[[Any], Any], pieces: Items[Any], gpus: float, together: bool
    ) -> Pool:
        """Returns the workers at one `map`; its arguments are those of `map`."""

    @abstractmethod
    def limits(self) -> tuple[int, int]:
        """Returns how many pieces are given to a pool at once, and how many are held."""

    def check_together(self, pieces: Items[Any]) -> None:
        """Raises InputError if there are not enough workers for pieces that wait for each other."""


def in_order(items: Items[Any], pool: Pool, *, running: int, buffered: int) -> Iterator[Outcome]:
    """Yields the outcomes of the pieces of some items in order.

    Args:
        items: the items of the pieces; the next is read while workers are at those before it.
        pool: the workers.
        running: pieces that are given to the pool at once.
        buffered: pieces that are started before the first of them has been taken.
    """
    done: dict[int, bytes] = {}
    begun = under_way = number = 0
    while items.has(number):
        while number not in done:
            while under_way < running and begun < number + buffered and items.has(begun):
                pool.start(begun)
                begun, under_way = begun + 1, under_way + 1
            items.has(begun)
            for done_number, outcome in pool.finished():
                done[done_number] = outcome
                items.drop(done_number)
                under_way -= 1
        yield pickle.loads(done.pop(number))
        number += 1


def all_at_once(items: Items[Any], pool: Pool) -> Iterator[Outcome]:
    """Yields the outcomes of pieces that wait for each other, in order, or only the first failure.

    Args:
        items: the items of the pieces.
        pool: the workers, enough of which are free.
    """
    done: dict[int, Outcome] = {}
    count = 0
    while items.has(count):
        pool.start(count)
        count += 1
    while len(done) < count:
        for number, packed in pool.finished():
            done[number] = pickle.loads(packed)
            if done[number].error is not None:
                yield done[number]  # its reader ends the others
                return
    yield from (done[number] for number in range(count))

"""The results of pieces of work in order, as the workers of an engine end them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, Protocol

from irtoolkit.engines.work import Items, Outcome


class Pool(Protocol):
    """Workers that take pieces of work by number."""

    def start(self, number: int) -> None:
        """Gives the piece of a number to a worker."""
        ...

    def finished(self) -> list[tuple[int, bytes]]:
        """Waits until pieces are done; returns their numbers with the results of `perform`.

        Raises:
            InputError: workers die of a piece again and again.
        """
        ...


def in_order(items: Items[Any], pool: Pool, *, running: int, held: int) -> Iterator[Outcome]:
    """Yields the outcomes of the pieces of some items in order.

    Args:
        items: the items of the pieces; the next is read while workers are at those before it.
        pool: the workers.
        running: pieces that are given to the pool at once.
        held: pieces that are started before the first of them has been taken.
    """
    done: dict[int, bytes] = {}
    begun = under_way = number = 0
    while items.has(number):
        while number not in done:
            while under_way < running and begun < number + held and items.has(begun):
                pool.start(begun)
                begun, under_way = begun + 1, under_way + 1
            items.has(begun)
            for other, outcome in pool.finished():
                done[other] = outcome
                items.drop(other)
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

"""Work beside a GPU's: while it computes one chunk or batch, the next is prepared in another thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

from irtoolkit.base import threads
from irtoolkit.models.spread import Chunk

# Chunks that are read, encoded and written at once.
_AT_ONCE = 3
# Items that are made before they are needed.
_PREPARED = 2

Item = TypeVar("Item")


def prepared(items: Iterator[Item]) -> Iterator[Item]:
    """Yields items in order; the next ones are made in a thread meanwhile."""
    end = object()
    with threads.short_turns(), threads.pool(1) as pool:
        waiting = deque(pool.submit(next, items, end) for _ in range(_PREPARED))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, items, end))
            yield item  # type: ignore[misc]


def put_off(chunks: Iterable[Chunk], settle: Callable[[Chunk], bool]) -> list[Chunk]:
    """Settles all chunks in threads, a few at once; gives those that could not be, in order.

    Args:
        chunks: of which no more are held than are settled at once, and one.
        settle: settles one, or says False.
    """
    remaining: list[Chunk] = []
    waiting: deque[tuple[Chunk, Future[bool]]] = deque()

    def take_first() -> None:
        chunk, settled = waiting.popleft()
        if not settled.result():
            remaining.append(chunk)

    with threads.short_turns(), threads.pool(_AT_ONCE) as pool:
        for chunk in chunks:
            waiting.append((chunk, pool.submit(settle, chunk)))
            if len(waiting) > _AT_ONCE:
                take_first()
        while waiting:
            take_first()
    return remaining

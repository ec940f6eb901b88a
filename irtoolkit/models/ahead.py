"""Chunks side by side for a GPU: while it computes one, the next is tokenized and the last is written."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from irtoolkit.base import threads
from irtoolkit.models.spread import Chunk

# Chunks that are read, encoded and written at once.
_AT_ONCE = 3


def put_off(chunks: Iterable[Chunk], settle: Callable[[Chunk], bool]) -> list[Chunk]:
    """Settles all chunks in threads, a few at once; gives those that could not be, in order.

    Args:
        chunks: of which no more are held than are settled at once, and one.
        settle: settles one, or says False.
    """
    left: list[Chunk] = []
    waiting: deque[tuple[Chunk, Future[bool]]] = deque()

    def take_first() -> None:
        chunk, settled = waiting.popleft()
        if not settled.result():
            left.append(chunk)

    with threads.pool(_AT_ONCE) as pool:
        for chunk in chunks:
            waiting.append((chunk, pool.submit(settle, chunk)))
            if len(waiting) > _AT_ONCE:
                take_first()
        while waiting:
            take_first()
    return left

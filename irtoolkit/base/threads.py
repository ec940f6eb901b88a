"""Threads, started only if there is memory for them."""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from typing import Any, TypeVar

# Bytes that a thread needs to begin: its stack, and what Python allocates for it.
_ROOM = 16 << 20
# Items that are settled at once, and that are made before they are needed.
_AT_ONCE, _PREPARED = 3, 2

Item = TypeVar("Item")


def room_for(threads: int) -> None:
    """Checks that there is memory for a number of threads.

    Python waits for ever for a thread that finds no memory before it runs. The memory is mapped, as
    that of threads is: freed memory of the heap does not help them.

    Raises:
        MemoryError: there is too little.
    """
    options = {} if os.name == "nt" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
    try:
        mmap.mmap(-1, threads * _ROOM, **options).close()
    except OSError as error:
        raise MemoryError(f"for {threads} threads") from error


def pool(
    threads: int, begin: Callable[..., object] | None = None, *arguments: Any
) -> ThreadPoolExecutor:
    """Returns a pool of threads.

    Args:
        threads: how many.
        begin: initializer of each thread.
        arguments: of the initializer.

    Raises:
        MemoryError: there is too little memory for them.
    """
    room_for(threads)
    return ThreadPoolExecutor(threads, initializer=begin, initargs=arguments)


class _Shared:
    """A setting of the process: the first that needs it sets it, and the last one restores it."""

    def __init__(self, setting: Callable[[], AbstractContextManager[object]]) -> None:
        self._setting, self._lock = setting, threading.Lock()
        self._users, self._undo = 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._undo.enter_context(self._setting())
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._undo.close()


@contextmanager
def _short_turns() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, 2e-4))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


_SHORT = _Shared(_short_turns)
_ALONE = _Shared(lambda: _limit("blas"))


def short_turns() -> AbstractContextManager[None]:
    """Lets Python's threads take turns after .2 instead of 5 milliseconds.

    A thread that starts a GPU's work gives up its turn at every operation. While other threads
    compute in Python, it would wait 5 milliseconds for its next turn, longer than the GPU computes.
    """
    return _SHORT


def one_thread_each(interface: str) -> AbstractContextManager[object]:
    """Returns a context in which each thread multiplies matrices alone.

    Args:
        interface: of the libraries that multiply: "blas", or "openmp" for torch, whose limit is the
            calling thread's.
    """
    return _ALONE if interface == "blas" else _limit(interface)


def _limit(interface: str) -> Any:
    return _libraries("torch" in sys.modules).limit(limits=1, user_api=interface)


@cache
def _libraries(has_torch: bool) -> Any:
    """Returns a controller of the libraries that are loaded; to find them takes a while."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def prepared(items: Iterator[Item]) -> Iterator[Item]:
    """Yields items in order; a thread makes the next ones meanwhile, for example beside a GPU."""
    end = object()
    with short_turns(), pool(1) as workers:
        waiting = deque(workers.submit(next, items, end) for _ in range(_PREPARED))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(workers.submit(next, items, end))
            yield item  # type: ignore[misc]


def put_off(items: Iterable[Item], settle: Callable[[Item], bool]) -> list[Item]:
    """Settles items in threads, a few at once; returns those that could not be settled, in order.

    Args:
        items: of which no more are held than are settled at once, and one.
        settle: settles one, or returns False.
    """
    remaining: list[Item] = []
    waiting: deque[tuple[Item, Future[bool]]] = deque()

    def take_first() -> None:
        item, settled = waiting.popleft()
        if not settled.result():
            remaining.append(item)

    with short_turns(), pool(_AT_ONCE) as workers:
        for item in items:
            waiting.append((item, workers.submit(settle, item)))
            if len(waiting) > _AT_ONCE:
                take_first()
        while waiting:
            take_first()
    return remaining

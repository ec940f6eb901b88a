"""Threads, which are begun only where there is memory for them."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Bytes that a thread needs to begin: its stack, and what Python allocates for it.
_ROOM = 16 << 20


def room_for(threads: int) -> None:
    """Tries whether there is memory for so many threads.

    Python waits for ever for a thread that finds no memory before it runs. It is mapped, as theirs is:
    memory of the heap that was freed is none for them.

    Raises:
        MemoryError: there is not.
    """
    how = {} if os.name == "nt" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
    try:
        mmap.mmap(-1, threads * _ROOM, **how).close()
    except OSError as error:
        raise MemoryError(f"for {threads} threads") from error


def pool(
    threads: int, begin: Callable[..., object] | None = None, *given: Any
) -> ThreadPoolExecutor:
    """So many threads to work in.

    Args:
        threads: how many.
        begin: what each of them does first.
        given: with these.

    Raises:
        MemoryError: there is no room for them.
    """
    room_for(threads)
    return ThreadPoolExecutor(threads, initializer=begin, initargs=given)

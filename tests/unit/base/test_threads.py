"""Threads begin only where there is memory for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from irtoolkit.base import threads
from tests.waiting import PATIENCE

# Python would wait for ever for a thread with the memory of its stack, and no more.
NO_ROOM = """
import os, resource, threading
from irtoolkit.base import threads
bytearray(31 << 20)  # from now on the C library keeps twice as much in its heap
blocks = [bytearray(20 << 20) for _ in range(2)]
del blocks
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (8 << 20) + (16 << 10)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    threads.pool(1)
    threading.Thread(target=print).start()
except MemoryError:
    os._exit(0)
os._exit(1)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited so on Linux")
def test_threads_without_room_are_not_begun() -> None:
    done = subprocess.run([sys.executable, "-c", NO_ROOM], timeout=PATIENCE, check=False)
    assert done.returncode == 0


def test_each_thread_begins_with_what_it_is_told() -> None:
    begun: list[int] = []
    with threads.pool(3, begun.append, 7) as pool:
        assert list(pool.map(abs, [-1, 2])) == [1, 2]
    assert set(begun) == {7}

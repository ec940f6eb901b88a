"""Threads begin only where there is memory for them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

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


def test_a_setting_of_the_process_is_restored_by_the_last_that_needs_it() -> None:
    """However two threads overlap: the first to begin may be the first to end."""
    before = sys.getswitchinterval()
    first, second = threads.short_turns(), threads.short_turns()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(2e-4)
    second.__exit__(None, None, None)
    assert sys.getswitchinterval() == pytest.approx(before)


# In a process of its own: what other tests have loaded may set threads, too.
OVERLAPPING = """
import numpy
from threadpoolctl import ThreadpoolController, threadpool_info
from irtoolkit.base import threads

def blas():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

with ThreadpoolController().limit(limits=2, user_api="blas"):
    first, second = threads.one_thread_each("blas"), threads.one_thread_each("blas")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas() <= {1}, blas()
    second.__exit__(None, None, None)
    assert blas() <= {2}, blas()
"""


def test_libraries_have_their_threads_again_after_searches_that_overlap() -> None:
    pytest.importorskip("threadpoolctl")
    subprocess.run([sys.executable, "-c", OVERLAPPING], timeout=PATIENCE, check=True)


def test_what_cannot_be_settled_is_returned_in_order() -> None:
    assert threads.put_off(range(10), lambda item: item not in (0, 3, 6, 9)) == [0, 3, 6, 9]


def test_an_error_of_settling_is_raised() -> None:
    def fail(_: Any) -> bool:
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        threads.put_off(range(10), fail)

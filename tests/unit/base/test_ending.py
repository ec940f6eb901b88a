"""Signals that end a process are heeded once, and leave time to clean up."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import nullcontext

import pytest

from irtoolkit.base.ending import Ended, delay_ending, status

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")

SCRIPT = """
import os, signal, sys
from irtoolkit.base.ending import heed, status
number = getattr(signal, sys.argv[1])
# Under nohup it is ignored from the start.
signal.signal(number, signal.SIG_IGN if sys.argv[2] == "ignored" else signal.SIG_DFL)
heed()
try:
    try:
        os.kill(os.getpid(), number)
        print("stayed")
    finally:
        os.kill(os.getpid(), number)
        print("cleaned", flush=True)
except KeyboardInterrupt as interrupt:
    sys.exit(status(interrupt))
"""


@pytest.mark.parametrize(
    ("name", "how", "expected"),
    [
        ("SIGTERM", "", (143, "cleaned")),
        ("SIGHUP", "", (129, "cleaned")),
        ("SIGHUP", "ignored", (0, "stayed cleaned")),
    ],
)
def test_a_process_cleans_up_whatever_comes_then(
    name: str, how: str, expected: tuple[int, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name, how], capture_output=True, text=True, check=False
    )
    assert (done.returncode, " ".join(done.stdout.split())) == expected, done.stderr


def test_the_status_says_which_signal() -> None:
    assert status(KeyboardInterrupt()) == 130
    assert status(Ended(signal.SIGTERM)) == 143


@pytest.mark.parametrize(
    ("requests", "expected"),
    [(0, ["finished"]), (1, ["requested", "finished"]), (2, ["requested"])],
)
def test_one_request_to_end_is_delayed_and_a_second_one_is_not(
    requests: int, expected: list[str]
) -> None:
    done: list[str] = []

    def work() -> None:
        with delay_ending(lambda: done.append("requested")):
            for _ in range(requests):
                signal.raise_signal(signal.SIGINT)
            done.append("finished")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) if requests else nullcontext():
        work()
    assert signal.getsignal(signal.SIGINT) is before
    assert done == expected

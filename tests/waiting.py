"""Waiting for processes and threads, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

# Seconds after which something that was to happen never will. No test passes or fails by it but one
# that hangs.
PATIENCE = 600


def wait_for(happened: Callable[[], object]) -> None:
    """Returns once something has happened; an AssertionError where it never does."""
    ends = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < ends, "it has not happened"
        time.sleep(0.01)

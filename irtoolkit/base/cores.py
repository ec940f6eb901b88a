"""The cores that this process may use."""

from __future__ import annotations

import os

# Set in workers that share a machine.
THREADS = "IRTOOLKIT_THREADS"


def cores() -> int:
    """Returns how many threads to start: $IRTOOLKIT_THREADS, or the cores of this process."""
    setting = os.environ.get(THREADS, "")
    if setting.isdecimal() and int(setting):
        return int(setting)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

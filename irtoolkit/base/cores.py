"""The cores that this process may use, and the memory that it takes."""

from __future__ import annotations

import os
import sys

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


def peak_memory() -> int:
    """Returns the most memory that this process has taken so far, in bytes."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    # psutil knows no peak on other systems.
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024

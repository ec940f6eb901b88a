"""The memory that this process takes, on any system."""

from __future__ import annotations

import sys


def peak_memory() -> int:
    """Returns the most memory that this process has taken so far, in bytes."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    # psutil knows no peak on other systems.
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024

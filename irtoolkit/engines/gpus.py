"""The GPUs of this machine, found without loading a numeric library."""

from __future__ import annotations

import os
from pathlib import Path

_DRIVER = Path("/proc/driver/nvidia/gpus")


def visible_gpus() -> list[str]:
    """What CUDA_VISIBLE_DEVICES may name: the GPUs that this process may use."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return [name for name in given.split(",") if name.strip()]
    try:
        return [str(number) for number in range(len(list(_DRIVER.iterdir())))]
    except OSError:
        return []

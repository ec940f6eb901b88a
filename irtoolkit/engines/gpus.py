"""The GPUs of this machine, detected without loading a numeric library."""

from __future__ import annotations

import logging
import os
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from irtoolkit.engines.engine import current

_DRIVER = Path("/proc/driver/nvidia/gpus")


def visible_gpus() -> list[str]:
    """Returns the GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        names = [name.strip() for name in given.split(",")]
        # CUDA reads them up to the first that names none, such as -1.
        return list(takewhile(lambda name: name and not name.startswith("-"), names))
    try:
        return [str(number) for number in range(len(list(_DRIVER.iterdir())))]
    except OSError:
        return []


def granted(ray: Any, gpus: float) -> float:
    """Returns the GPUs to request of a Ray cluster: if it has none, a request would wait for ever.

    Args:
        ray: the module, joined to the cluster.
        gpus: GPUs that each piece of work needs, if there are any.
    """
    return gpus if gpus and ray.cluster_resources().get("GPU") else 0.0


def workers_lack_gpus() -> bool:
    """Returns whether all workers lack GPUs, so that this process uses none either."""
    lacks = getattr(current(), "lacks_gpus", None)
    if lacks is None or not lacks():
        return False
    if visible_gpus():
        _say_none()
    return True


@cache
def _say_none() -> None:
    logging.getLogger(__name__).warning(
        "the Ray cluster has no GPU, unlike this machine: all is computed on CPUs"
    )

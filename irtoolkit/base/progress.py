"""Progress bars: on a terminal as text, in a notebook as a widget, and nowhere else."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any

# Set in workers, whose progress the driver shows.
QUIET = "IRTOOLKIT_QUIET"


def tqdm(*args: Any, disable: bool | None = None, **settings: Any) -> Any:
    """tqdm's bar for the place where this process shows its output.

    Args:
        args, settings: as tqdm takes them.
        disable: True shows nothing; None shows a bar on a terminal and in a notebook only.
    """
    if os.environ.get(QUIET):
        disable = True
    if disable is None and in_notebook():
        from tqdm.auto import tqdm as bar

        return bar(*args, disable=False, **settings)
    from tqdm import tqdm as text_bar

    where = settings.get("file") or sys.stderr
    if disable or (disable is None and not (hasattr(where, "isatty") and where.isatty())):
        # A bar that is not shown needs no thread to look after it, for which there may be no memory.
        text_bar = _unwatched()
    return text_bar(*args, disable=disable, **settings)


@cache
def _unwatched() -> Any:
    from tqdm import tqdm as text_bar

    return type("tqdm", (text_bar,), {"monitor_interval": 0})


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"

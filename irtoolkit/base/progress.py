"""Progress bars: on a terminal as text, in a notebook as a widget, and nowhere else.

Text would fill a notebook with lines, and stay in its file: without ipywidgets it has no bar.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.util import find_spec
from typing import Any

# Set in workers, whose progress the driver shows.
QUIET = "IRTOOLKIT_QUIET"
# Seconds before a notebook, which keeps each bar, gets one.
DELAY = 2


def tqdm(*args: Any, disable: bool | None = None, **settings: Any) -> Any:
    """Returns a tqdm bar that suits the output of this process: a terminal, a notebook or neither.

    Args:
        args, settings: as for tqdm.
        disable: True shows nothing; None shows a bar on a terminal, and a widget in a notebook if it
            lasts for more than two seconds.
    """
    if os.environ.get(QUIET):
        disable = True
    if disable is None and in_notebook():
        if find_spec("ipywidgets") is not None:
            from tqdm.notebook import tqdm as widget

            return widget(*args, disable=False, **{"delay": DELAY, **settings})
        disable = True
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
    """Returns whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"

"""Progress bars: on a terminal as text, in a notebook as a widget, and nowhere else."""

from __future__ import annotations

import os
import sys
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

    return text_bar(*args, disable=disable, **settings)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"

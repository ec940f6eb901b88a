"""Progress: on a terminal a bar, in a notebook a widget, in a file or pipe a line after 5 seconds and every 30,
and at the end.

Text would fill a notebook with lines, and stay in its file: without ipywidgets it has no bar.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

# Set in workers, whose progress the driver shows.
QUIET = "IRTOOLKIT_QUIET"
# Seconds before a notebook, which keeps each bar, gets one; and before one of what is mostly short.
DELAY = 2
# Seconds before the first line and between two lines where there is no terminal.
FIRST, EVERY = 5, 30


def tqdm(*args: Any, disable: bool | None = None, **settings: Any) -> Any:
    """Returns a tqdm bar that suits the output of this process: a terminal, a notebook or a file.

    Args:
        args, settings: as for tqdm.
        disable: True shows nothing; None shows a bar on a terminal, a widget in a notebook if it
            lasts for more than two seconds, and elsewhere a line after 5 seconds, every 30, and at
            the end of what had a line before.
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
    piped = disable is None and not (hasattr(where, "isatty") and where.isatty())
    if piped and where is not None:
        return _lines()(*args, **{**settings, "file": where})
    if _has_no_size(where):
        settings = {"ncols": 80, "nrows": 24, **settings}
    if disable or piped:
        # A bar that is not shown needs no thread to look after it, for which there may be no memory.
        text_bar = _unwatched()
    return text_bar(*args, disable=disable, **settings)


def _has_no_size(file: Any) -> bool:
    """Returns whether a file is a terminal of 0 columns or rows, on which tqdm shows nothing.

    Terminals in containers, and those that a program opens, often are.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return 0 in os.get_terminal_size(file.fileno())
    return False


@cache
def _unwatched() -> Any:
    from tqdm import tqdm as text_bar

    return type("tqdm", (text_bar,), {"monitor_interval": 0})


@cache
def _lines() -> Any:
    """A bar that writes a line now and then, for a file or a pipe."""
    from tqdm import tqdm as text_bar

    def start(bar: Any, *args: Any, **settings: Any) -> None:
        bar.due, bar.target, bar.printed = time.monotonic() + FIRST, settings["file"], None
        hidden = {"file": _Nowhere(), "mininterval": FIRST, "leave": False}
        text_bar.__init__(bar, *args, **{**settings, **hidden})

    def display(bar: Any, msg: str | None = None, pos: int | None = None) -> None:
        now = time.monotonic()
        if msg == "" or now < bar.due:  # the bar is cleared, or was shown a moment ago
            return
        bar.due = now + EVERY
        write(bar)

    def close(bar: Any) -> None:
        """Ends; a reader of earlier lines sees where it ended."""
        if bar.printed not in (None, bar.n):
            write(bar)
        text_bar.close(bar)

    def write(bar: Any) -> None:
        bar.printed = bar.n
        with contextlib.suppress(OSError, ValueError):
            print(bar, file=bar.target, flush=True)

    members = {"monitor_interval": 0, "__init__": start, "display": display, "close": close}
    return type("tqdm", (text_bar,), members)


@contextlib.contextmanager
def announced(what: str) -> Iterator[None]:
    """Writes a line on what is being done to standard error, if the block takes more than 5 seconds.

    A notebook gets none. What is done in several steps has a bar instead.
    """
    if os.environ.get(QUIET) or in_notebook():
        yield
        return
    target, unfinished = sys.stderr, _thread.allocate_lock()

    def wait() -> None:
        if not unfinished.acquire(timeout=FIRST):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                print(what, file=target, flush=True)

    with unfinished:
        # Thread.start would wait for ever for a thread without memory.
        with contextlib.suppress(RuntimeError):
            _thread.start_new_thread(wait, ())
        yield


class _Nowhere:
    """A file that what is written to is lost."""

    encoding = "utf-8"

    def write(self, text: str) -> None:
        """Drops a text."""

    def flush(self) -> None:
        """Does nothing."""


def in_notebook() -> bool:
    """Returns whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"

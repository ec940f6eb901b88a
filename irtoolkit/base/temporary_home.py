"""Temporary folders for libraries that must write in a home folder which cannot be written."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from irtoolkit.base.errors import InputError

_VARIABLE = "IR_DATASETS_HOME"
# Folders of this process, and the homes that they stand for.
_instead: dict[str, Path] = {}
_log = logging.getLogger(__name__)


def instead_of_home() -> None:
    """Gives ir_datasets, before its import, a temporary folder if its home cannot be written.

    The folder has links to the files of the home. Downloads are lost when the process ends, and a
    warning says so.
    """
    if "ir_datasets" in sys.modules:
        return
    home = Path(os.environ.get(_VARIABLE) or Path.home() / ".ir_datasets")
    with suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        if os.access(home, os.W_OK):
            return
    folder = temporary_folder()
    with suppress(OSError):
        for entry in home.iterdir():
            (folder / entry.name).symlink_to(entry)
    os.environ[_VARIABLE] = str(folder)
    _instead[str(folder)] = home
    _log.warning(
        "%s cannot be written: what ir_datasets downloads is lost when this ends; set %s to a folder"
        " of yours",
        home,
        _VARIABLE,
    )


def check_home_lasts() -> None:
    """Raises InputError if anything written in ir_datasets' home is lost when this process ends."""
    home = _instead.get(os.environ.get(_VARIABLE, ""))
    if home is not None:
        raise InputError(
            "cannot write: nothing can be registered here",
            file=home,
            remedy=f"set {_VARIABLE} to a folder of yours",
        )


def instead_of_cache() -> None:
    """Gives numba, before its import, a temporary cache folder if the user's cannot be written.

    It caches compiled functions beside their modules or in the user's cache, and refuses to compile
    if neither can be written.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    with suppress(OSError):
        (numba_folder := Path(cache) / "numba").mkdir(parents=True, exist_ok=True)
        if os.access(numba_folder, os.W_OK):
            return
    os.environ.setdefault("NUMBA_CACHE_DIR", str(temporary_folder()))


def temporary_folder() -> Path:
    """Returns a folder that is removed when this process ends."""
    folder, owner = Path(tempfile.mkdtemp(prefix="irtoolkit-home-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not in a fork
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder

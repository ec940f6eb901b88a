"""Folders for libraries that must write in a home, where the user's cannot be written."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from irtoolkit.base.errors import InputError

_VARIABLE = "IR_DATASETS_HOME"
# Folders of this process, and the homes that they stand for.
_instead: dict[str, Path] = {}
_log = logging.getLogger(__name__)


def instead_of_home() -> bool:
    """Gives ir_datasets a folder of this process, where its home cannot be written; whether it cannot.

    What is in the home is seen in the folder. What is downloaded is gone with the process, and a
    warning says so.
    """
    home = Path(os.environ.get(_VARIABLE) or Path.home() / ".ir_datasets")
    with suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        if os.access(home, os.W_OK):
            return False
    folder = temporary_folder()
    with suppress(OSError):
        for each in home.iterdir():
            (folder / each.name).symlink_to(each)
    os.environ[_VARIABLE] = str(folder)
    _instead[str(folder)] = home
    _log.warning(
        "%s cannot be written: what ir_datasets downloads is lost when this ends; set %s to a folder"
        " of yours", home, _VARIABLE,
    )  # fmt: skip
    return True


def refuse_lost_home() -> None:
    """Raises InputError if what is written in ir_datasets' home is gone when this process ends."""
    home = _instead.get(os.environ.get(_VARIABLE, ""))
    if home is not None:
        raise InputError(
            "cannot write: nothing can be registered here", file=home,
            remedy=f"set {_VARIABLE} to a folder of yours",
        )  # fmt: skip


def instead_of_cache() -> None:
    """Gives numba, which is imported, a folder of this process where it can write no other.

    It keeps compiled functions beside their modules or in the user's cache, and refuses to compile where
    both cannot be written.
    """
    import numba

    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    if numba.config.CACHE_DIR or os.access(Path(__file__).parent, os.W_OK):
        return
    with suppress(OSError):
        (own := Path(cache) / "numba").mkdir(parents=True, exist_ok=True)
        if os.access(own, os.W_OK):
            return
    numba.config.CACHE_DIR = str(temporary_folder())


def temporary_folder() -> Path:
    """A folder that is removed when this process ends."""
    folder, owner = Path(tempfile.mkdtemp(prefix="irtoolkit-home-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not in a fork
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder

"""Where irtoolkit keeps what it can make again: the cache of this machine, and a shared one."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path

from irtoolkit.base.paths import on_disk, url_of
from irtoolkit.base.temporary_home import temporary_folder

# Cache folders of this process.
_temporary: set[Path] = set()

CACHE_VARIABLE = "IRTOOLKIT_CACHE"


def cache_home() -> Path:
    """The cache folder: $IRTOOLKIT_CACHE, or else irtoolkit/ in the user's cache folder.

    Where that cannot be written, it is a folder of this process, in which what the other holds is found.
    One that the variable names must be there or be made. Where the variable names a URL, this is the
    folder of this machine in front of it.
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named and url_of(named) is None:
        own = on_disk(named).absolute()
        return (_instead_of(own) if own.is_dir() else None) or own
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "irtoolkit"
    return _instead_of(usual) or usual


def is_temporary_cache() -> bool:
    """Whether the cache folder is gone when this process ends, because the usual one cannot be written."""
    return cache_home() in _temporary


@cache
def _instead_of(usual: Path) -> Path | None:
    """Returns a folder of this process where the usual one of the cache cannot be written."""
    with suppress(OSError):
        usual.mkdir(parents=True, exist_ok=True)
        if os.access(usual, os.W_OK):
            return None
    _temporary.add(folder := temporary_folder())
    with suppress(OSError):
        for each in usual.iterdir():
            _link(each, folder / each.name)
    return folder


def _link(there: Path, here: Path) -> None:
    """Links a file of the cache, or what is in a folder of it, so that more can be added."""
    if not there.is_dir():
        here.symlink_to(there)
        return
    here.mkdir()
    with suppress(OSError):  # what its owner alone may read
        for each in there.iterdir():
            (here / each.name).symlink_to(each)


def shared_cache() -> str | None:
    """The URL of a cache that machines share, where $IRTOOLKIT_CACHE names one."""
    named = os.environ.get(CACHE_VARIABLE)
    return url_of(named) if named else None


def cache_mark() -> str:
    """What tells the cache folder of this machine from others; "" where it has no mark.

    A folder that can be written gets one when it is first asked for.
    """
    mark = cache_home() / "mark"
    with suppress(OSError):
        return mark.read_text()
    half = mark.with_name(f".mark-{secrets.token_hex(8)}")
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        half.write_text(secrets.token_hex(16))
        with suppress(FileExistsError):
            os.link(half, mark)  # whole, and never in the place of another process's
        return mark.read_text()
    except OSError:
        return ""
    finally:
        half.unlink(missing_ok=True)

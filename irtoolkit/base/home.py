"""The caches for what irtoolkit can compute again: one on this machine, and a shared one."""

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
    """Returns the cache folder: $IRTOOLKIT_CACHE, or else irtoolkit/ in the user's cache folder.

    If that cannot be written, the folder is a temporary one of this process with links to the files
    of the other. A folder that the variable names is used even if it does not exist yet. If the
    variable names a URL, this is the folder on this machine in front of it.
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named and url_of(named) is None:
        folder = on_disk(named).absolute()
        return (_instead_of(folder) if folder.is_dir() else None) or folder
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "irtoolkit"
    return _instead_of(usual) or usual


def is_temporary_cache() -> bool:
    """Returns whether the cache folder is temporary, as the usual one cannot be written."""
    return cache_home() in _temporary


@cache
def _instead_of(usual: Path) -> Path | None:
    """Returns a temporary folder if the usual cache cannot be written, otherwise None."""
    with suppress(OSError):
        usual.mkdir(parents=True, exist_ok=True)
        if os.access(usual, os.W_OK):
            return None
    _temporary.add(folder := temporary_folder())
    with suppress(OSError):
        for entry in usual.iterdir():
            _link(entry, folder / entry.name)
    return folder


def _link(source: Path, target: Path) -> None:
    """Links a cached file, or the entries of a cached folder, so that others can be added."""
    if not source.is_dir():
        target.symlink_to(source)
        return
    target.mkdir()
    with suppress(OSError):  # what its owner alone may read
        for entry in source.iterdir():
            (target / entry.name).symlink_to(entry)


def shared_cache() -> str | None:
    """Returns the URL of a cache that machines share, if $IRTOOLKIT_CACHE names one."""
    named = os.environ.get(CACHE_VARIABLE)
    return url_of(named) if named else None


def cache_mark() -> str:
    """Returns the mark of this machine's cache folder, unlike that of any other; "" if it has none.

    A folder that can be written gets a mark at the first call.
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

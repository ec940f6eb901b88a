"""Detection of changed files, by size, times and inode."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath
from irtoolkit.base.paths import is_url, on_disk

Stamps = Mapping[StrPath, tuple[int, ...] | None]


def stamp(path: StrPath) -> tuple[int, ...] | None:
    """Returns values that change when a file does; None for URLs, pipes and missing files."""
    if is_url(path):
        return None
    try:
        status = os.stat(on_disk(path))
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@contextmanager
def unchanged(paths: Iterable[StrPath]) -> Iterator[None]:
    """Raises InputError if one of the files that a block reads changes meanwhile.

    Raises:
        InputError: a file changed, or was replaced by another.
    """
    before = stamps(paths)
    yield
    refuse_changed(before)


def stamps(paths: Iterable[StrPath]) -> Stamps:
    """Returns the stamps of some files, to be compared later."""
    return {path: stamp(path) for path in paths}


def refuse_changed(before: Stamps) -> None:
    """Raises InputError if a file has changed."""
    for path, earlier in before.items():
        if stamp(path) != earlier:
            raise InputError(
                "it changed while it was read", file=path, remedy="try again when it is complete"
            )

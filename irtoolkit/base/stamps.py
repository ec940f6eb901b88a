"""Whether a file is still what it was: its size, its times and its place on the disk."""

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
    """What changes when a file does; None of a URL, a pipe, and of what is not there."""
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
    """Refuses what a block has read where one of its files changed meanwhile.

    Raises:
        InputError: a file changed, or another one took its place.
    """
    before = stamps(paths)
    yield
    refuse_changed(before)


def stamps(paths: Iterable[StrPath]) -> Stamps:
    """The stamps of some files, to be compared later."""
    return {path: stamp(path) for path in paths}


def refuse_changed(before: Stamps) -> None:
    """Raises InputError where a file is not what it was."""
    for path, known in before.items():
        if stamp(path) != known:
            raise InputError(
                "it changed while it was read", file=path, remedy="try again when it is complete"
            )

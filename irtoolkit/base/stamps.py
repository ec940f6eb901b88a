"""Detection of changed files, by size, times and inode; hashes that are computed once for each version."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, sha256
from irtoolkit.base.home import cache_home
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
    check_unchanged(before)


def stamps(paths: Iterable[StrPath]) -> Stamps:
    """Returns the stamps of some files, to be compared later."""
    return {path: stamp(path) for path in paths}


def check_unchanged(before: Stamps) -> None:
    """Raises InputError if a file has changed."""
    for path, earlier in before.items():
        if stamp(path) != earlier:
            raise InputError(
                "it changed while it was read", file=path, remedy="try again when it is complete"
            )


# A file that changed within this time may change again without a new time stamp (git calls such a
# file racy), so its hash is not remembered.
_SETTLED_SECONDS = 2.0


def content_hash(path: Path) -> str:
    """Returns the SHA-256 of a file, cached while its size and time stamps are unchanged."""
    status = path.stat()
    stamp = f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ctime_ns}\0{status.st_ino}"
    memo = cache_home() / "hashes" / hashlib.sha256(stamp.encode()).hexdigest()
    with suppress(OSError, UnicodeDecodeError):
        stored = memo.read_text()
        if len(stored) == 64:
            return stored
    digest = sha256(path)
    if time.time() - max(status.st_mtime, status.st_ctime) > _SETTLED_SECONDS:
        with suppress(OSError):
            memo.parent.mkdir(parents=True, exist_ok=True)
            memo.write_text(digest)
    return digest

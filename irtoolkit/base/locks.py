"""Locks between processes, each a file that one process at a time holds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath
from irtoolkit.base.targets import check_target_name

# Seconds between attempts to get a lock that another process has.
_PAUSE = 0.02


@contextmanager
def locked(
    path: StrPath, wait: bool = True, *, remove: bool = False, remedy: str | None = None
) -> Iterator[bool]:
    """Keeps other processes and threads out of the block while this one is in it.

    The lock ends with the block, or with the process however that ends.

    Args:
        path: the lock file, which is made if it does not exist. It is empty, and must not be used for
            anything else: Windows lets nobody read a locked file.
        wait: whether to wait until the lock is free. If not, the block is entered in any case.
        remove: whether to delete the file at the end of the block.
        remedy: what the user can do if the file cannot be made.

    Yields:
        Whether this process has the lock. False only without `wait`, when another has it.

    Raises:
        InputError: the file cannot be made.
    """
    from filelock import FileLock, Timeout

    # Of its own, so that threads that lock one path wait for each other too.
    lock = FileLock(path, is_singleton=False)
    try:
        check_target_name(path)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=wait, poll_interval=_PAUSE)
    except Timeout:
        yield False
        return
    except OSError as error:
        raise InputError(
            f"cannot write: {error.strerror or error}",
            file=path,
            remedy=remedy or "make its folder writable",
        ) from None
    try:
        yield True
    finally:
        try:
            if remove:
                _remove_own(path)
        finally:
            lock.release()


def remove_left(path: StrPath) -> None:
    """Removes a lock file that a killed process has left, unless another process has the lock."""
    if os.path.exists(path):
        with suppress(InputError), locked(path, wait=False, remove=True):
            pass


def _remove_own(path: StrPath) -> None:
    """Removes the file of a lock that this process holds, even if it is interrupted meanwhile.

    The lock is still held: a process waiting for the file sees that its name is gone, and locks a
    new file. Windows keeps a file that is open.
    """
    number = None
    try:
        with suppress(OSError):
            number = os.stat(path)
            os.unlink(path)
    except KeyboardInterrupt:
        # Perhaps it is removed, and the name is that of another process's lock.
        with suppress(OSError):
            if number is None or os.path.samestat(number, os.stat(path)):
                os.unlink(path)
        raise

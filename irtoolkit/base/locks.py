"""Locks between processes, each a file that one process at a time holds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath

# Seconds between attempts, on systems that cannot wait for a lock.
_PAUSE = 0.05


@contextmanager
def locked(
    path: StrPath, wait: bool = True, *, remove: bool = False, remedy: str | None = None
) -> Iterator[bool]:
    """Keeps other processes from the block while this one is in it.

    The lock ends with the block, or with the process however that ends.

    Args:
        path: the lock file, which is made where it is not there. It holds nothing, and no other
            file may be used for it: Windows lets nobody read a locked file.
        wait: whether to wait until the lock is free. If not, the block is entered in any case.
        remove: whether to delete the file at the end of the block.
        remedy: what the user can do where the file cannot be made.

    Yields:
        Whether this process has the lock. False only without `wait`, when another has it.

    Raises:
        InputError: the file cannot be made.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        file = _acquired(path, wait)
    except OSError as error:
        raise InputError(
            f"cannot write: {error.strerror or error}",
            file=path,
            remedy=remedy or "make its folder writable",
        ) from None
    if file is None:
        yield False
        return
    with file:
        try:
            yield True
        finally:
            if remove:
                with suppress(OSError):  # Windows keeps a file that is open
                    os.unlink(path)
            _release(file)


def _acquired(path: StrPath, wait: bool) -> IO[bytes] | None:
    """The open file of a lock that this process now has; None when another has it."""
    while True:
        file = open(path, "ab")  # noqa: SIM115 closed by the caller
        try:
            if not _acquire(file, wait):
                file.close()
                return None
            # The process that had the lock may have deleted the file. A lock on a file that has
            # no name keeps nobody out, so another file is locked then.
            if os.path.exists(path) and os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        except FileNotFoundError:  # deleted between the two looks
            pass
        except BaseException:
            file.close()
            raise
        file.close()


def _acquire(file: IO[bytes], wait: bool) -> bool:
    """Locks an open file; False when another process has locked it."""
    try:
        import fcntl
    except ImportError:
        return _acquire_on_windows(file, wait)
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _acquire_on_windows(file: IO[bytes], wait: bool) -> bool:
    import msvcrt

    while True:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            if not wait:
                return False
            time.sleep(_PAUSE)
        else:
            return True


def _release(file: IO[bytes]) -> None:
    """Unlocks a file that is closed next, which is enough where there is fcntl."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

"""Files and folders that appear only when they are complete and on disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_path, check_writable
from irtoolkit.base.targets import check_target_name
from irtoolkit.base.temporaries import begin_beside


def write_durably(path: Path, data: bytes) -> None:
    """Puts a file in place of another: after a crash or a power cut it is the old or the new one.

    Raises:
        InputError: the disk refuses; the old file is left as it was.
    """
    with atomic_path(path) as temporary, open(temporary, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flushes the names in a folder to disk; does nothing on Windows, which needs no flush."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def atomic_folder(path: StrPath) -> Iterator[Path]:
    """Yields a temporary sibling of a folder, which becomes the folder when the block succeeds.

    When the block raises, the temporary folder is removed and nothing is left.

    Raises:
        InputError: see `empty_folder`; or the disk is full.
    """
    target = empty_folder(path)
    temporary = begin_beside(target)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if target.exists():  # an empty folder; some systems do not replace one
            target.rmdir()
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror or error}", file=target) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def empty_folder(path: StrPath) -> Path:
    """Returns the absolute path of a folder to write, which is not there yet or empty.

    Raises:
        InputError: there is something in it already, or it cannot be written.
    """
    check_target_name(path, folder=True)  # an empty name would become the current folder
    target = Path(os.path.abspath(path))
    check_writable(target, folder=True)
    if target.is_dir() and any(target.iterdir()):
        raise InputError(
            "the folder is not empty", file=path, remedy="name another, or remove this one"
        )
    return target

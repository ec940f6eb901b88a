"""Files that are completely on disk before the program reports that they are written."""

from __future__ import annotations

import os
from pathlib import Path

from irtoolkit.base.files import atomic_path


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

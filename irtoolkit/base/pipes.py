"""Pipes and other streams, whose content can be read only once: they are copied to a file first.

Readers may then open them as often as they like.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from functools import cache
from itertools import count
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.packed import opened
from irtoolkit.base.paths import StrPath, call, on_disk, shown
from irtoolkit.base.streams import CLOSED, stream_of
from irtoolkit.base.temporary_home import temporary_folder

# Copies of streams that this process has opened, by what the system calls them.
_copies: dict[tuple[int, int], Path] = {}
_numbers = count()


def is_pipe(path: StrPath) -> bool:
    """Returns whether a path is a pipe, or names an open file of this process (/dev/stdin)."""
    try:
        mode = os.stat(on_disk(path)).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or (stream_of(path) is not None and not stat.S_ISDIR(mode))


def is_copied(number: int) -> bool:
    """Returns whether an open file has been read to its end and copied."""
    try:
        status = os.fstat(number)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) in _copies


def copy_of_pipe(path: StrPath, ending: str | None = None) -> Path:
    """Returns a file with the content of a pipe, which is there until this process ends.

    A stream that is open when this process begins, such as /dev/stdin or /dev/fd/63, is copied once: all
    who read it get the same content. A pipe with a name may be written again, and is copied each time.
    Messages call the copy by the name of the pipe.

    Args:
        path: a pipe, see `is_pipe`.
        ending: the end of the copy's name; by default that of the pipe, or one that fits the content.

    Raises:
        InputError: the pipe cannot be read, or the disk is full.
    """
    number = stream_of(path)
    try:
        if number is None:
            return _copied(path, os.open(on_disk(path), os.O_RDONLY), ending)
        if number in CLOSED:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        status = os.fstat(number)
        key = status.st_dev, status.st_ino
        if key not in _copies:
            _copies[key] = _copied(path, os.dup(number), ending)
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", file=path) from None
    return _copies[key]


def _copied(path: StrPath, number: int, ending: str | None) -> Path:
    name = on_disk(path).name
    folder = _folder() / str(next(_numbers))
    folder.mkdir()
    copy = folder / f"{name}{ending or ''}"
    with open(number, "rb") as stream, open(copy, "wb") as out:
        shutil.copyfileobj(stream, out, 1 << 20)
    if ending is None and not copy.suffix:
        copy = copy.rename(copy.with_suffix(_ending_of(copy)))
    call(copy, shown(path))
    return copy


def _ending_of(path: Path) -> str:
    """Returns the end of a file's name that fits its first line: text in lines, unless it is marked up."""
    try:
        with opened(path) as text:
            first = next((line for line in text if line.strip()), b"").lstrip()
    except Exception:  # its reader says what is wrong
        return ""
    if first[:1] in (b"{", b"<"):
        return ".jsonl" if first[:1] == b"{" else ".trec"
    return ".tsv" if b"\t" in first else ".txt"


@cache
def _folder() -> Path:
    """Returns a folder that is removed when this process ends."""
    return temporary_folder()

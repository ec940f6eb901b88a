"""Names of this process's open files, such as /dev/stdout: they are appended to, not replaced."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from irtoolkit.base.paths import StrPath, is_url, on_disk

_NUMBERED = re.compile(r"/(?:dev|proc/(?:self|thread-self))/fd/([0-9]+)")
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_SLASHES = re.compile(r"^//+")
# As many as Linux follows.
_MOST_LINKS = 40

# Numbers of standard streams that were closed when this process began: nothing reads what goes there.
CLOSED: set[int] = set()


def stream_of(path: StrPath) -> int | None:
    """Returns the number of the open file that a path or link names; None for other paths.

    A link to /dev/stdout finally leads to the file that a shell has opened, whose own name does not
    tell that it is to be appended to. So links are followed one by one.
    """
    if is_url(path):
        return None
    name = os.fspath(on_disk(path))
    with suppress(OSError, ValueError):  # no link; no working folder; a name with a NUL
        for _ in range(_MOST_LINKS):
            name = _SLASHES.sub("/", os.path.normpath(os.path.join(os.getcwd(), name)))
            folder, last = os.path.split(name)
            real_folder = os.path.realpath(folder)
            for candidate in (name, os.path.join(real_folder, last)):
                if (number := _number(candidate)) is not None:
                    return number
            name = os.path.join(real_folder, os.readlink(name))
    return None


def _number(name: str) -> int | None:
    numbered = _NUMBERED.fullmatch(name.replace(f"/proc/{os.getpid()}/", "/proc/self/"))
    return int(numbered[1]) if numbered else _STANDARD.get(name)


def is_special(path: StrPath) -> bool:
    """Returns whether a path is a device, a pipe, or an open file of this process."""
    if stream_of(path) is not None:
        return True
    target = on_disk(path)
    return os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target)


def check_open(number: int) -> None:
    """Raises OSError if an open file is closed or not open for writing."""
    if number in CLOSED:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    os.write(number, b"")


@contextmanager
def unheard() -> Iterator[None]:
    """Hides what a library writes to standard error without Python."""
    sys.stderr.flush()
    before = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextmanager
def into_stream(number: int) -> Iterator[Path]:
    """Yields a temporary file, whose content goes to an open file when the block succeeds.

    If the open file were opened again by its name, it would be overwritten from its beginning.
    """
    with tempfile.TemporaryDirectory(prefix="irtoolkit-") as folder:
        half = Path(folder) / "whole"
        yield half
        check_open(number)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        with open(half, "rb") as whole, open(os.dup(number), "wb") as out:
            shutil.copyfileobj(whole, out, 1 << 20)

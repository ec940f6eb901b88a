"""Packed files, read piece by piece, and refused where they unpack to very much more than they are."""

from __future__ import annotations

import gzip
import io
import os
import stat
from pathlib import Path
from typing import IO, Any, cast

from irtoolkit.base.errors import InputError

# Text that somebody wrote or a program ranked packs to a twentieth or so, the most regular qrels to a
# hundredth. gzip reaches 1:1,000 where one byte is repeated, so that 3 MB would fill 3 GB.
MAX_RATIO = 200
# Up to this many bytes nothing is refused, whatever the ratio.
SMALL = 64 << 20
_PIECE = 1 << 18


def opened_gzip(path: Path) -> IO[bytes]:
    """The unpacked content of a .gz, of which no more than a piece is in memory.

    Reading it raises InputError where more than `SMALL` bytes and `MAX_RATIO` times the size of the
    file come out, gzip's errors where it is damaged.
    """
    unpacked = _Unpacked(path)
    return cast(IO[bytes], io.BufferedReader(cast(io.RawIOBase, unpacked), _PIECE))


def refuse_ratio(path: str | os.PathLike[str], unpacked: int, packed: int) -> None:
    """Raises InputError where a packed file unpacks to very much more than it is."""
    if unpacked > max(SMALL, MAX_RATIO * packed):
        raise InputError(
            f"the file unpacks to more than {MAX_RATIO} times its size of {packed:,} bytes",
            file=path,
            remedy="if that is meant, unpack it and give the plain file",
        )


class _Unpacked(io.RawIOBase):
    """The content of a .gz, which counts what comes out."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file = _Counted(path)
        self._packed = gzip.GzipFile(fileobj=self._file, mode="rb")
        self._out = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        # A piece at a time, so that what comes before damage is read.
        data = self._packed.read1(len(into))
        into[: len(data)] = data
        self._out += len(data)
        refuse_ratio(self._path, self._out, self._file.size)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
            self._file.close()
        super().close()


class _Counted(io.FileIO):
    """A file that knows its size: that of a pipe is what has come out of it so far."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        found = os.fstat(self.fileno())
        self._whole = found.st_size if stat.S_ISREG(found.st_mode) else 0
        self._read = 0

    @property
    def size(self) -> int:
        return max(self._whole, self._read)

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(-1 if size is None else size)
        self._read += len(data)
        return data

"""Text files opened for reading, whatever they are packed with: piece by piece, as UTF-8.

The first bytes of a file tell how it is packed, not its name. A file that unpacks to very much more
than its size is refused, and so is one that is not text.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from irtoolkit.base import forms
from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import StrPath

# Text that somebody wrote or a program ranked packs to a twentieth or so, the most regular qrels to a
# hundredth. gzip reaches 1:1,000 where one byte is repeated, so that 3 MB would fill 3 GB.
MAX_RATIO = 200
# Up to this many bytes nothing is refused, whatever the ratio.
SMALL = 64 << 20
_PIECE = 1 << 18


def opened(path: Path) -> IO[bytes]:
    """Opens a file to read its text, unpacked and as UTF-8, one piece in memory at a time.

    Reading raises InputError if more than `SMALL` bytes and `MAX_RATIO` times the size of the file
    come out, UnicodeDecodeError if UTF-16 is damaged, and the errors of `gzip`, `bz2`, `lzma`,
    `zipfile` and pyarrow if the packed data is.

    Raises:
        InputError: the file is not text, or is a .zip with several files.
    """
    file = _Counted(path)
    unpacked = _unpacked(path, file)
    head = unpacked.peek(forms.HEAD)[: forms.HEAD]
    if form := forms.other_than_text(head):
        unpacked.close()
        raise InputError(
            f"the file is {form}, and text is expected",
            file=path,
            remedy="unpack it, or write its content as UTF-8 text",
        )
    if coding := forms.encoding(head):
        return _buffered(_Recoded(unpacked, coding))
    return unpacked


def is_plain(path: Path) -> bool:
    """Returns whether the bytes of a file are its text, neither packed nor in UTF-16."""
    head = forms.head_of(path)
    kinds = (forms.packing, forms.encoding, forms.other_than_text)
    return not any(kind(head) for kind in kinds)


def check_ratio(path: str | os.PathLike[str], unpacked: int, packed: int) -> None:
    """Raises InputError if a packed file unpacks to very much more than its size."""
    if unpacked > max(SMALL, MAX_RATIO * packed):
        raise InputError(
            f"the file unpacks to more than {MAX_RATIO} times its size of {packed:,} bytes",
            file=path,
            remedy="if that is meant, unpack it and give the plain file",
        )


def _unpacked(path: Path, file: _Counted) -> io.BufferedReader:
    raw = _buffered(file)
    form = forms.packing(raw.peek(forms.HEAD))
    if form is None:
        return raw
    if form == "zip":
        raw.close()
        member, entry = opened_zip(path)
        check_ratio(path, entry.file_size, entry.compress_size)
        return _buffered(member)
    return _buffered(_Unpacked(path, file, _READERS[form](raw)))


def _arrow(codec: str) -> Callable[[IO[bytes]], Callable[[int], bytes]]:
    def reader(raw: IO[bytes]) -> Callable[[int], bytes]:
        import pyarrow as pa

        stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), codec)
        return cast(Callable[[int], bytes], stream.read)

    return reader


# Functions that read a piece of what is unpacked, of a packed file, by how it is packed. A piece at a
# time, so that what comes before damage is read.
_READERS: dict[str, Callable[[IO[bytes]], Callable[[int], bytes]]] = {
    "gzip": lambda raw: gzip.GzipFile(fileobj=raw, mode="rb").read1,
    "bzip2": lambda raw: bz2.BZ2File(raw).read1,
    "xz": lambda raw: lzma.LZMAFile(raw).read1,  # noqa: SIM115 it is closed with its file
    "zstd": _arrow("zstd"),
    "lz4": _arrow("lz4"),
}


def _buffered(raw: Any) -> io.BufferedReader:
    return io.BufferedReader(cast(io.RawIOBase, raw), _PIECE)


class _Unpacked(io.RawIOBase):
    """The unpacked content of a file, which counts its bytes as they are read."""

    def __init__(self, path: Path, file: _Counted, read: Callable[[int], bytes]) -> None:
        super().__init__()
        self._path, self._file, self._read = path, file, read
        self._out = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        data = self._read(len(into))
        into[: len(data)] = data
        self._out += len(data)
        check_ratio(self._path, self._out, self._file.size)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _Recoded(io.RawIOBase):
    """Text of another encoding, as UTF-8."""

    def __init__(self, raw: io.BufferedReader, coding: str) -> None:
        super().__init__()
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder(coding)()
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._rest:
            data = self._raw.read1(_PIECE)
            self._rest = self._decoder.decode(data, final=not data).encode()
            if not data:
                break
        piece, self._rest = self._rest[: len(into)], self._rest[len(into) :]
        into[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _Counted(io.FileIO):
    """A file that knows its size; the size of a pipe is the number of bytes read so far."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "rb")
        status = os.fstat(self.fileno())
        self._whole = status.st_size if stat.S_ISREG(status.st_mode) else 0
        self._read = 0

    @property
    def size(self) -> int:
        return max(self._whole, self._read)

    def readinto(self, into: Any) -> int | None:
        count = super().readinto(into)
        self._read += count or 0
        return count


# Flag of a member of a .zip that a password protects.
_ENCRYPTED = 1
# A file that every workbook has.
_WORKBOOK = "[Content_Types].xml"


def opened_zip(path: StrPath) -> tuple[IO[bytes], zipfile.ZipInfo]:
    """Opens the one file of an archive; files that macOS adds to archives are ignored.

    Returns:
        The opened file, and its entry, whose size zipfile does not read beyond.
    """
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith(("/", ".DS_Store"))]
        names = [name for name in names if not name.startswith("__MACOSX/")]
        if _WORKBOOK in names:
            raise InputError(
                "the file is an Office document, and text is expected",
                file=path,
                remedy="save the sheet as text: tab-separated, UTF-8 or Unicode",
            )
        if len(names) != 1:
            raise InputError(
                f"the archive has {len(names)} files, not one",
                file=path,
                remedy="unpack it, and give the file that is meant",
            )
        entry = archive.getinfo(names[0])
        if entry.flag_bits & _ENCRYPTED:
            raise InputError(
                "the archive has a password", file=path, remedy="unpack it, and give the file"
            )
        # The member keeps the archive open for itself.
        return archive.open(names[0]), entry

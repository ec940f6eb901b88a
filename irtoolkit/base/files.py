"""Strict reading of text and atomic writing of files, on this machine and at URLs."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO, cast

from irtoolkit.base.errors import InputError
from irtoolkit.base.forms import head_of, packing
from irtoolkit.base.missing import no_such_file
from irtoolkit.base.packed import opened
from irtoolkit.base.paths import StrPath as StrPath
from irtoolkit.base.paths import on_disk, split_query, url_of
from irtoolkit.base.pipes import copy_of_pipe, is_pipe
from irtoolkit.base.streams import into_stream, is_special, stream_of
from irtoolkit.base.targets import check_packing, check_target_name
from irtoolkit.base.targets import check_writable as check_writable
from irtoolkit.base.temporaries import begin_beside
from irtoolkit.base.temporaries import is_temporary as is_temporary

# UTF-8's byte order mark.
_MARK = b"\xef\xbb\xbf"
_CONVERT = "convert the file to UTF-8, for example with iconv; in Excel, save it as Unicode text or CSV UTF-8"


def is_gzip(path: StrPath) -> bool:
    """Returns whether a file is gzip by its name."""
    return _name(path).endswith(".gz")


def is_parquet(path: StrPath) -> bool:
    """Returns whether a file is Parquet by its name."""
    return _name(path).endswith(".parquet")


def _name(path: StrPath) -> str:
    url = url_of(path)
    return os.fspath(path) if url is None else split_query(url)[0]


def local(path: StrPath) -> Path:
    """Returns a path on this machine for a file to be read.

    A file at a URL is copied here if it has changed. The content of a pipe, which can be read only
    once, is copied too: code that opens a file twice calls this once.

    Raises:
        InputError: the URL cannot be read.
    """
    url = url_of(path)
    if url is not None:
        from irtoolkit.base.copies import copied

        return copied(url)
    if not os.fspath(path) or "\0" in os.fspath(name := on_disk(path)):
        raise InputError(f"{os.fspath(path)!r} is no name of a file")
    return copy_of_pipe(name) if is_pipe(name) else name


def is_file(path: StrPath) -> bool:
    """Returns whether there is a file, on this machine or at a URL."""
    url = url_of(path)
    if url is not None:
        from irtoolkit.base import remote

        return remote.is_file(url)
    try:
        return on_disk(path).is_file()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # no file has such a name
            return False
        raise


@contextmanager
def atomic_path(path: StrPath, *, like: StrPath | None = None) -> Iterator[Path]:
    """Yields a temporary file that becomes `path` when the block succeeds.

    The temporary file is a sibling of a path on this machine; a file for a URL is first written on
    this machine. If the block raises, the temporary file is removed and `path` is left as it was;
    leftovers of killed processes in the folder are removed too. Several processes, on several
    machines, may write one file: the last complete one stays.

    Args:
        path: a file or URL; an existing file keeps its permissions.
        like: a file whose permissions a new one gets.
    """
    url = url_of(path)
    if url is not None:
        from irtoolkit.base.copies import uploaded

        with uploaded(url) as files:
            yield files[0]
        return
    target = on_disk(path)
    check_target_name(target)
    if not target.name:
        raise InputError("cannot write: it names no file", file=path)
    if (number := stream_of(path)) is not None:
        try:
            with into_stream(number) as half:
                yield half
        except OSError as error:
            raise InputError(f"cannot write: {error.strerror or error}", file=target) from error
        return
    if is_special(target):
        try:
            yield target  # it is written to, not replaced
        except BrokenPipeError:
            raise  # its reader has all that it wants
        except OSError as error:
            raise InputError(f"cannot write: {error.strerror or error}", file=target) from error
        return
    with _replacing(_followed(target), like) as temporary:
        yield temporary


def _followed(path: Path) -> Path:
    """Returns the file that a link leads to; any other path as it is."""
    if not os.path.islink(path):
        return path
    target = Path(os.path.realpath(path))
    if os.path.islink(target):
        raise InputError("cannot write: links that lead to each other", file=path)
    return target


@contextmanager
def _replacing(target: Path, like: StrPath | None) -> Iterator[Path]:
    """Yields a temporary file beside a file of this machine, which it replaces."""
    temporary = begin_beside(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with suppress(OSError):  # a file that only its owner may read stays so
            source = target if like is None or target.exists() else on_disk(like)
            temporary.chmod(stat.S_IMODE(source.stat().st_mode))
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror or error}", file=target) from error
    finally:
        with suppress(OSError):  # where nothing could be written there is nothing to remove
            temporary.unlink()


@contextmanager
def atomic_text(path: StrPath, *, like: StrPath | None = None) -> Iterator[TextIO]:
    """Yields a UTF-8 text file (gzip when the name ends in .gz) that appears only when complete."""
    check_packing(path)
    with (
        atomic_path(path, like=like) as temporary,
        text_into(temporary, packed=is_gzip(path)) as out,
    ):
        yield out


@contextmanager
def text_into(path: Path, *, packed: bool) -> Iterator[TextIO]:
    """Yields a file of this machine, opened to write UTF-8 text, plain or packed with gzip."""
    if packed:
        # No file name and no time in the header: the same content gives the same bytes.
        with (
            open(path, "wb") as raw,
            gzip.GzipFile("", "wb", 6, raw, mtime=0) as zipped,
            io.TextIOWrapper(cast(IO[bytes], zipped), encoding="utf-8", newline="\n") as out,
        ):
            yield out
    else:
        with open(path, "w", encoding="utf-8", newline="\n") as out:
            yield out


def read_lines(path: StrPath, *, empty: bool = True) -> Iterator[tuple[int, str]]:
    """Yields (line number from 1, line without its end) of a UTF-8 text file.

    The file is plain, or packed with gzip, bzip2, xz, zstd or lz4, or a .zip with one file in it;
    its first bytes tell which, whatever its name is. A byte order mark is dropped, and text that
    begins with a UTF-16 one is read as UTF-16. CRLF and LF both end lines.

    Args:
        path: a file or URL.
        empty: whether to yield empty lines; without them, a file full of empty lines is read faster.

    Raises:
        InputError: the file is missing, is not UTF-8 (with the line), has damaged packed data, unpacks
            to very much more than its size, is a .zip with several files, or is not text.
    """
    with _reading(path) as reader, opened(local(path)) as raw:
        for line in raw:
            reader.line += 1
            if not empty and line == b"\n":
                reader.line += _skip_empty(raw)
                continue
            if reader.line == 1:
                line = line.removeprefix(_MARK)
            yield reader.line, _utf8(line, path, reader.line).rstrip("\r\n")


def first_line(path: StrPath) -> tuple[int, str]:
    """Returns the number and text of the first line that is not blank; (1, "") of a blank file.

    Raises:
        InputError: as `read_lines`.
    """
    return next(((number, line) for number, line in read_lines(path) if line.strip()), (1, ""))


def _skip_empty(raw: IO[bytes]) -> int:
    """Reads the empty lines that follow, of which there may be millions, and returns their number."""
    skipped = 0
    buffered = cast(io.BufferedReader, raw)
    while ahead := buffered.peek():
        count = len(ahead) - len(ahead.lstrip(b"\n"))
        buffered.read(count)
        skipped += count
        if count < len(ahead):
            break
    return skipped


def read_chunks(path: StrPath, size: int = 1 << 20) -> Iterator[str]:
    """Yields the text of a UTF-8 file in pieces of about `size` bytes, whatever its lines are.

    Raises:
        InputError: as `read_lines`.
    """
    with _reading(path) as reader, opened(local(path)) as raw:
        # How far a piece begins into its line, in bytes.
        into = 0
        rest, piece = b"", raw.read(size + len(_MARK)).removeprefix(_MARK)
        while piece or rest:
            last = not piece
            data = rest + piece
            # A character may be cut in two at the end of a piece.
            cut = len(data) if last else _whole_characters(data)
            if cut:
                yield _utf8(data[:cut], path, reader.line + 1, into)
            reader.line += data.count(b"\n", 0, cut)
            into = cut - 1 - newline if (newline := data.rfind(b"\n", 0, cut)) >= 0 else into + cut
            rest, piece = data[cut:], b"" if last else raw.read(size)


def _whole_characters(data: bytes) -> int:
    """Returns the offset of the last character of UTF-8 if it may be cut, otherwise the length."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            return len(data) - back
        if byte < 0x80:
            break
    return len(data)


@dataclass
class _Place:
    """The number of lines read so far."""

    line: int = 0


@contextmanager
def _reading(path: StrPath) -> Iterator[_Place]:
    """Turns errors that occur while a file is read into an InputError."""
    reader = _Place()

    def damaged(error: Exception) -> InputError:
        problem = f"damaged {packing(head_of(local(path))) or 'packed'} data: {error}"
        remedy = "copy or download the file again"
        return InputError(problem, file=path, line=reader.line + 1, remedy=remedy)

    try:
        yield reader
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise damaged(error) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"not {error.encoding}: {error.reason}",
            file=path,
            line=reader.line + 1,
            remedy=_CONVERT,
        ) from None
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise InputError(
            f"not a .zip that can be read: {error}", file=path, remedy="copy or download it again"
        ) from None
    except FileNotFoundError:
        raise no_such_file(path) from None
    except IsADirectoryError:
        raise InputError("a folder, not a file", file=path, remedy="name a file in it") from None
    except OSError as error:
        if error.errno is None:  # of a library that unpacks
            raise damaged(error) from None
        raise InputError(f"cannot read: {error.strerror or error}", file=path) from None


def _utf8(data: bytes, path: StrPath, line: int, into: int = 0) -> str:
    """Returns the text of some bytes that begin in a line, so many bytes into it."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        newline = before.rfind(b"\n")
        column = error.start - newline if newline >= 0 else into + error.start + 1
        raise InputError(
            f"not UTF-8: byte 0x{data[error.start]:02x} at column {column}",
            file=path,
            line=line + before.count(b"\n"),
            remedy=_CONVERT,
        ) from None


def sha256(path: StrPath) -> str:
    """Returns the SHA-256 of a file's bytes, in hexadecimal."""
    with open(local(path), "rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


def git_blob_id(data: bytes) -> str:
    """Returns the id git gives to a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

"""What a server takes at most, and reading what was uploaded within that."""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass

from irtoolkit.base.errors import InputError

# Bytes of a body that is no book.
SMALL_BODY = 1 << 16
_PIECE = 1 << 16


@dataclass(frozen=True)
class Limits:
    """Bounds of everything that comes from outside.

    Attributes:
        query: characters of a query.
        depth: passages in an answer.
        context: sentences before and after a passage.
        upload: bytes of a book, packed or not.
        books: books that readers may add.
        waiting: queries that wait at once; more are answered 429.
        seconds: that a query may take, with its wait.
        body_seconds: in which a body has to arrive.
        head_seconds: in which the head of a request has to arrive.
        streams: progress streams at once.
        connections: connections at once.
        judgments: judgments kept.
    """

    query: int = 4000
    depth: int = 100
    context: int = 50
    upload: int = 20_000_000
    books: int = 50
    waiting: int = 200
    seconds: float = 30
    body_seconds: float = 120
    head_seconds: float = 10
    streams: int = 64
    connections: int = 1000
    judgments: int = 1_000_000


class TooLargeError(InputError):
    """Something is larger than the server takes."""


def unpacked(data: bytes, most: int) -> bytes:
    """The text in an upload: as it is, or out of gzip or a .zip with one file, by its first bytes.

    No more than `most` bytes are ever unpacked, whatever the upload says of itself.

    Raises:
        TooLargeError: the text is larger.
        InputError: a damaged archive, or one with several files or a password.
    """
    if data.startswith(b"\x1f\x8b"):
        return _gunzipped(data, most)
    if data.startswith(b"PK\x03\x04"):
        return _unzipped(data, most)
    return data


def _gunzipped(data: bytes, most: int) -> bytes:
    inflater = zlib.decompressobj(wbits=31)
    try:
        text = inflater.decompress(data, most + 1)
        if len(text) <= most and not inflater.eof:
            raise InputError("the gzip data end too early", remedy="upload the file again")
    except zlib.error as error:
        raise InputError(f"damaged gzip data: {error}", remedy="upload the text itself") from None
    return _within(text, most)


def _unzipped(data: bytes, most: int) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [
                entry for entry in archive.infolist()
                if not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
            ]  # fmt: skip
            if len(members) != 1:
                raise InputError(
                    f"the archive has {len(members)} files, not one",
                    remedy="an EPUB or Word file does not work either: save the book as plain text",
                )
            with archive.open(members[0]) as member:
                return _within(member.read(most + 1), most)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise InputError(
            f"not a .zip that can be read: {error}", remedy="upload the text itself"
        ) from None


def _within(text: bytes, most: int) -> bytes:
    if len(text) > most:
        raise TooLargeError(
            f"the book unpacks to more than {most / 1e6:g} MB", remedy="upload it in parts"
        )
    return text

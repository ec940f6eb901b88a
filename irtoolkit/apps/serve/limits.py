"""Limits of a server, and reading uploads within them."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from irtoolkit.apps.web.guard import SAFE, SMALL_BODY, Rules
from irtoolkit.base.errors import InputError

_GZIP = b"\x1f\x8b"
# Members of a gzip file at most: bgzip makes some 300 of 20 MB. Bytes that an inflater gets at once.
_MEMBERS, _BLOCK = 10_000, 1 << 14
# The end of a .zip, its length without a comment, and the sign of a larger form (Zip64).
_ZIP_END, _ZIP_END_SIZE, _ZIP64 = b"PK\x05\x06", 22, b"PK\x06\x07"
# Bytes of the list of files in a .zip at most. zipfile needs far more time to read it than to unpack.
_ZIP_LIST = 1 << 16


@dataclass(frozen=True)
class Limits:
    """Bounds of everything that comes from outside.

    Attributes:
        query: characters of a query.
        depth: passages in an answer.
        context: sentences before and after a passage.
        upload: bytes of a book, packed or not.
        sentences: of a book.
        chapters: of a book.
        books: books that readers may add.
        waiting: queries that wait at once; more are answered 429.
        seconds: that a query may take, with its wait.
        body_seconds: in which a body has to arrive.
        head_seconds: in which the head of a request has to arrive.
        streams: progress streams at once.
        connections: connections at once.
        judgments: judgments kept.
        uploads: books that arrive at once.
        answer_seconds: in which the rest of an answer has to be read.
        indexes: indexes of passages by words that are held in memory, of all collections.
        index_seconds: that a query waits for an index of another length of passages.
    """

    query: int = 4000
    depth: int = 100
    context: int = 50
    upload: int = 20_000_000
    sentences: int = 300_000
    chapters: int = 10_000
    books: int = 50
    waiting: int = 200
    seconds: float = 30
    body_seconds: float = 120
    head_seconds: float = 10
    streams: int = 64
    connections: int = 1000
    judgments: int = 1_000_000
    uploads: int = 2
    answer_seconds: float = 120
    index_seconds: float = 5
    indexes: int = 64


def rules(limits: Limits) -> Rules:
    """Returns the rules of the guard of a library."""

    def most(method: str, path: str) -> int:
        is_book = method == "POST" and path == "/collections"
        return limits.upload if is_book else SMALL_BODY

    return Rules(limits.body_seconds, most, _hidden)


def _hidden(method: str, path: str) -> str | None:
    if method in SAFE:
        shows = not path.startswith("/judgments")
        return None if shows else "this server is public: judgments are not shown"
    if path in ("/search", "/near"):
        return None
    return "this server is public: nothing can be added, removed or judged"


class TooLargeError(InputError):
    """Something is larger than the server takes."""


def unpacked(data: bytes, most: int) -> bytes:
    """The text in an upload: as it is, or out of gzip or a .zip with one file, by its first bytes.

    No more than `most` bytes are ever unpacked, whatever the upload says of itself.

    Raises:
        TooLargeError: the text is larger.
        InputError: a damaged archive, or one with several files or a password.
    """
    if data.startswith(_GZIP):
        return _gunzipped(data, most)
    if data.startswith(b"PK\x03\x04"):
        return _unzipped(data, most)
    return data


def _gunzipped(data: bytes, most: int) -> bytes:
    text, position = bytearray(), 0
    try:
        # Files that are joined, and those of bgzip, have several members.
        for _ in range(_MEMBERS):
            if not data.startswith(_GZIP, position):
                break
            position = _inflate(memoryview(data), position, text, most)
            _within(text, most)
    except zlib.error as error:
        raise InputError(f"damaged gzip data: {error}", remedy="upload the text itself") from None
    if data.startswith(_GZIP, position):
        raise InputError(
            f"the gzip data have more than {_MEMBERS:,} members",
            remedy="pack the text in one go, or upload the text itself",
        )
    # gzip itself ignores zeros, with which tapes are filled up.
    if data[position:].strip(b"\0"):
        raise InputError(
            "damaged gzip data: something follows them", remedy="upload the text itself"
        )
    return bytes(text)


def _inflate(data: memoryview, start: int, text: bytearray, most: int) -> int:
    """Adds the text of a gzip member, cut after `most + 1` bytes in all; returns where the member ends.

    The member is read block by block: an inflater copies what follows the end of its member.
    """
    inflater = zlib.decompressobj(wbits=31)
    while not inflater.eof and len(text) <= most:
        block = data[start : start + _BLOCK]
        if not block:
            raise InputError("the gzip data end too early", remedy="upload the file again")
        text += inflater.decompress(block, most + 1 - len(text))
        start += len(block) - len(inflater.unused_data) - len(inflater.unconsumed_tail)
    return start


def _unzipped(data: bytes, most: int) -> bytes:
    _check_list(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            member = _only(archive.infolist())
            # Readers of other methods unpack without bound, whatever is asked for.
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError(
                    "the .zip is packed in a way this server does not read",
                    remedy="pack it in the usual way, or upload the text itself",
                )
            with archive.open(member) as opened:
                text = opened.read(most + 1)
    except InputError:
        raise
    # zipfile raises errors of many kinds at damaged archives: struct.error, OSError, ValueError.
    except Exception as error:
        raise InputError(
            f"not a .zip that can be read: {error or type(error).__name__}",
            remedy="upload the text itself",
        ) from None
    _within(text, most)
    return text


def _check_list(data: bytes) -> None:
    """Raises InputError for a .zip with a long list of files.

    Raises:
        InputError: it lists hundreds of files, or is of a form for files of more than 4 GB.
    """
    end = len(data) - _ZIP_END_SIZE
    # As zipfile looks for it, so that both read the same length.
    if not (data.startswith(_ZIP_END, end) and data.endswith(b"\0\0")):
        end = data.rfind(_ZIP_END, max(0, end - (1 << 16)))
    size = int.from_bytes(data[end + 12 : end + 16], "little")
    if end >= 0 and (size > _ZIP_LIST or data.startswith(_ZIP64, max(0, end - 20))):
        raise InputError(
            "the .zip lists more than one file, or is made for files of more than 4 GB",
            remedy="pack the book alone, or upload the text itself",
        )


def _only(entries: Sequence[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """The one file of an archive."""
    members = [
        entry
        for entry in entries
        if not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        raise InputError(
            f"the archive has {len(members)} files, not one",
            remedy="an EPUB or Word file does not work either: save the book as plain text",
        )
    return members[0]


def _within(text: bytes | bytearray, most: int) -> None:
    if len(text) > most:
        raise TooLargeError(
            f"the book unpacks to more than {most / 1e6:g} MB", remedy="upload it in parts"
        )

"""What a server takes at most, and reading what was uploaded within that."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from irtoolkit.base.errors import InputError
from irtoolkit.web.guard import SAFE, SMALL_BODY, Rules

_GZIP = b"\x1f\x8b"


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
        uploads: books that arrive at once.
        answer_seconds: in which the rest of an answer has to be read.
        indexes: indexes of passages by words that are held in memory, of all collections.
        index_seconds: that a query waits for an index of another length of passages.
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
    uploads: int = 2
    answer_seconds: float = 120
    index_seconds: float = 5
    indexes: int = 64


def rules(limits: Limits) -> Rules:
    """What the guard of a library lets through."""

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
    text, rest = b"", data
    try:
        # Files that are joined, and those of bgzip, have several members.
        while rest.startswith(_GZIP):
            inflater = zlib.decompressobj(wbits=31)
            text += inflater.decompress(rest, most + 1 - len(text))
            if len(text) > most:
                break
            if not inflater.eof:
                raise InputError("the gzip data end too early", remedy="upload the file again")
            rest = inflater.unused_data
    except zlib.error as error:
        raise InputError(f"damaged gzip data: {error}", remedy="upload the text itself") from None
    _within(text, most)
    # gzip itself ignores zeros, with which tapes are filled up.
    if rest.strip(b"\0"):
        raise InputError("damaged gzip data: something follows them", remedy="upload the text itself")  # fmt: skip
    return text


def _unzipped(data: bytes, most: int) -> bytes:
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
                return _within(opened.read(most + 1), most)
    except InputError:
        raise
    # zipfile raises errors of many kinds at damaged archives: struct.error, OSError, ValueError.
    except Exception as error:
        raise InputError(
            f"not a .zip that can be read: {error or type(error).__name__}",
            remedy="upload the text itself",
        ) from None


def _only(entries: Sequence[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """The one file of an archive."""
    members = [
        entry for entry in entries
        if not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
    ]  # fmt: skip
    if len(members) != 1:
        raise InputError(
            f"the archive has {len(members)} files, not one",
            remedy="an EPUB or Word file does not work either: save the book as plain text",
        )
    return members[0]


def _within(text: bytes, most: int) -> bytes:
    if len(text) > most:
        raise TooLargeError(
            f"the book unpacks to more than {most / 1e6:g} MB", remedy="upload it in parts"
        )
    return text

"""Detection of text encodings: byte order marks, UTF-8, Chinese encodings, Windows-1252.

Bytes come in pieces, which may be cut anywhere, and are read as often as needed: a large file is
never in memory as a whole.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from irtoolkit.base.errors import InputError
from irtoolkit.base.languages import EAST

Pieces = Callable[[], Iterator[bytes]]
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_EASTERN = ("gb18030", "big5")
# How files begin that are no plain text, whatever their names say.
_OTHERS = {
    b"%PDF-": "a PDF",
    b"{\\rtf": "an RTF file",
    b"PK\x03\x04": "a .zip, as EPUB and Word files are",
    b"PK\x05\x06": "an empty .zip",
    b"PK\x07\x08": "a part of a .zip",
    b"\x1f\x8b": "gzip data",
    b"\x1f\x9d": "an archive",
    b"7z\xbc\xaf\x27\x1c": "an archive",
    b"Rar!\x1a\x07": "an archive",
    b"BZh91AY&SY": "an archive",
    b"\xfd7zXZ\0": "an archive",
    b"\x28\xb5\x2f\xfd": "an archive",
    b"\xd0\xcf\x11\xe0": "an old Word file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF87a": "a picture",
    b"GIF89a": "a picture",
    b"\x7fELF": "a program",
    b"<!doctype html": "a web page",
    b"<html": "a web page",
    b"<?xml": "XML",
}


class Encoding(NamedTuple):
    """The encoding of a text.

    Attributes:
        codec, errors: as for Python's `open`.
        name: the name of the encoding.
    """

    codec: str
    errors: str
    name: str


def encoding_of(pieces: Pieces, any_kind: bool = False) -> Encoding:
    """Returns the encoding of a text.

    UTF-8 and encodings with a byte order mark come first, then Chinese encodings if most of the
    text is Chinese in them, then Windows-1252, in which Western texts of other encodings are
    written.

    Args:
        pieces: yields the bytes from the beginning, each time that it is called.
        any_kind: whether they may be another kind of file than plain text, for example a web page.

    Raises:
        InputError: they begin like a file of another kind, or hold zero bytes, which no text does.
    """
    start = next(pieces(), b"")[:200]
    first = start.removeprefix(codecs.BOM_UTF8).lstrip().lower()
    for mark, kind in ({} if any_kind else _OTHERS).items():
        if first.startswith(mark.lower()):
            raise InputError(f"not a text but {kind}", remedy="save it as plain text, UTF-8")
    for mark, codec in _MARKS:
        if start.startswith(mark):
            if not _fits(codec, pieces()):
                raise InputError(f"not {codec}, as its first bytes say")
            return Encoding(codec, "strict", codec.removesuffix("-sig"))
    if any(b"\0" in piece for piece in pieces()):
        raise InputError("not a text: it holds zero bytes", remedy="save it as plain text, UTF-8")
    if _fits("utf-8", pieces()):
        return Encoding("utf-8", "strict", "utf-8")
    for codec in _EASTERN:
        if _is_mostly_eastern(codec, pieces()):
            return Encoding(codec, "strict", codec)
    return Encoding("cp1252", "replace", "windows-1252")


def check_encoding(pieces: Pieces) -> None:
    """Raises InputError if text is UTF-8 except for a few bytes, or does not fit Windows-1252.

    Raises:
        InputError: with the byte and its line.
    """
    if next(pieces(), b"").startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    first = _first_error(pieces())
    if first is None:
        return
    wide, bad = 0, sum(map(len, pieces()))
    for text in _texts("utf-8", pieces(), "ignore"):
        bad -= len(text.encode())
        wide += len(text) - len(text.encode("ascii", errors="ignore"))
    if wide > bad:
        raise _damaged(pieces(), first, "UTF-8 but for")
    strange = _first_match(rb"[\x81\x8d\x8f\x90\x9d]", pieces())
    if strange is not None and not any(_fits(codec, pieces()) for codec in _EASTERN):
        raise _damaged(pieces(), strange, "neither UTF-8 nor Windows-1252 at")


def _texts(codec: str, pieces: Iterator[bytes], errors: str = "strict") -> Iterator[str]:
    """Yields decoded pieces.

    Raises:
        UnicodeDecodeError: they are not of this encoding.
    """
    decode = codecs.getincrementaldecoder(codec)(errors).decode
    for piece in pieces:
        yield decode(piece)
    yield decode(b"", True)


def fits(codec: str, data: bytes) -> bool:
    """Returns whether bytes are of an encoding."""
    return _fits(codec, iter([data]))


def _fits(codec: str, pieces: Iterator[bytes]) -> bool:
    try:
        for _ in _texts(codec, pieces):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_eastern(codec: str, pieces: Iterator[bytes]) -> bool:
    eastern = letters = 0
    try:
        for text in _texts(codec, pieces):
            eastern += sum(1 for _ in EAST.finditer(text))
            letters += sum(1 for _ in re.finditer(r"\w", text))
    except UnicodeDecodeError:
        return False
    return eastern > 0.5 * letters


def _first_error(pieces: Iterator[bytes]) -> int | None:
    """Returns the offset of the first byte that is not UTF-8."""
    decoder, before = codecs.getincrementaldecoder("utf-8")(), 0
    for piece in chain(pieces, [b""]):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            return before - pending + error.start
        before += len(piece)
    return None


def _first_match(pattern: bytes, pieces: Iterator[bytes]) -> int | None:
    before = 0
    for piece in pieces:
        match = re.search(pattern, piece)
        if match:
            return before + match.start()
        before += len(piece)
    return None


def _damaged(pieces: Iterator[bytes], offset: int, problem: str) -> InputError:
    before, lines = 0, 0
    for piece in pieces:
        if offset < before + len(piece):
            lines += piece.count(b"\n", 0, offset - before)
            break
        before, lines = before + len(piece), lines + piece.count(b"\n")
    return InputError(
        f"{problem} byte 0x{piece[offset - before]:02x} at offset {offset}",
        line=lines + 1,
        remedy="convert the file to UTF-8, for example with iconv",
    )

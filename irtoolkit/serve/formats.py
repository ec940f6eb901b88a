"""What readers may upload as a book, and telling other files by their names and first bytes."""

from __future__ import annotations

import codecs
import re

from irtoolkit.base.errors import InputError

READ = "plain text (.txt or .md), or gzip or a .zip of one such file"
_ARCHIVE, _PICTURE, _OFFICE, _EBOOK = "an archive", "a picture", "an office document", "an e-book"
# The packed forms that are read, and how they begin.
_PACKED = {"gz": b"\x1f\x8b", "gzip": b"\x1f\x8b", "zip": b"PK\x03\x04"}
_ENDINGS = {
    _ARCHIVE: "7z rar tar tgz bz2 tbz xz txz zst lz4 jar", "a PDF": "pdf", "an RTF file": "rtf",
    _PICTURE: "png jpg jpeg gif webp tif tiff bmp heic svg djvu",
    _OFFICE: "doc docx odt xls xlsx ods ppt pptx odp pages", _EBOOK: "epub mobi azw azw3 kfx fb2",
}  # fmt: skip
_KINDS = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}
_BEGINNINGS = {
    b"PK\x05\x06": "an empty .zip", b"PK\x07\x08": "a part of a .zip", b"7z\xbc\xaf\x27\x1c": _ARCHIVE,
    b"Rar!\x1a\x07": _ARCHIVE, b"\xfd7zXZ\0": _ARCHIVE, b"\x28\xb5\x2f\xfd": _ARCHIVE,
    b"\x1f\x9d": _ARCHIVE, b"%PDF-": "a PDF", b"{\\rtf": "an RTF file",
    b"\xd0\xcf\x11\xe0": _OFFICE, b"\x89PNG": _PICTURE, b"\xff\xd8\xff": _PICTURE,
    b"GIF87a": _PICTURE, b"GIF89a": _PICTURE, b"\x7fELF": "a program",
}  # fmt: skip
_BZIP2 = re.compile(rb"BZh[1-9]1AY&SY")


def refuse_other_files(data: bytes, filename: str = "") -> None:
    """Refuses an upload of a form that is not read, by its name and its first bytes.

    Raises:
        InputError: says what it is, and what is read.
    """
    ending = filename.rpartition(".")[2].lower()
    start = _PACKED.get(ending)
    if start is not None and not data.startswith(start):
        raise _refused(f"not {'a .zip' if ending == 'zip' else 'gzip data'}, as its name says")
    if ending in _KINDS:
        raise _refused(f"not a book in plain text but, by its name, {_KINDS[ending]}")
    for beginning, kind in _BEGINNINGS.items():
        if data.startswith(beginning):
            raise _refused(f"not a book in plain text but {kind}")
    if _BZIP2.match(data):
        raise _refused(f"not a book in plain text but {_ARCHIVE}")


def refuse_binary(text: bytes) -> None:
    """Refuses what was unpacked, or needed no unpacking, where it is no text.

    Raises:
        InputError: says what it is, and what is read.
    """
    refuse_other_files(text)
    # Every other letter is one in UTF-16, which says so at its beginning.
    if b"\0" in text and not text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _refused("not a book in plain text: it holds zero bytes")


def _refused(found: str) -> InputError:
    return InputError(found, remedy=f"what is read is {READ}")

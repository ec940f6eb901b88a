"""Formats of books that readers may upload, told by name; the bytes are read by `encoding_of`."""

from __future__ import annotations

from irtoolkit.base.errors import InputError

READ = "plain text (.txt or .md), EPUB, HTML or TEI, or gzip or a .zip of one such file"
# The packed forms that are read, and how they begin.
_GZIP, _ZIP = (b"\x1f\x8b",), (b"PK\x03\x04", b"PK\x05\x06")
_PACKED = {"gz": _GZIP, "gzip": _GZIP, "zip": _ZIP, "epub": _ZIP}
_ENDINGS = {
    "an archive": "7z rar tar tgz bz2 tbz xz txz zst lz4 jar",
    "a PDF": "pdf",
    "an RTF file": "rtf",
    "a picture": "png jpg jpeg gif webp tif tiff bmp heic svg djvu",
    "an office document": "doc docx odt xls xlsx ods ppt pptx odp pages",
    "an e-book": "mobi azw azw3 kfx fb2",
}
_KINDS = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}


def check_upload(data: bytes, filename: str) -> None:
    """Raises InputError for an upload whose name has an unsupported ending, or one its content denies.

    Raises:
        InputError: says what it is, and what is read.
    """
    _, dot, ending = filename.lower().rpartition(".")
    if not dot:
        return
    start = _PACKED.get(ending)
    if start is not None and not data.startswith(start):
        form = {"zip": "a .zip", "epub": "an EPUB"}.get(ending, "gzip data")
        raise InputError(f"not {form}, as its name says", remedy=f"what is read is {READ}")
    if ending in _KINDS:
        form = f"not a book that is read but, by its name, {_KINDS[ending]}"
        raise InputError(form, remedy=f"what is read is {READ}")

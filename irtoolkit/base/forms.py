"""The format of a file, from its first bytes: packed text, UTF-16 text, or not text."""

from __future__ import annotations

import re
from pathlib import Path

# Bytes of the beginning that tell. A tar archive is recognised latest, at its 257th byte.
HEAD = 512

# How text is packed.
_PACKED = {
    "gzip": rb"\x1f(?:\x8b|\Z)",
    "bzip2": rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)",
    "xz": rb"\xfd7zXZ\x00",
    "zstd": rb"\x28\xb5\x2f\xfd",
    "lz4": rb"\x04\x22\x4d\x18",
    "zip": rb"PK(?:\x03\x04|\x05\x06)",
}
# Byte order marks by the names of Python's codecs.
_MARKED = {"utf-32": rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff", "utf-16": rb"\xff\xfe|\xfe\xff"}
# What holds no text that could be read here.
_OTHERS = {
    "Parquet": rb"PAR1(?:[\x00-\x1f]|\Z)",
    "an Arrow file": rb"ARROW1\x00\x00",
    "a tar archive": rb".{257}ustar",
    "a 7z archive": rb"7z\xbc\xaf\x27\x1c",
    "a RAR archive": rb"Rar!\x1a\x07",
    "packed by compress": rb"\x1f[\x9d\xa0]",
    "an old Excel workbook": rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "a PDF": rb"%PDF-[0-9]",
    "an SQLite database": rb"SQLite format 3\x00",
    "a pickle": rb"\x80[\x02-\x05][\x80-\xff\x28-\x7d]",
    "an HDF5 file": rb"\x89HDF\r\n",
    "UTF-16 without a byte order mark": rb"(?:[^\x00]\x00){4}|(?:\x00[^\x00]){4}",
}

# Ends of the names of packed files.
_ENDS = re.compile(r"\.(?:gz|bz2|xz|zst|lz4)$", re.IGNORECASE)


def without_packing(name: str) -> str:
    """Returns the name of a file without an end that says how it is packed, for example .gz."""
    return _ENDS.sub("", name)


def packing(head: bytes) -> str | None:
    """Returns how a file is packed that begins so: gzip, bzip2, xz, zstd, lz4 or zip."""
    return _first(_PACKED, head)


def encoding(head: bytes) -> str | None:
    """Returns the encoding that a byte order mark names, other than UTF-8."""
    return _first(_MARKED, head)


def other_than_text(head: bytes) -> str | None:
    """Returns the format of a file that is not text by its first bytes, otherwise None."""
    return _first(_OTHERS, head)


def column_mark(head: str) -> str:
    """Returns the column separator of a sheet (tab, comma or semicolon), from its first line.

    Spreadsheets write semicolons where the country has a comma in its numbers.
    """
    return max("\t,;", key=head.count)


def is_parquet_file(path: Path) -> bool:
    """Returns whether a file begins as Parquet does, whatever its name is."""
    return other_than_text(head_of(path)) == "Parquet"


def head_of(path: Path) -> bytes:
    """Returns the first bytes of a file; b"" if it cannot be read."""
    try:
        with open(path, "rb") as raw:
            return raw.read(HEAD)
    except OSError:
        return b""


def _first(signatures: dict[str, bytes], head: bytes) -> str | None:
    return next(
        (name for name, sign in signatures.items() if re.match(sign, head, re.DOTALL)), None
    )

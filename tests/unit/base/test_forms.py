"""Files are read by what they are, not by their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_chunks, read_lines
from irtoolkit.runs import Qrels, Run

ROWS = "".join(f"q{number} Q0 d{number} 1 {number}.5 t\n" for number in range(3000))


def zstd(data: bytes, codec: str = "zstd") -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, codec) as packed:
        packed.write(data)
    return bytes(out.getvalue().to_pybytes())


def lz4(data: bytes) -> bytes:
    return zstd(data, "lz4")


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.run", data)
    return out.getvalue()


def utf16(data: bytes) -> bytes:
    return data.decode().encode("utf-16")


PACKED: list[Callable[[bytes], bytes]] = [
    gzip.compress, bz2.compress, lzma.compress, zstd, lz4, zipped, utf16,
    lambda data: gzip.compress(utf16(data)), lambda data: data.decode().encode("utf-32"), bytes,
]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["a.run", "A.RUN.GZ", "a.run.gz", "a.run.bz2", "a.zip", "a.parquet"]
)
@pytest.mark.parametrize("pack", PACKED)
def test_the_content_tells_how_a_file_is_packed(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / name
    path.write_bytes(pack(ROWS.encode()))
    assert len(Run.read(path)) == 3000
    assert [line for _, line in read_lines(path)] == ROWS.splitlines()
    assert "".join(read_chunks(path)) == ROWS


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd, lz4])
@pytest.mark.parametrize("read", [Run.read, Qrels.read])
def test_what_is_cut_off_is_damaged(
    tmp_path: Path, pack: Callable[[bytes], bytes], read: Callable[[Path], object]
) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(pack(ROWS.encode())[:-30])
    with pytest.raises(InputError, match=r"damaged (gzip|bzip2|xz|zstd|lz4) data"):
        list(read_lines(path))
    with pytest.raises(InputError):
        read(path)


def tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("a.run")
        entry.size = len(ROWS)
        archive.addfile(entry, io.BytesIO(ROWS.encode()))
    return out.getvalue()


def workbook() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "")
        archive.writestr("xl/workbook.xml", "")
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (tar(), "tar"), (gzip.compress(tar()), "tar"), (workbook(), "Office"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "7z"), (b"%PDF-1.7\n", "PDF"),
        (ROWS.encode("utf-16-le"), "UTF-16 without a byte order mark"),
        (b"\x80\x04\x95\x10", "pickle"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "a.qrels"
    path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        Qrels.read(path)


def test_damaged_utf16_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes("1\ta\n".encode("utf-16") + b"\x00\xd8")
    with pytest.raises(InputError, match="not utf-16"):
        list(read_lines(path))

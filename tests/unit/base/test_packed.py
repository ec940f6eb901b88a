"""Packed files that unpack to very much more than they are."""

from __future__ import annotations

import gzip
import os
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from irtoolkit.base import files, packed
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import read_chunks, read_lines
from irtoolkit.runs import Qrels, Run

# How much a file may unpack to in these tests, whatever its size.
SMALL = 1 << 19


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "SMALL", SMALL)


def read(path: Path) -> None:
    for _ in read_lines(path):
        pass


def read_in_chunks(path: Path) -> None:
    for _ in read_chunks(path):
        pass


@pytest.mark.parametrize("reader", [read, read_in_chunks, Run.read, Qrels.read])
@pytest.mark.parametrize("byte", [b"\n", b" ", b"x"])
def test_a_bomb_is_refused(tmp_path: Path, reader: Callable[[Path], object], byte: bytes) -> None:
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(byte * 8 * SMALL))
    with pytest.raises(InputError, match="unpacks to more than 200 times its size") as caught:
        reader(bomb)
    assert caught.value.file == str(bomb)
    assert "give the plain file" in str(caught.value.remedy)


def test_a_bomb_is_left_where_it_is_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes out before the refusal is little more than what is allowed."""
    bomb = tmp_path / "bomb.run.gz"
    bomb.write_bytes(gzip.compress(b"\n" * 16 * SMALL))
    allowed = 200 * bomb.stat().st_size
    out = 0
    whole = gzip.GzipFile.read1

    def counted(self: gzip.GzipFile, size: int = -1) -> bytes:
        nonlocal out
        data = whole(self, size)
        out += len(data)
        return data

    monkeypatch.setattr(gzip.GzipFile, "read1", counted)
    with pytest.raises(InputError, match="unpacks to more"):
        read(bomb)
    assert allowed <= out <= allowed + packed._PIECE


def test_a_bomb_in_a_zip_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.txt", "\n" * 8 * SMALL)
    with pytest.raises(InputError, match="unpacks to more than 200 times"):
        read(bomb)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_bomb_in_a_pipe_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gz"
    os.mkfifo(pipe)
    data = gzip.compress(b"\n" * 8 * SMALL)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
    writer.start()
    with pytest.raises(InputError, match="unpacks to more than 200 times"):
        read(pipe)


def test_what_packs_well_is_read(tmp_path: Path) -> None:
    """A run of many rows, whose packed form is a tenth."""
    lines = [f"q{i // 1000} Q0 d{i} {i % 1000 + 1} {-i} t\n" for i in range(30_000)]
    path = tmp_path / "x.run.gz"
    path.write_bytes(gzip.compress("".join(lines).encode()))
    assert len("".join(lines)) > SMALL
    assert len(Run.read(path)) == 30_000


def test_few_bytes_are_read_whatever_the_ratio(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress(b"\n" * (SMALL - 1) + b"x"))
    assert list(read_lines(path, empty=False)) == [(SMALL, "x")]


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"\n\na\n\n\nb\n", [(3, "a"), (6, "b")]),
        (b"\n", []),
        (b"\n" * 300_000 + b"a", [(300_001, "a")]),
        (b"\n\r\n a\n", [(2, ""), (3, " a")]),
        (b"a\n\n", [(1, "a")]),
    ],
)
def test_lines_keep_their_numbers_without_the_empty_ones(
    tmp_path: Path, name: str, data: bytes, wanted: list[tuple[int, str]]
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert list(read_lines(path, empty=False)) == wanted


def test_empty_lines_are_not_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.qrels"
    path.write_bytes(b"q1 0 d1 1\n" + b"\n" * SMALL)
    skipped = []
    whole = files._skip_empty

    def skip(raw: IO[bytes]) -> int:
        skipped.append(whole(raw))
        return skipped[-1]

    monkeypatch.setattr(files, "_skip_empty", skip)
    assert len(Qrels.read(path)) == 1
    assert skipped == [SMALL - 1]

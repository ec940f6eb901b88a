"""Packed files that unpack to very much more than they are."""

from __future__ import annotations

import gzip
import os
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from irtoolkit.base import packed
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

"""Copies of folders at URLs: one set of versions each, which never changes."""

from __future__ import annotations

from typing import Any

import pytest

from irtoolkit.base import remote
from irtoolkit.base.errors import InputError
from irtoolkit.base.mirrors import folder_at

URL = "memory://m"

pytestmark = pytest.mark.usefixtures("memory")


def contents() -> dict[str, bytes]:
    folder = folder_at(URL)
    assert folder is not None
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are copied."""
    names: list[str] = []
    download = remote.download

    def spied(url: str, *rest: Any) -> None:
        names.append(url.removeprefix(f"{URL}/"))
        download(url, *rest)

    monkeypatch.setattr(remote, "download", spied)
    return names


def test_only_what_has_changed_is_copied_and_a_reader_keeps_its_folder(
    memory: Any, asked: list[str]
) -> None:
    memory.pipe({"/m/a.txt": b"one", "/m/in/b.txt": b"two"})
    assert contents() == {"a.txt": b"one", "in/b.txt": b"two"}
    before = folder_at(URL)
    assert before is not None
    memory.pipe({"/m/a.txt": b"new", "/m/c.txt": b"three"})
    assert contents() == {"a.txt": b"new", "c.txt": b"three", "in/b.txt": b"two"}
    memory.rm_file("/m/in/b.txt")
    assert contents() == {"a.txt": b"new", "c.txt": b"three"}
    assert asked == ["a.txt", "in/b.txt", "a.txt", "c.txt"]
    assert (before / "a.txt").read_bytes() == b"one"
    assert (before / "in" / "b.txt").read_bytes() == b"two"


def test_files_are_copied_on_a_disk_without_links(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object) -> None:
        raise OSError("no links")

    monkeypatch.setattr("os.link", link)
    memory.pipe({"/m/a.txt": b"one", "/m/in/b.txt": b"two"})
    assert contents() == {"a.txt": b"one", "in/b.txt": b"two"}


def test_a_file_that_changes_while_its_pieces_are_copied_is_of_one_version(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_PIECE", 10)
    memory.pipe({"/m/docs.tsv": b"A" * 40, "/m/other.tsv": b"-"})
    read, times = type(memory).cat_file, []

    def changing(self: Any, path: str, start: int, end: int) -> bytes:
        piece = bytes(read(self, path, start, end))
        times.append(start)
        if len(times) == 2:
            memory.pipe_file("/m/docs.tsv", b"B" * 40)
        return piece

    monkeypatch.setattr(type(memory), "cat_file", changing)
    assert contents()["docs.tsv"] == b"B" * 40
    assert times == [0, 10, 20, 30, 0, 10, 20, 30, 0], "the other file is copied once"


def test_a_copy_that_was_interrupted_continues(
    memory: Any, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe({f"/m/{name}.txt": name.encode() for name in "abc"})
    spied = remote.download

    def failing(url: str, *rest: Any) -> None:
        if url.endswith("b.txt"):
            raise InputError("gone", file=url)
        spied(url, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(remote, "download", failing)
        with pytest.raises(InputError, match="gone"):
            folder_at(URL)
    memory.pipe_file("/m/c.txt", b"C")
    assert contents() == {"a.txt": b"a", "b.txt": b"b", "c.txt": b"C"}
    assert asked == ["a.txt", "b.txt", "c.txt"]


def test_a_folder_that_changes_all_the_time_is_said(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe_file("/m/a.txt", b"0")
    download = remote.download

    def changing(url: str, *rest: Any) -> None:
        download(url, *rest)
        memory.pipe_file("/m/a.txt", b"0")

    monkeypatch.setattr(remote, "download", changing)
    with pytest.raises(InputError, match="it changes while it is copied"):
        folder_at(URL)
    assert folder_at("memory://nothing") is None

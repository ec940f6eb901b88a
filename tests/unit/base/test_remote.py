"""Files at URLs, in fsspec's memory: copied once for each version, put whole, looked after."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base import copies, remote
from irtoolkit.base.copies import copied, copies_of, uploaded
from irtoolkit.base.durable import atomic_folder
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import (
    atomic_text,
    check_writable,
    is_file,
    read_chunks,
    read_lines,
    sha256,
)
from irtoolkit.base.filesystems import said

URL = "memory://folder/x.txt"

pytestmark = pytest.mark.usefixtures("memory")


def lines(path: Any) -> list[str]:
    return [line for _, line in read_lines(path)]


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz", "a b/ä.txt"])
def test_text_comes_back_with_the_bytes_of_a_local_file(
    name: str, tmp_path: Path, memory: Any
) -> None:
    for place in (f"memory://folder/{name}", tmp_path / name):
        with atomic_text(place) as out:
            out.write("eins\nzwei\n")
    assert memory.cat_file(f"/folder/{name}") == (tmp_path / name).read_bytes()
    assert lines(f"memory://folder/{name}") == ["eins", "zwei"]
    assert "".join(read_chunks(f"memory://folder/{name}")) == "eins\nzwei\n"
    assert sha256(f"memory://folder/{name}") == sha256(tmp_path / name)
    assert lines(f"file://{tmp_path / name}".replace(" ", "%20")) == ["eins", "zwei"]
    with atomic_text(f"file://{tmp_path}/other.txt") as out:
        out.write("drei\n")
    assert (tmp_path / "other.txt").read_text() == "drei\n"


def test_nothing_is_put_where_the_block_fails(memory: Any) -> None:
    memory.pipe_file(URL, b"before")
    with pytest.raises(ZeroDivisionError), atomic_text(URL) as out:
        out.write(str(1 / 0))
    assert memory.cat_file(URL) == b"before"
    assert not list((copies_of(URL).parent / "uploads").iterdir())


def test_a_file_that_cannot_be_put_stays_here(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError("403")

    monkeypatch.setattr(type(memory), "put_file", refused)
    with pytest.raises(InputError, match="the finished file is kept in") as caught:
        write(URL, "whole")
    assert str(caught.value).startswith(f"{URL}: cannot write: no permission (403)")
    kept = Path(str(caught.value).rstrip(")").rpartition("kept in ")[2])
    assert (kept / "x.txt").read_text() == "whole"
    assert not is_file(URL)


def write(place: str, text: str) -> None:
    with atomic_text(place) as out:
        out.write(text)


def test_what_is_beside_goes_before_and_comes_after(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe({URL: b"old", f"{URL}.a": b"old", f"{URL}.b": b"old"})
    steps: list[str] = []
    put, remove = remote.put, remote.remove

    def putting(local: Path, url: str) -> None:
        steps.append(f"+{url.removeprefix(URL)}")
        put(local, url)

    def removing(url: str) -> None:
        steps.append(f"-{url.removeprefix(URL)}")
        remove(url)

    monkeypatch.setattr(remote, "put", putting)
    monkeypatch.setattr(remote, "remove", removing)
    with uploaded(URL, f"{URL}.a", f"{URL}.b") as files:
        files[0].write_text("new")
        files[2].write_text("new")
    assert steps == ["-.b", "-.a", "+", "+.b"]
    assert not is_file(f"{URL}.a")


def test_a_version_is_copied_once_and_a_changed_one_again(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe_file(URL, b"first")
    asked: list[str] = []
    download = remote.download

    def spied(url: str, *rest: Any) -> None:
        asked.append(url)
        download(url, *rest)

    monkeypatch.setattr(remote, "download", spied)
    first = copied(URL)
    assert copied(URL) == first
    assert len(asked) == 1
    memory.pipe_file(URL, b"other")
    second = copied(URL)
    assert second.read_bytes() == b"other"
    assert first.read_bytes() == b"first", "a process may read it still"
    old = time.time() - 2 * copies._KEPT_SECONDS
    os.utime(first.parent, (old, old))
    memory.pipe_file(URL, b"third")
    copied(URL)
    assert not first.exists()
    assert second.exists()


def test_a_copy_that_was_interrupted_continues(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(range(256)) * 10
    memory.pipe_file(URL, data)
    monkeypatch.setattr(remote, "_PIECE", 1000)
    read, starts = type(memory).cat_file, []

    def failing(self: Any, path: str, start: int, end: int) -> bytes:
        starts.append(start)
        if len(starts) == 2:
            raise ConnectionResetError("gone")
        return bytes(read(self, path, start, end))

    monkeypatch.setattr(type(memory), "cat_file", failing)
    with pytest.raises(InputError, match="its server does not answer"):
        copied(URL)
    assert copied(URL).read_bytes() == data
    assert starts == [0, 1000, 1000, 2000]


def test_a_file_that_changes_while_it_is_copied_is_copied_again(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe_file(URL, b"before")
    download, times = remote.download, []

    def changing(url: str, target: Path, known: remote.RemoteFile) -> None:
        download(url, target, known)
        times.append(url)
        if len(times) < 2:
            memory.pipe_file(URL, b"after!")

    monkeypatch.setattr(remote, "download", changing)
    assert copied(URL).read_bytes() == b"after!"


def test_a_short_copy_and_a_full_disk_are_named(
    memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.pipe_file(URL, b"four")
    with pytest.raises(InputError, match="the copy has 4 bytes, not 9"):
        remote.download(URL, tmp_path / "x", remote.RemoteFile(9, ""))
    assert not (tmp_path / "x").exists()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(remote, "open", full, raising=False)
    with pytest.raises(InputError, match=r"No space left on device .free some space in") as caught:
        copied(URL)
    assert str(caught.value).startswith(f"{URL}: cannot copy to this machine")


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("memory://folder", "a folder, not a file"),
        ("memory://folder/", "names no file"),
        ("memory://none/x.txt", "no such file, folder or bucket"),
        ("nothing://x/y", "no protocol nothing://"),
        ("s3x:/x/y", "no protocol s3x://"),
    ],
)
def test_odd_urls_are_refused_in_one_line(url: str, found: str, memory: Any) -> None:
    memory.pipe_file(URL, b"x")
    with pytest.raises(InputError, match=found) as caught:
        lines(url)
    assert "\n" not in str(caught.value)


def test_a_target_is_refused_before_the_work() -> None:
    check_writable(URL)
    for url, found in (
        ("nothing://x/y", "no protocol"), ("memory://folder/", "names no file"),
        ("https://host.invalid/x", "can only be read"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=found):
            check_writable(url)


class NoCredentialsError(Exception):
    """As botocore's."""


@pytest.mark.parametrize(
    ("error", "url", "expected"),
    [
        (NoCredentialsError("Unable"), "s3://b/x", "no credentials (set AWS_PROFILE"),
        (PermissionError("403"), "gs://b/x", "no permission (403), or nothing of that name"),
        (TimeoutError(), "s3://b/x", "does not answer (check the network, AWS_ENDPOINT_URL"),
        (ConnectionRefusedError(), "hf://a/b/x", "HF_HUB_OFFLINE"),
        (ValueError("odd\n  thing"), "s3://b/x", "cannot read: odd thing"),
        (ValueError("bad K:S@b"), "s3://K:S@b/x", "s3://b/x: cannot read: bad b"),
        (OSError(errno.EIO, "broken"), "s3://b/x", "cannot read: broken"),
    ],
)
def test_what_file_systems_raise_is_said_in_one_line(
    error: Exception, url: str, expected: str
) -> None:
    text = str(said(error, url, "read"))
    assert expected in text
    assert "\n" not in text


def test_two_writers_with_one_process_number_do_not_share_a_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As processes of two machines, or of two containers, on one disk."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    monkeypatch.setattr(remote, "protocol_of", lambda _: "local")
    halves: list[str] = []

    class Disk:
        def makedirs(self, *_: object, **__: object) -> None: ...

        def put_file(self, _: str, half: str) -> None:
            halves.append(half)

        def mv(self, *_: object) -> None: ...

    monkeypatch.setattr(remote, "filesystem", lambda url: (Disk(), url))
    remote.put(tmp_path / "a", "sftp://h/x")
    remote.put(tmp_path / "a", "sftp://h/x")
    with atomic_folder(tmp_path / "y") as first:
        with atomic_folder(tmp_path / "y") as second:
            assert first != second
        (tmp_path / "y").rmdir()
    assert len(set(halves)) == 2
    assert (tmp_path / "y").is_dir()

"""Errors, files, identifiers and the record beside a run: what everything else stands on."""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import (
    atomic_path,
    atomic_text,
    check_writable,
    is_temporary,
    read_lines,
)
from irtoolkit.base.ids import id_array, offsets_of, rank_ids
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import same_place
from irtoolkit.runs import provenance
from irtoolkit.runs.run import Run

Write = Callable[..., Path]


def names(folder: Path) -> list[str]:
    """Everything that stands in a folder, hidden files too."""
    return sorted(entry.name for entry in folder.iterdir())


# -- InputError ----------------------------------------------------------------------------------


# -- writing -------------------------------------------------------------------------------------


def test_a_finished_file_is_all_that_is_left(tmp_path: Path) -> None:
    target = tmp_path / "x.bin"
    with atomic_path(target) as temporary:
        temporary.write_bytes(b"\x00new")
        assert not target.exists()
        assert temporary.parent == tmp_path, "a rename is atomic only within a file system"
    assert target.read_bytes() == b"\x00new"
    assert names(tmp_path) == ["x.bin"]


@pytest.mark.parametrize("exception", [RuntimeError, InputError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("name", ["x.run", "x.run.gz"])
def test_what_breaks_off_leaves_the_old_file_alone(
    tmp_path: Path, exception: type[BaseException], name: str
) -> None:
    target = tmp_path / name
    target.write_bytes(b"old")

    def write() -> None:
        with atomic_text(target) as out:
            out.write("half")
            out.flush()
            raise exception("stop")

    with pytest.raises(exception, match="stop"):
        write()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == [name]


@pytest.mark.skipif(os.name == "nt", reason="other names are too long on Windows")
@pytest.mark.parametrize("name", ["x" * 251 + ".run", "é" * 127, "x" * 240, "x.run"])
def test_every_name_that_a_file_may_have_can_be_written(tmp_path: Path, name: str) -> None:
    with atomic_text(tmp_path / name) as out:
        out.write("new")
        [half] = tmp_path.iterdir()
        assert is_temporary(half)
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("ending", [".bz2", ".xz", ".zst", ".lz4", ".GZ", ".Parquet", ".zip", ".Z"])
def test_no_plain_text_is_written_under_the_name_of_a_packed_file(
    tmp_path: Path, ending: str
) -> None:
    from irtoolkit.base.targets import check_writable

    path = tmp_path / f"a.run{ending}"
    said = rf"no \{ending} is written here.*\.gz .*\.parquet .*plain"
    with pytest.raises(InputError, match=said):
        check_writable(path)
    with pytest.raises(InputError, match=said), atomic_text(path):
        pass
    with pytest.raises(InputError, match=said):
        Run.from_rows([("q", "d", 1.0)]).write(path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["a\0b", "file:///tmp/a%00b"])
def test_no_file_has_a_zero_byte_in_its_name(name: str) -> None:
    with pytest.raises(InputError, match="is no name of a file"):
        list(read_lines(name))
    with pytest.raises(InputError, match="is no name of a file"), atomic_path(name):
        pass
    with pytest.raises(InputError, match="is no name of a file"), locked(name):
        pass


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_full_device_is_named() -> None:
    with pytest.raises(InputError) as caught, atomic_text("/dev/full") as out:
        out.write("x")
    assert str(caught.value) == "/dev/full: cannot write: No space left on device"


def test_a_full_disk_is_an_input_error(tmp_path: Path) -> None:
    target = tmp_path / "x.run"
    target.write_text("old")

    def write() -> None:
        with atomic_path(target) as temporary:
            temporary.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(InputError) as caught:
        write()
    assert str(caught.value) == f"{target}: cannot write: No space left on device"
    assert target.read_text() == "old"
    assert names(tmp_path) == ["x.run"]


def write_text(path: Path, text: str = "new") -> None:
    with atomic_text(path) as out:
        out.write(text)


def test_a_file_in_place_of_the_folder_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    target = tmp_path / "file" / "x.run"
    with pytest.raises(InputError, match="cannot write") as caught:
        write_text(target)
    assert caught.value.file == str(target)
    assert (tmp_path / "file").read_text() == "old"


def test_gzip_bytes_depend_on_the_content_alone(tmp_path: Path) -> None:
    write_text(tmp_path / "one.gz")
    write_text(tmp_path / "a" / "other-name.gz")
    data = (tmp_path / "one.gz").read_bytes()
    assert data == (tmp_path / "a" / "other-name.gz").read_bytes()
    # RFC 1952: magic, method, flags (a name would set bit 3), four bytes of time.
    assert data[:8] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00"


# -- reading -------------------------------------------------------------------------------------


def lines_of(path: Path) -> list[tuple[int, str]]:
    return list(read_lines(path))


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"a\n", ["a"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"\n", [""]),
        (b"\n\na\n\n", ["", "", "a", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\nb\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\r\n", ["a"]),
        (b"\xef\xbb\xbf", [""]),
        (b" a \t\n", [" a \t"]),
        ("é\U0001f600\u00a0\n".encode(), ["é\U0001f600\u00a0"]),
        ("a\n\ufeffb\n".encode(), ["a", "\ufeffb"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\x00b\n", ["a\x00b"]),
    ],
    ids=lambda value: ascii(value)[:30],
)
@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
def test_lines_of_valid_files(write: Write, name: str, data: bytes, lines: list[str]) -> None:
    path = write(name, gzip.compress(data) if name.endswith(".gz") else data)
    assert lines_of(path) == list(enumerate(lines, 1))


def test_gzip_members_are_read_on(write: Write) -> None:
    """`cat a.gz b.gz` is a valid gzip file."""
    path = write("x.gz", gzip.compress(b"a\nb") + gzip.compress(b"c\nd\n"))
    assert lines_of(path) == [(1, "a"), (2, "bc"), (3, "d")]


LONG = b"".join(
    b"line %d %s\n" % (i, hashlib.sha256(b"%d" % i).hexdigest().encode()) for i in range(900)
)


def damaged(path: Path) -> InputError:
    with pytest.raises(InputError, match="damaged gzip data") as caught:
        lines_of(path)
    assert caught.value.file == str(path)
    assert caught.value.remedy == "copy or download the file again"
    return caught.value


def test_a_truncated_gzip_file_is_named_where_it_breaks_off(write: Write) -> None:
    packed = gzip.compress(LONG)
    half = packed[: len(packed) // 2]
    whole_lines = zlib.decompressobj(wbits=31).decompress(half).count(b"\n")
    line = damaged(write("x.gz", half)).line
    assert line is not None
    # The reader may hold back some of what could still be unpacked, but never runs ahead of it.
    assert 1 <= line <= whole_lines + 1


@pytest.mark.parametrize("name", ["none.txt", "none.gz", "none/x.txt"])
def test_a_missing_file_is_an_input_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        lines_of(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: no such file"
    assert caught.value.line is None


# -- fingerprints --------------------------------------------------------------------------------


# -- identifiers ---------------------------------------------------------------------------------


def test_ids_rank_by_code_point() -> None:
    # Upper case before lower, accents after ASCII, and the astral plane after the BMP's end,
    # where UTF-16 order would put it first.
    ids = id_array(["\U00010000", "z", "\uffee", "Z", "é", "10", "9"])
    assert rank_ids(ids).tolist() == [6, 3, 5, 2, 4, 0, 1]


@pytest.mark.parametrize(
    ("groups", "count", "offsets"),
    [
        ([], 0, [0]),
        ([], 2, [0, 0, 0]),
        ([0, 0, 1], 2, [0, 2, 3]),
        ([1, 1], 3, [0, 0, 2, 2]),
        ([0, 2, 2], 4, [0, 1, 1, 3, 3]),
    ],
)
def test_offsets_of_groups(groups: list[int], count: int, offsets: list[int]) -> None:
    found = offsets_of(np.array(groups, dtype=np.int64), count)
    assert found.tolist() == offsets
    assert found.dtype == np.int64


# -- the record beside a run ---------------------------------------------------------------------

MADE: dict[str, Any] = {
    "dataset": "csfcube/sample",
    "data": "ab" * 32,
    "system": "bm25",
    "retriever": "bm25",
    "settings": {"k1": 0.9, "stem": True, "note": "naïve"},
    "run": "cd" * 32,
}


def test_a_record_says_what_was_run_and_on_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/irtoolkit", "retrieve", "csfcube/sample"])
    content = provenance.record(MADE, 1.23456)
    assert content["tag"] == "bm25"
    assert content["irtoolkit"] == MADE
    assert content["implementation"]["executable"]["cmd"] == "irtoolkit retrieve csfcube/sample"
    assert content["data"]["test collection"]["name"] == "csfcube/sample"
    assert content["method"]["retrieval"] == [
        {"method": "bm25", "k1": 0.9, "stem": True, "note": "naïve"}
    ]
    assert content["platform"]["software"]["python"] == platform.python_version()
    assert content["platform"]["hardware"]["cpus"] >= 1


def _git(folder: Path, *words: str) -> str:
    said = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t.example", *words],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return said.stdout.strip()


def _checkout(root: Path, monkeypatch: pytest.MonkeyPatch, name: str = "irtoolkit") -> Path:
    """A repository with the package in it and a pyproject.toml of a name; the package runs from there."""
    file = root / "irtoolkit" / "runs" / "provenance.py"
    file.parent.mkdir(parents=True)
    file.touch()
    (root / "pyproject.toml").write_text(f'[project]\nname = "{name}"\n')
    _git(root, "init", "-q")
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "all")
    monkeypatch.setattr(provenance, "__file__", str(file))
    return root


@pytest.mark.parametrize("change", ["a file changed", "a file more", "a file elsewhere", "nothing"])
def test_a_commit_says_whether_the_package_is_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    root = _checkout(tmp_path, monkeypatch)
    if change == "a file changed":
        (root / "irtoolkit" / "runs" / "provenance.py").write_text("1")
    elif change != "nothing":
        (root / ("irtoolkit" if change == "a file more" else ".") / "notes.py").touch()
    end = "-dirty" if change in ("a file changed", "a file more") else ""
    head = _git(root, "rev-parse", "HEAD")
    found = provenance.commit.__wrapped__()
    assert found == head + end
    monkeypatch.setattr(provenance, "commit", lambda: found)
    assert provenance.short_commit() == head[:7] + end


def test_an_installed_package_has_not_the_commit_of_a_repository_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment that is kept in git, or whose folder is in a repository, of another project."""
    _checkout(tmp_path / "environment", monkeypatch, "another")
    assert provenance.commit.__wrapped__() is None
    root = _checkout(tmp_path / "project", monkeypatch)
    inside = root / "venv" / "irtoolkit" / "runs" / "provenance.py"
    monkeypatch.setattr(provenance, "__file__", str(inside))
    assert provenance.commit.__wrapped__() is None


def test_a_git_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _checkout(tmp_path / "x", monkeypatch)
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=os.pathsep)
    monkeypatch.setattr(provenance, "_GIT_SECONDS", 0.2)
    assert provenance.commit.__wrapped__() is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"tag: 'half",
        b"\tindented: with a tab",
        b"just words",
        b"tag: caf\xe9",
        b"!!python/object/apply:os.getcwd []",
        b"&a [*missing]",
    ],
)
def test_a_damaged_record_is_no_record(write: Write, data: bytes) -> None:
    path = write("x.run.ir-metadata.yml", data)
    assert provenance.read_metadata(str(path).removesuffix(".ir-metadata.yml")) is None


@pytest.mark.parametrize(
    ("name", "folder", "said"),
    [
        ("folder/", False, "a folder, not a file"),
        ("folder", False, "name a file in it, such as .*folder/name"),
        ("new/", False, "a folder, not a file"),
        ("file/x", False, "file is a file, not a folder"),
        ("file/deep/x", True, "file is a file, not a folder"),
        ("file", True, "a file, not a folder"),
    ],
)
def test_a_target_that_cannot_be_written_is_refused(
    tmp_path: Path, name: str, folder: bool, said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=said):
        check_writable(f"{tmp_path}/{name}", folder=folder)


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "'' is no name of a"),
        ("  \t", r"'  \\t' is no name of a"),
        ("a\0b", r"'a\\x00b' is no name of a"),
        ("n" * 300, "cannot write: "),
        ("one", "a link that leads to itself"),
        ("two", "a link that leads to itself"),
    ],
)
def test_names_that_no_file_can_have_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str, folder: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(InputError, match=said):
        check_writable(name, folder=folder)


def test_links_that_lead_to_each_other_are_neither_written_nor_read(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="lead to each other"), atomic_text(loop) as out:
        out.write("x")
    with pytest.raises(InputError, match="cannot read"):
        list(read_lines(loop))
    assert same_place(loop) == same_place(tmp_path / "." / "loop")
    assert list(tmp_path.iterdir()) == [loop]


@pytest.mark.parametrize(
    ("name", "folder"),
    [("file", False), ("new", False), ("new/deep/x", False), ("folder", True), ("new/", True)],
)
def test_a_target_that_can_be_written_is_left_as_it_is(
    tmp_path: Path, name: str, folder: bool
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    check_writable(f"{tmp_path}/{name}", folder=folder)
    check_writable("/dev/null")
    assert {path.name for path in tmp_path.rglob("*")} == {"folder", "file"}
    assert (tmp_path / "file").read_text() == "kept"


def test_writers_with_one_process_number_do_not_share_a_temporary_file(tmp_path: Path) -> None:
    """Containers on one volume number their processes alike."""
    path = tmp_path / "x"
    with atomic_text(path) as first, atomic_text(path) as second:
        first.write("first\n" * 9)
        second.write("second\n")
    assert path.read_text() == "first\n" * 9
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_what_names_no_file_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="names no file"), atomic_text(name):
        pass

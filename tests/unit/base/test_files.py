"""Errors, files, identifiers and the record beside a run: what everything else stands on."""

from __future__ import annotations

import gzip
import hashlib
import os
import pickle
import platform
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import (
    atomic_path,
    atomic_text,
    check_writable,
    git_blob_id,
    is_temporary,
    read_lines,
)
from irtoolkit.base.ids import id_array, offsets_of, rank_ids
from irtoolkit.base.locks import locked
from irtoolkit.base.paths import same_place
from irtoolkit.runs import provenance
from irtoolkit.runs.run import Run
from tests.conftest import ROOT

Write = Callable[..., Path]


def names(folder: Path) -> list[str]:
    """Everything that stands in a folder, hidden files too."""
    return sorted(entry.name for entry in folder.iterdir())


# -- InputError ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, "no rows"),
        ({"file": "x.run"}, "x.run: no rows"),
        ({"file": "x.run", "line": 7}, "x.run:7: no rows"),
        ({"remedy": "add one"}, "no rows (add one)"),
        ({"file": "x.run", "remedy": "add one"}, "x.run: no rows (add one)"),
        ({"file": "x.run", "line": 7, "remedy": "add one"}, "x.run:7: no rows (add one)"),
    ],
)
def test_the_message_is_place_then_finding_then_remedy(where: dict[str, Any], text: str) -> None:
    error = InputError("no rows", **where)
    assert str(error) == text
    assert error.args == (text,)


def test_an_error_survives_pickling() -> None:
    """Errors cross process borders whole: in pools of workers, and in pytest-xdist."""
    error = InputError("no rows", file="x.run", line=3, remedy="add one")
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, InputError)
    assert str(copy) == "x.run:3: no rows (add one)"
    assert (copy.found, copy.file, copy.line, copy.remedy) == ("no rows", "x.run", 3, "add one")


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


@pytest.mark.parametrize(
    "end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]
)
def test_only_line_feed_ends_a_line(write: Write, end: str) -> None:
    """str.splitlines would end a line at each of these, and shift every number after it."""
    assert lines_of(write("x.txt", f"a{end}b\nc\n")) == [(1, f"a{end}b"), (2, "c")]


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


def test_a_wrong_checksum_is_damage(write: Write) -> None:
    packed = bytearray(gzip.compress(LONG))
    packed[-8] ^= 0xFF
    damaged(write("x.gz", bytes(packed)))


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\x1f", "damaged gzip"), (b"\x1f\x8c rest", "not UTF-8"), (b"PK\x03\x04", "not a .zip")],
)
def test_a_gz_name_on_another_format(write: Write, data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        list(read_lines(write("x.gz", data)))


@pytest.mark.parametrize("name", ["none.txt", "none.gz", "none/x.txt"])
def test_a_missing_file_is_an_input_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        lines_of(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: no such file"
    assert caught.value.line is None


# -- fingerprints --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "blob"),
    [  # as `git hash-object` prints them
        (b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
        (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
        (b"test content\n", "d670460b4b4aece5915caf5c68d12f560a9fe3e4"),
        (b"what is up, doc?", "bd9dbf5aae1a3862dd1526723246b20206e5fc37"),
    ],
)
def test_git_blob_ids(data: bytes, blob: str) -> None:
    assert git_blob_id(data) == blob


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


def test_a_record_has_the_commit_of_the_source_that_runs() -> None:
    provenance.commit.cache_clear()
    found = provenance.record(MADE, 0.0)["implementation"]["source"]["commit"]
    if not (ROOT / ".git").exists():
        assert found is None
    else:
        assert found.removesuffix("-dirty") == _git(ROOT, "rev-parse", "HEAD")


def test_a_checkout_has_its_commit_also_where_git_is_told_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = _checkout(tmp_path / "other", monkeypatch)
    root = _checkout(tmp_path / "mine", monkeypatch)
    (root / "more").touch()
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "more")
    head = _git(root, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert provenance.commit.__wrapped__() == head


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


@pytest.mark.parametrize("text", [None, "[project", "[tool.x]\n", "project = 1\n"])
def test_a_repository_without_our_project_file_gives_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    file = _checkout(tmp_path / "x", monkeypatch) / "pyproject.toml"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
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


def test_a_record_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    provenance.write_metadata(tmp_path / "x.run", {"tag": "old"})
    with pytest.raises(yaml.YAMLError):
        provenance.write_metadata(tmp_path / "x.run", {"tag": "new", "unknown": object()})
    assert provenance.read_metadata(tmp_path / "x.run") == {"tag": "old"}
    assert names(tmp_path) == ["x.run.ir-metadata.yml"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"tag: [unclosed",
        b"tag: 'half",
        b"a: b: c",
        b"\tindented: with a tab",
        b"- a\n- list\n",
        b"just words",
        b"42",
        b"tag: caf\xe9",
        b"\x00\x01",
        b"!!python/object/apply:os.getcwd []",
        b"date: 2024-99-99",
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


@pytest.mark.skipif(os.name == "nt", reason="no modes")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x"
    path.touch()
    path.chmod(mode)
    with atomic_text(path) as out:
        out.write("new\n")
    assert path.read_text() == "new\n"
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_what_names_no_file_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="names no file"), atomic_text(name):
        pass

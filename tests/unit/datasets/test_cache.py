"""The cache of parsed releases: when it is believed, when it is not, and what is read out of it.

What Rows, Texts and Records give is held against plain lists and dicts.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from irtoolkit.base import stamps as sums
from irtoolkit.base.errors import InputError
from irtoolkit.datasets import cache
from irtoolkit.datasets.cache import CacheWriter, cache_home, content_hash, parsed
from irtoolkit.datasets.columns import Records, TableRows

ROOT = Path(__file__).parents[3]
SCHEMAS = {
    "lines": {"text": pa.string(), "length": pa.int32()},
    "letters": {"of": pa.list_(pa.string())},
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that nobody else writes into; it does not exist yet."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small release of three lines."""
    path = tmp_path / "release.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


def set_clock(monkeypatch: pytest.MonkeyPatch, path: Path, seconds: float) -> None:
    """A clock by which a file has lain still for so long, whatever is done to it."""

    def now() -> float:
        return path.stat().st_ctime + seconds

    monkeypatch.setattr(sums, "time", SimpleNamespace(time=now))


@pytest.fixture
def settled(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, path, 60)


class Parser:
    """Parses files into tables, and counts how often it does."""

    def __init__(self, *paths: Path, kind: str = "kind", version: int = 1) -> None:
        self.paths, self.kind, self.version, self.calls = paths, kind, version, 0

    def __call__(self) -> list[str]:
        """The lines, as the tables have them."""
        tables = parsed(self.kind, self.paths, SCHEMAS, self.parse, version=self.version)
        lines: list[str] = tables["lines"]["text"].to_pylist()
        assert tables["lines"]["length"].to_pylist() == [len(line) for line in lines]
        assert tables["letters"]["of"].to_pylist() == [list(line) for line in lines]
        assert {name: table.schema for name, table in tables.items()} == {
            name: pa.schema(list(fields.items())) for name, fields in SCHEMAS.items()
        }
        return lines

    def parse(self, out: CacheWriter) -> None:
        self.calls += 1
        for path in self.paths:
            for line in path.read_text().splitlines():
                out.add("lines", line, len(line))
                out.add("letters", list(line))


def folders(home: Path) -> list[str]:
    """What is in the cache, beside the hashes that it remembers."""
    if not home.exists():
        return []
    return sorted(entry.name for entry in home.iterdir() if entry.name != "hashes")


def rewrite(path: Path, content: bytes) -> None:
    """Other content in the same place, at what says it is the same time."""
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # clocks of file systems tick
        path.write_bytes(content)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns


# ---- where it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, ""])
def test_the_users_cache_folder_without_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("IRTOOLKIT_CACHE", "XDG_CACHE_HOME"):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert cache_home() == tmp_path / ".cache" / "irtoolkit"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_home() == tmp_path / "xdg" / "irtoolkit"


# ---- what is not believed ------------------------------------------------------------------------


def test_a_release_that_changes_while_it_is_parsed_is_not_kept(home: Path, path: Path) -> None:
    """Its rows would be those of other content than the key's."""
    read = Parser(path)
    whole = read.parse

    def parse(out: CacheWriter) -> None:
        path.write_text("another\n")
        whole(out)

    with pytest.raises(InputError, match=r"release\.txt: it changed while it was read"):
        parsed("kind", [path], SCHEMAS, parse)
    assert folders(home) == []
    path.write_text("one\ntwo\nthree\n")
    assert read() == ["one", "two", "three"]


@pytest.mark.parametrize("name", ["letters.arrow", "lines.arrow", "sums.json"])
def test_damaged_columns_are_parsed_again(home: Path, path: Path, name: str) -> None:
    read = Parser(path)
    read()
    (folder,) = folders(home)
    target = home / folder / name
    whole = target.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << (at % 8)
        before = read.calls
        target.unlink()  # the tables that are mapped stay as they were
        target.write_bytes(damaged)
        assert read() == ["one", "two", "three"]
        assert read.calls == before + 1
        assert target.read_bytes() == whole


# ---- what a killed process leaves ----------------------------------------------------------------


def test_what_a_killed_process_has_left_is_removed(home: Path, path: Path) -> None:
    program = f"""
import os, signal
from pathlib import Path
from tests.unit.datasets.test_cache import SCHEMAS
from irtoolkit.datasets.cache import parsed
parsed("kind", [Path({str(path)!r})], SCHEMAS, lambda out: os.kill(os.getpid(), signal.SIGKILL))
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False)
    left = folders(home)
    assert len([name for name in left if name.endswith(".part")]) == 1  # the second removed one
    Parser(path)()
    assert [name for name in folders(home) if name.startswith(".")] == []


def test_what_another_process_still_writes_is_left(home: Path, path: Path) -> None:
    read = Parser(path)

    def parse(out: CacheWriter) -> None:
        (mine,) = home.glob(".kind-*.part")
        read()  # as another process would
        assert mine.is_dir()
        read.parse(out)

    tables = parsed("kind", [path], SCHEMAS, parse)
    assert tables["lines"]["text"].to_pylist() == ["one", "two", "three"]
    assert [name for name in folders(home) if name.startswith(".")] == []


# ---- a release is parsed once --------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["kind", "name", "content", "format", "version", "another file", "their order"]
)
def test_what_makes_other_columns(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    second = path.with_name("second.txt")
    second.write_text("four\n")
    paths, kind, version = [path, second], "kind", 1
    Parser(*paths, kind=kind)()
    if what == "kind":
        kind = "other"
    elif what == "name":
        paths[0] = path.rename(path.with_name("renamed.txt"))
    elif what == "content":
        path.write_text("one\ntwo\nthree\n\n")
    elif what == "format":
        monkeypatch.setattr(cache, "FORMAT", cache.FORMAT + 1)
    elif what == "version":
        version = 2
    elif what == "another file":
        paths.pop()
    else:
        paths.reverse()
    read = Parser(*paths, kind=kind, version=version)
    assert read() == [line for p in paths for line in p.read_text().splitlines()]
    assert read.calls == 1
    assert len(folders(home)) == 2


# ---- damage to the cache -------------------------------------------------------------------------


@pytest.mark.parametrize("nested", [False, True])
def test_a_cache_that_cannot_be_written(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool
) -> None:
    """A file stands in its place, which keeps out administrators too."""
    blocked, scratch = tmp_path / "blocked", tmp_path / "scratch"
    blocked.write_text("")
    scratch.mkdir()
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(blocked / "cache" if nested else blocked))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    read = Parser(path)
    tables = [parsed("kind", [path], SCHEMAS, read.parse) for _ in range(2)]
    assert read.calls == 2
    assert list(scratch.iterdir()) == []
    assert blocked.read_text() == ""
    for each in tables:
        assert each["lines"]["text"].to_pylist() == ["one", "two", "three"]


def test_where_mapped_files_cannot_be_moved_they_are_moved_first(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where no columns would be kept otherwise."""
    mapped: list[Path] = []
    really = cache._open

    def watched(folder: Path, schemas: Any) -> Any:
        found = really(folder, schemas)
        mapped.extend([folder] if found is not None else [])
        return found

    monkeypatch.setattr(cache, "_MAPPED_STAY", True)
    monkeypatch.setattr(cache, "_open", watched)
    read = Parser(path)
    assert read() == read() == ["one", "two", "three"]
    assert read.calls == 1
    assert [folder.name for folder in mapped] == folders(home) * 2


# ---- a parse that fails --------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, 20])
@pytest.mark.parametrize("problem", [InputError("bad"), KeyboardInterrupt(), MemoryError()], ids=lambda p: type(p).__name__)  # fmt: skip
def test_a_failed_parse_leaves_nothing(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, problem: BaseException
) -> None:
    monkeypatch.setattr(cache, "_BATCH_ROWS", 7)

    def parse(out: CacheWriter) -> None:
        for _ in range(rows):
            out.add("lines", "x", 1)
        (scratch,) = home.glob(".kind-*.part")
        assert sorted(os.listdir(scratch)) == ["letters.arrow", "lines.arrow"]
        raise problem

    for _ in range(2):
        with pytest.raises(type(problem)) as caught:
            parsed("kind", [path], SCHEMAS, parse)
        assert caught.value is problem
        assert folders(home) == []
    assert Parser(path)() == ["one", "two", "three"]
    assert len(folders(home)) == 1


# ---- hashes of files -----------------------------------------------------------------------------


def memos(home: Path) -> list[Path]:
    return sorted((home / "hashes").iterdir()) if (home / "hashes").exists() else []


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were really read to be hashed."""
    found: list[Path] = []
    sha256 = sums.sha256

    def counted(path: Path) -> str:
        found.append(path)
        return sha256(path)

    monkeypatch.setattr(sums, "sha256", counted)
    return found


@pytest.mark.parametrize("seconds", [0, 1, 1.9])
@pytest.mark.parametrize("age", [0, 3600])
def test_a_file_just_changed_is_hashed_each_time(
    home: Path,
    path: Path,
    hashed: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    age: int,
) -> None:
    """Also one that is said to have been changed long ago."""
    now = path.stat().st_mtime
    os.utime(path, (now - age, now - age))
    set_clock(monkeypatch, path, seconds)
    assert content_hash(path) == content_hash(path) == digest(path)
    assert hashed == [path, path]
    assert memos(home) == []


@pytest.mark.parametrize("seconds", [0, 60])
@pytest.mark.parametrize("content", [b"one\ntwo\nTHREE\n", b"short", b"one\ntwo\nthree\nfour\n"])
def test_an_edited_file_has_another_hash(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int, content: bytes
) -> None:
    """Whether its time is put back, and its size the same; whether it is old news or not."""
    set_clock(monkeypatch, path, seconds)
    read = Parser(path)
    assert read() == read() == ["one", "two", "three"]
    rewrite(path, content)
    assert content_hash(path) == hashlib.sha256(content).hexdigest()
    assert read() == content.decode().splitlines()
    assert read.calls == 2
    rewrite(path, b"one\ntwo\nthree\n")
    assert read() == ["one", "two", "three"]
    assert read.calls == 2  # those columns are still there


@pytest.mark.parametrize("memo", [b"", b"abc", b"\xff" * 64, b"0" * 63, b"0" * 65])
def test_a_damaged_memo_is_not_believed(home: Path, path: Path, settled: None, memo: bytes) -> None:
    content_hash(path)
    (file,) = memos(home)
    file.write_bytes(memo)
    assert content_hash(path) == digest(path)
    assert file.read_text() == digest(path)


# ---- writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", SCHEMAS)
def test_few_long_rows_are_held_at_a_time(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    monkeypatch.setattr(cache, "_BATCH_CHARACTERS", 100)
    row = ("x" * 40, 40) if table == "lines" else (["x" * 20, "y" * 20],)

    def parse(out: CacheWriter) -> None:
        for _ in range(9):
            out.add(table, *row)

    batches = parsed("kind", [path], SCHEMAS, parse)[table].to_batches()
    assert [len(batch) for batch in batches] == [3, 3, 3]


# ---- rows, records, texts ------------------------------------------------------------------------


def table_of(values: Sequence[str], lengths: Sequence[int]) -> pa.Table:
    """The values in batches of some lengths, which take turns; and how long each is."""
    schema = pa.schema([("text", pa.string()), ("length", pa.int32())])
    batches, start, turn = [], 0, 0
    while start < len(values):
        part = list(values[start : start + lengths[turn % len(lengths)]])
        batches.append(pa.record_batch([part, list(map(len, part))], schema=schema))
        start, turn = start + len(part), turn + 1
    return pa.Table.from_batches(batches, schema)


def made(number: int, text: str, length: int) -> tuple[int, str, int]:
    return number, text, length


def records_of(values: Sequence[str], lengths: Sequence[int]) -> Records[tuple[int, str, int]]:
    return Records(
        lambda: [f"d{n}" for n in range(len(values))], TableRows(table_of(values, lengths), made)
    )

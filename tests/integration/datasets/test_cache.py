"""Processes that parse the same release at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.datasets.test_cache import folders
from tests.waiting import PATIENCE


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


CHILD = """
import sys, time
from pathlib import Path
import pyarrow as pa
from irtoolkit.datasets.cache import parsed

path, mine, other = map(Path, sys.argv[1:])

def parse(out):
    mine.touch()
    while not other.exists():
        time.sleep(0.01)
    for line in path.read_text().splitlines():
        out.add("lines", line)

tables = parsed("kind", [path], {"lines": {"text": pa.string()}}, parse)
print(*tables["lines"]["text"].to_pylist())
"""


def test_processes_that_parse_the_same_at_once(home: Path, path: Path, tmp_path: Path) -> None:
    marks = [tmp_path / "a", tmp_path / "b"]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, path, *order], stdout=subprocess.PIPE, text=True
        )
        for order in (marks, marks[::-1])
    ]
    assert [child.communicate(timeout=PATIENCE)[0] for child in children] == ["one two three\n"] * 2
    assert [child.returncode for child in children] == [0, 0]
    assert len(folders(home)) == 1

"""Temporary files beside a target, and those that killed processes have left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base import temporaries
from irtoolkit.base.durable import atomic_folder
from irtoolkit.base.files import atomic_text
from irtoolkit.base.temporaries import (
    is_temporary,
    remove_abandoned,
    remove_of_the_gone,
    temporary_name,
)

# Writes half of a file and of a folder, and is killed.
KILLED = """
import os, signal, sys
from irtoolkit.base.files import atomic_text
from irtoolkit.base.durable import atomic_folder
with atomic_text("out.txt") as out, atomic_folder("made") as folder:
    print("half", file=out, flush=True)
    (folder / "half").mkdir()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("name", ["a.run", "a[1]*.run", ".hidden", "ä.run.gz"])
def test_what_belongs_to_a_target_is_removed_and_nothing_else(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    left = [temporary_name(target) for _ in range(2)]
    others = [
        target,
        temporary_name(tmp_path / f"{name}.ranks.tsv"),
        temporary_name(tmp_path / f"x{name}"),
        tmp_path / f".{name}.tmp",
        tmp_path / f".{name}.0123456789abcdef012g.tmp",
        tmp_path / f"{name}.0123456789abcdef0123.tmp",
    ]
    for path in (*left, *others):
        path.touch()
    assert all(map(is_temporary, left))
    remove_abandoned(target)
    assert sorted(tmp_path.iterdir()) == sorted(others)


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a process was killed that wrote a file and a folder."""
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert sorted(path.name.split(".")[1] for path in tmp_path.iterdir()) == ["made", "out"]
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="no process is asked after there")
@pytest.mark.parametrize("writes", [atomic_text, atomic_folder])
def test_who_writes_next_removes_what_killed_processes_have_left(killed: Path, writes: Any) -> None:
    with writes(killed / "another"):
        pass
    assert [path.name for path in killed.iterdir()] == ["another"]


def test_what_is_not_of_the_gone_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = temporary_name(tmp_path / "a")
    monkeypatch.setattr(temporaries, "_machine", lambda: "0" * 6)
    elsewhere = temporary_name(tmp_path / "a")
    monkeypatch.undo()
    for path in (mine, elsewhere):
        path.touch()
    remove_of_the_gone(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([mine, elsewhere])

"""Locks between processes and threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base import locks
from irtoolkit.base.errors import InputError
from irtoolkit.base.locks import locked, remove_left

COUNTS = """
import sys
from irtoolkit.base.locks import locked
lock, count, remove = sys.argv[1], sys.argv[2], sys.argv[3] == "remove"
print("ready", flush=True)
sys.stdin.readline()
for _ in range(50):
    with locked(lock, remove=remove):
        number = int(open(count).read())
        open(count, "w").write(str(number + 1))
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("remove", ["remove", "keep"])
def test_one_process_at_a_time(tmp_path: Path, remove: str) -> None:
    lock, count = tmp_path / "deep" / "x.lock", tmp_path / "count"
    count.write_text("0")
    both = [start(COUNTS, lock, count, remove) for _ in range(2)]
    assert [said(process) for process in both] == ["ready", "ready"]
    for process in both:
        process.communicate("go\n", timeout=60)
    assert count.read_text() == "100"
    assert lock.exists() == (remove == "keep")


def test_a_lock_that_cannot_be_made_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "x.lock"
    with pytest.raises(InputError, match="cannot write: ") as caught, locked(path):
        pass
    assert (caught.value.file, caught.value.remedy) == (str(path), "make its folder writable")
    with pytest.raises(InputError, match="elsewhere"), locked(path, remedy="elsewhere"):
        pass


def test_a_lock_whose_file_is_deleted_meanwhile_is_taken_again(tmp_path: Path) -> None:
    """A lock on a file that has no name any more would keep nobody out."""
    path = tmp_path / "x.lock"

    def second() -> bool:
        with locked(path, remove=True):
            return path.exists()

    with ThreadPoolExecutor() as pool:
        with locked(path, remove=True):
            waiting = pool.submit(second)
        assert waiting.result(timeout=60)
    assert not path.exists()


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    path, inside, most = tmp_path / "x.lock", [0], [0]

    def work(_: int) -> None:
        with locked(path, remove=True):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            inside[0] -= 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(100)))
    assert most == [1]


class Interrupted:
    """`os`, of which the first removal is interrupted: before it is done, or after.

    Args:
        after: whether it is done.
        then: what happens after it, before the interrupt is heard.
    """

    def __init__(self, after: bool, then: Callable[[], None]) -> None:
        self._after, self._then, self._heard = after, then, False

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def unlink(self, path: Path) -> None:
        if self._heard:
            os.unlink(path)
            return
        self._heard = True
        if self._after:
            os.unlink(path)
        self._then()
        raise KeyboardInterrupt


@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_at_the_end_leaves_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    path = tmp_path / "x.lock"
    monkeypatch.setattr(locks, "os", Interrupted(after, lambda: None))
    with pytest.raises(KeyboardInterrupt), locked(path, remove=True):
        pass
    assert not path.exists()
    with locked(path, wait=False) as mine:
        assert mine


def test_a_lock_that_was_left_is_removed_but_not_one_that_is_held(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    remove_left(path)
    path.touch()
    remove_left(path)
    assert not path.exists()
    with locked(path):
        remove_left(path)
        assert path.exists()

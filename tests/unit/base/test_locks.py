"""Locks between processes and threads."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.locks import locked

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
HOLDS = """
import sys
from irtoolkit.base.locks import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
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


def test_without_waiting_the_block_says_whose_the_lock_is(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    other = start(HOLDS, path)
    assert said(other) == "held"
    with locked(path, wait=False, remove=True) as mine:
        assert not mine
    assert path.exists()
    other.kill()
    other.communicate()
    with locked(path, wait=False) as mine:
        assert mine


def test_a_lock_ends_with_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with pytest.raises(KeyError), locked(path, remove=True):
        raise KeyError
    assert not path.exists()
    with locked(path, wait=False) as mine:
        assert mine


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

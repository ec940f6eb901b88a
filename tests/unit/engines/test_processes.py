"""Several processes: order, faults, messages, and an end that leaves nothing behind."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.engines import processes, work
from irtoolkit.engines.engine import current, visible_gpus
from irtoolkit.engines.node import SHARE, located
from irtoolkit.engines.processes import ProcessEngine
from irtoolkit.engines.work import HELD, Items, WorkerKilledError
from tests.waiting import wait_for


@pytest.fixture(scope="module")
def two() -> Iterator[ProcessEngine]:
    engine = ProcessEngine(2)
    yield engine
    engine.close()


def square(number: int) -> int:
    return number * number


def place(_: int) -> tuple[int, str]:
    return os.getpid(), current().name


class Fails:
    """Kills its worker at one number: the first time, or always."""

    def __init__(self, number: int, once: Path | None = None) -> None:
        self.number, self.once = number, once

    def __call__(self, number: int) -> int:
        if number == self.number and (self.once is None or not self.once.exists()):
            if self.once is not None:
                self.once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number


def refuse(number: int) -> int:
    raise InputError("bad", file="docs.tsv", line=number, remedy="mend it")


def opened(_: int) -> Any:
    return open(os.devnull)


def speak(number: int) -> int:
    logging.getLogger("irtoolkit.speaking").warning("texts are cut")
    warnings.warn("old", stacklevel=1)
    return number


class Keeps:
    """What is loaded once stays."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, _: int) -> tuple[int, int]:
        self.calls += 1
        return os.getpid(), self.calls


def test_results_come_in_order_from_other_processes(two: ProcessEngine) -> None:
    assert list(two.map(square, range(20))) == [n * n for n in range(20)]
    pids = {pid for pid, _ in two.map(place, range(20))}
    assert os.getpid() not in pids
    assert len(pids) <= 2
    assert not list(two.map(square, []))


def test_pieces_that_wait_for_each_other_do_not_begin_within_a_map(two: ProcessEngine) -> None:
    outer = two.map(square, range(2))
    assert next(outer) == 0
    with pytest.raises(InputError, match="2 pieces wait for each other, and this is one process"):
        list(two.map(square, [1, 2], together=True))
    assert list(two.map(square, [3], together=True)) == [9]
    assert list(outer) == [1]


def test_a_worker_keeps_its_work(two: ProcessEngine) -> None:
    found = list(two.map(Keeps(), range(10)))
    for pid in {pid for pid, _ in found}:
        mine = [calls for other, calls in found if other == pid]
        assert mine == list(range(1, len(mine) + 1))
    # Another map begins anew.
    assert min(calls for _, calls in two.map(Keeps(), range(2))) == 1


def test_what_a_killed_worker_was_at_is_done_again(two: ProcessEngine, tmp_path: Path) -> None:
    once = tmp_path / "died"
    assert list(two.map(Fails(3, once), range(8))) == list(range(8))
    assert once.exists()


def test_work_that_kills_its_workers_is_given_up_and_named(two: ProcessEngine) -> None:
    with pytest.raises(InputError, match=r"killed, perhaps out of memory, 3 times .* on 2"):
        list(two.map(Fails(2), range(5)))
    assert list(two.map(square, range(5))) == [0, 1, 4, 9, 16]


def test_a_long_item_that_kills_is_shown_by_its_number() -> None:
    items = ["a", tuple(range(1000))]
    assert WorkerKilledError(Items(items), 0, 3).found.endswith("while it worked on 'a'")
    assert WorkerKilledError(Items(items), 1, 3).found.endswith("while it worked on piece 2 of 2")
    assert WorkerKilledError(Items(iter(items)), 1, 3).found.endswith("while it worked on piece 2")
    gone = WorkerKilledError(Items(items), 0, 3, "NodeDiedError")
    assert gone.found == "what a node had of 'a' was lost (NodeDiedError)"


def test_only_a_few_results_are_held_and_items_are_read_as_workers_need_them(
    two: ProcessEngine,
) -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for number in range(50):
            read.append(number)
            yield number

    results = two.map(square, items())
    for done in range(10):
        assert next(results) == done * done
        # One more is read than may be done before a result is taken.
        assert len(read) <= done + 2 * HELD + 1
    results.close()  # type: ignore[attr-defined]


def test_an_item_that_cannot_be_read_is_an_error_of_the_map(two: ProcessEngine) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        list(two.map(square, items()))
    assert list(two.map(square, iter([2, 3]))) == [4, 9]


def test_a_death_without_work_does_not_count_against_the_next_piece() -> None:
    engine = ProcessEngine(3)
    ready = list(engine.map(place, range(3)))
    pids = {pid for pid, _ in ready} | {worker.process.pid for worker in engine._workers}
    for pid in pids:
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    assert list(engine.map(square, range(3))) == [0, 1, 4]
    engine.close()


def test_a_served_worker_that_dies_as_it_is_given_work_is_replaced() -> None:
    """As often as it takes: it has not received the piece, so it did not die of it."""
    engine = ProcessEngine(4)
    kept: list[Any] = []

    def held(number: int) -> int:
        time.sleep(0.1)
        return number

    assert list(engine.map(held, range(4))) == list(range(4))
    kept = list(engine._workers)
    assert len(kept) == 4
    for worker in kept:  # stopped, they take what is sent and never receive it
        assert worker.process.pid is not None
        os.kill(worker.process.pid, signal.SIGSTOP)
    found: list[int] = []
    taking = threading.Thread(target=lambda: found.extend(engine.map(square, [5])))
    taking.start()
    for worker in kept:
        wait_for(lambda worker=worker: worker.number is not None)  # type: ignore[misc]
        assert worker.process.pid is not None
        os.kill(worker.process.pid, signal.SIGKILL)
    taking.join()
    assert found == [25]
    engine.close()


def test_a_close_ends_busy_workers_at_once(tmp_path: Path) -> None:
    def busy(number: int) -> int:
        (tmp_path / f"{number}").touch()
        if number:
            signal.pause()
        return number

    engine = ProcessEngine(3)
    results = engine.map(busy, range(3))
    assert next(results) == 0
    wait_for(lambda: len(list(tmp_path.iterdir())) == 3)
    joined: list[float | None] = []
    for worker in engine._workers:
        if worker.number is not None:
            # Patience is for workers that end by themselves.
            worker.leave = lambda: joined.append(1.0)  # type: ignore[method-assign]
    engine.close()
    assert not joined
    assert not engine._workers


def test_without_the_drivers_folder_relative_paths_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stats.txt").write_text("another machine's")
    monkeypatch.setattr(work, "_last", None)
    monkeypatch.setattr(work, "_lacking", "")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)

    def read(_: int) -> str:
        if not Path("stats.txt").exists():
            raise InputError("no stats.txt")
        return Path("stats.txt").read_text()

    packed = work.pack(read)
    os.chdir(tmp_path)
    gone.rmdir()
    outcome = pickle.loads(work.perform("a", packed, 0, located))
    where = f"on node {socket.gethostname()}, which has no folder {gone}"
    assert str(outcome.error) == f"no stats.txt, {where} ({SHARE})"


def test_a_worker_that_sees_one_gpu_takes_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("LOCAL_RANK", "1")
    found = processes._surroundings(1, 2)
    assert (found["CUDA_VISIBLE_DEVICES"], found["LOCAL_RANK"]) == ("1", "0")


def test_an_input_error_arrives_as_it_was_raised(two: ProcessEngine) -> None:
    with pytest.raises(InputError) as raised:
        list(two.map(refuse, [7, 8]))
    error = raised.value
    assert (error.found, error.file, error.line, error.remedy) == ("bad", "docs.tsv", 7, "mend it")
    assert list(two.map(square, [3])) == [9]


def test_a_result_that_cannot_be_sent_is_an_error(two: ProcessEngine) -> None:
    with pytest.raises(TypeError, match="TextIOWrapper cannot be sent back"):
        list(two.map(opened, range(3)))


def test_work_that_cannot_be_sent_is_an_error(two: ProcessEngine) -> None:
    lock = threading.Lock()
    with pytest.raises(InputError, match="cannot be sent"):
        list(two.map(lambda number: lock.locked() + number, range(3)))


def test_messages_of_workers_are_shown_once(
    two: ProcessEngine, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.warns(UserWarning, match="old") as caught:
        list(two.map(speak, range(6)))
    assert len(caught) == 1
    assert [record.getMessage() for record in caplog.records] == ["texts are cut"]


def test_the_cores_are_shared() -> None:
    script = (
        "import os\n"
        "from irtoolkit.base.cores import cores\n"
        "from irtoolkit.engines.processes import ProcessEngine\n"
        "def seen(_): return os.environ['OMP_NUM_THREADS'], cores()\n"
        "engine = ProcessEngine(2)\n"
        "print(*engine.map(seen, range(2)))\n"
        "engine.close()\n"
    )
    env = {**os.environ, "IRTOOLKIT_THREADS": "6"}
    env.pop("OMP_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[0] == "('3', 3) ('3', 3)"


INTERRUPTED = """
import os, sys, time
from pathlib import Path
from irtoolkit.engines.processes import ProcessEngine

def wait(number):
    Path(sys.argv[1], f"{os.getpid()}").touch()
    while True:
        time.sleep(1)

with_workers = ProcessEngine(2)
list(with_workers.map(lambda number: wait(number), range(4)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send")
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_driver(tmp_path: Path, kind: signal.Signals) -> None:
    script, marks = tmp_path / "script.py", tmp_path / "marks"
    marks.mkdir()
    script.write_text(INTERRUPTED.replace("sys.argv[1]", repr(str(marks))))
    driver = subprocess.Popen(
        [sys.executable, str(script)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for(lambda: len(list(marks.iterdir())) == 2)
    workers = [int(mark.name) for mark in marks.iterdir()]
    # As a terminal does: to the driver and its workers alike.
    os.killpg(driver.pid, kind) if kind == signal.SIGINT else driver.kill()
    _, said = driver.communicate()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    assert said.count("KeyboardInterrupt") == (1 if kind == signal.SIGINT else 0)


# -- pieces that wait for each other ---------------------------------------------------------------


class Waits:
    """Pieces that all begin; then that of one number ends in some way, and the others never do."""

    def __init__(self, folder: Path, ends: int, killed: bool) -> None:
        self.folder, self.ends, self.killed = folder, ends, killed

    def __call__(self, number: int) -> int:
        begun = self.folder / str(number)
        assert not begun.exists(), "it is done again"
        begun.touch()
        wait_for(lambda: len(list(self.folder.iterdir())) == 2)
        if number != self.ends:
            threading.Event().wait()
        if self.killed:
            os.kill(os.getpid(), signal.SIGKILL)
        raise InputError(f"piece {number} is bad")


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("killed", [False, True])
def test_of_pieces_that_wait_for_each_other_the_first_that_fails_ends_all(
    number: int, killed: bool, two: ProcessEngine, tmp_path: Path
) -> None:
    said = "a worker was killed, perhaps out of memory, while" if killed else f"piece {number}"
    with pytest.raises(WorkerKilledError if killed else InputError, match=said):
        list(two.map(Waits(tmp_path, number, killed), [0, 1], together=True))
    assert list(two.map(square, [3, 4], together=True)) == [9, 16]


def test_pieces_that_wait_for_each_other_need_as_many_workers(two: ProcessEngine) -> None:
    with pytest.raises(InputError, match=r"3 pieces .* there are 2 workers"):
        list(two.map(square, [1, 2, 3], together=True))


def test_a_map_within_a_map_is_done_here(two: ProcessEngine) -> None:
    outer = two.map(square, range(4))
    assert next(outer) == 0
    assert {pid for pid, _ in two.map(place, range(3))} == {os.getpid()}
    assert list(outer) == [1, 4, 9]


@pytest.mark.parametrize(
    ("given", "seen"),
    [("0,1", ["0", "1"]), ("-1", []), ("0,-1,1", ["0"]), ("", []), ("GPU-a, GPU-b", ["GPU-a", "GPU-b"])],
)  # fmt: skip
def test_visible_gpus_end_at_the_first_that_is_none(
    given: str, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    assert visible_gpus() == seen

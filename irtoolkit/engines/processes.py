"""Work in several processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import types
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection
from typing import Any

from irtoolkit.base.cores import THREADS, cores
from irtoolkit.base.errors import InputError
from irtoolkit.base.progress import QUIET
from irtoolkit.engines.engine import visible_gpus
from irtoolkit.engines.pooled import PooledEngine
from irtoolkit.engines.work import ATTEMPTS, HELD, Items, WorkerKilledError, pack, perform

# What numeric libraries read when they are loaded.
_THREAD_VARIABLES = tuple(
    f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")
)
# What a worker sends when it has received a piece.
_RECEIVED = b""
# Seconds in which idle workers end by themselves.
_PATIENCE = 5.0


class ProcessEngine(PooledEngine):
    """An `Engine` of processes on this machine that stay until it is closed.

    The workers share the cores: each has cores // workers threads. If there are several GPUs, each
    worker sees one. One that is killed is replaced, and only its current piece is done again. A
    script needs no `if __name__ == "__main__"`.

    Args:
        workers: number of processes; by default one for each core.
    """

    name = "processes"

    def __init__(self, workers: int | None = None) -> None:
        super().__init__()
        self._count = workers or cores()
        self._workers: list[_Worker] = []

    @property
    def workers(self) -> int:
        """The number of processes."""
        return self._count

    def limits(self) -> tuple[int, int]:
        """Returns one piece a worker, and some more that are held."""
        return self._count, HELD * self._count

    def pool(
        self, work: Callable[[Any], Any], pieces: Items[Any], gpus: float, together: bool
    ) -> _Pool:
        """Returns the workers at one `map`."""
        return _Pool(self._workers, self._count, work, pieces, 1 if together else ATTEMPTS)

    def check_together(self, pieces: Items[Any]) -> None:
        """Raises InputError if there are fewer workers than pieces that wait for each other."""
        if pieces.has(self._count):
            raise InputError(
                f"{pieces.total} pieces wait for each other, and there are {self._count} workers",
                remedy=f"--workers {pieces.total}",
            )

    def close(self) -> None:
        """Ends the workers."""
        _end_busy(self._workers)  # of a map that nobody reads any more
        for worker in self._workers:
            worker.leave()
        last = time.monotonic() + _PATIENCE
        for worker in self._workers:
            worker.process.join(max(0.0, last - time.monotonic()))
            worker.kill()
        self._workers.clear()


class _Worker:
    """A worker process.

    Attributes:
        number: of its current piece, or None.
        begun: whether it has received that piece.
        served: whether it has done one before.
    """

    def __init__(self, slot: int, count: int) -> None:
        self.place = slot
        self.number: int | None = None
        self.knows = ""
        self.begun = self.served = False
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(theirs, _surroundings(slot, count)), daemon=True
        )
        with _starting():
            self.process.start()
        theirs.close()

    def send(self, key: str, packed: bytes, number: int, item: Any) -> None:
        """Sends it a piece of work; sending to a process that has died does nothing."""
        message = pickle.dumps((key, None if self.knows == key else packed, item))
        self.number, self.knows, self.begun = number, key, False
        with suppress(OSError):
            self.pipe.send_bytes(message)

    def leave(self) -> None:
        """Asks it to end."""
        with suppress(OSError):
            self.pipe.send_bytes(b"")

    def kill(self) -> None:
        """Ends it now."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Pool:
    """The workers at one `map`."""

    def __init__(
        self,
        workers: list[_Worker],
        count: int,
        work: Callable[[Any], Any],
        items: Items[Any],
        attempts: int,
    ) -> None:
        self._workers, self._count, self._items = workers, count, items
        self._attempts = attempts
        self._key, self._packed = uuid.uuid4().hex, pack(work)
        self._deaths: dict[int, int] = {}

    def start(self, number: int) -> None:
        """Gives a piece to an idle worker, of which there is one or room for one."""
        for dead in [member for member in self._workers if not member.process.is_alive()]:
            if dead.number is None:
                self._workers.remove(dead)
                dead.kill()
        worker = next((worker for worker in self._workers if worker.number is None), None)
        if worker is None:
            slots = {worker.place for worker in self._workers}
            slot = next(slot for slot in range(self._count) if slot not in slots)
            worker = _Worker(slot, self._count)
            self._workers.append(worker)
        worker.send(self._key, self._packed, number, self._items[number])

    def finished(self) -> list[tuple[int, bytes]]:
        """Waits until pieces are done; a worker that dies is replaced, and its piece done again."""
        results: list[tuple[int, bytes]] = []
        while not results:
            busy = [worker for worker in self._workers if worker.number is not None]
            ready = connection.wait(
                end for member in busy for end in (member.pipe, member.process.sentinel)
            )
            for worker in busy:
                if worker.pipe in ready or worker.process.sentinel in ready:
                    results += self._taken(worker)
        return results

    def _taken(self, worker: _Worker) -> list[tuple[int, bytes]]:
        number = worker.number
        assert number is not None
        try:
            if worker.pipe.poll():  # what it has sent before it died counts
                outcome = worker.pipe.recv_bytes()
                if outcome == _RECEIVED:
                    worker.begun = True
                    return []
                worker.number, worker.served = None, True
                return [(number, outcome)]
        except (EOFError, OSError):
            pass
        self._workers.remove(worker)
        worker.kill()
        # One that was killed while it had nothing to do did not die of this piece.
        if worker.begun or not worker.served:
            self._deaths[number] = self._deaths.get(number, 0) + 1
        if self._deaths.get(number, 0) >= self._attempts:
            raise WorkerKilledError(self._items, number, self._attempts)
        self.start(number)
        return []

    def close(self) -> None:
        """Ends the workers that an error or Ctrl-C leaves at pieces which nobody waits for."""
        _end_busy(self._workers)


def _end_busy(workers: list[_Worker]) -> None:
    """Ends the workers that are at a piece."""
    busy = [worker for worker in workers if worker.number is not None]
    for worker in busy:
        worker.process.kill()
    for worker in busy:
        workers.remove(worker)
        worker.kill()


def _surroundings(slot: int, count: int) -> dict[str, str]:
    """Returns environment variables of a worker beyond those of this process."""
    threads = str(max(1, cores() // count))
    # Who has set one of these keeps it.
    variables = {name: os.environ.get(name, threads) for name in _THREAD_VARIABLES}
    variables |= {
        THREADS: threads,
        QUIET: "1",
        "TQDM_DISABLE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }
    gpus = visible_gpus()
    if len(gpus) > 1:
        # The one that it sees is the first there.
        variables |= {"CUDA_VISIBLE_DEVICES": gpus[slot % len(gpus)], "LOCAL_RANK": "0"}
    return variables


@contextmanager
def _starting() -> Iterator[None]:
    """Keeps a process that starts from running the user's script, as Python would make it.

    Ctrl-C does not reach it either before it can ignore that.
    """
    masks = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if masks else None
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: connection.Connection, surroundings: dict[str, str]) -> None:
    """Runs a worker: does the work that comes through the pipe until the driver ends it."""
    # Ctrl-C is the driver's to act upon; a terminal sends it to workers too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    os.environ.update(surroundings)  # before any numeric library is loaded, and tqdm
    from tqdm import tqdm

    # tqdm's own lock is a semaphore, of which Python warns when this worker has been killed.
    tqdm.set_lock(threading.RLock())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work: Any = None
    while message := _received(pipe):
        pipe.send_bytes(_RECEIVED)
        key, packed, item = pickle.loads(message)
        work = packed or work
        pipe.send_bytes(perform(key, work, item))


def _received(pipe: connection.Connection) -> bytes:
    """Returns the next message; b"" at the end."""
    try:
        return pipe.recv_bytes()
    except EOFError:
        return b""


def _end_with_parent() -> None:
    """Ends this worker when the driver dies, however that happens."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

"""Work on a Ray cluster, or on a Ray that is started on this machine and stopped at the end."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable
from typing import Any

from irtoolkit import version
from irtoolkit.base.cores import cores
from irtoolkit.base.errors import InputError
from irtoolkit.engines import work as working
from irtoolkit.engines.node import Driver, located
from irtoolkit.engines.pooled import PooledEngine
from irtoolkit.engines.ray_start import Connection, connect
from irtoolkit.engines.work import ATTEMPTS, HELD, Items, Outcome, WorkerKilledError, pack

# Seconds between looks at whether the cluster is still there.
_LOOK = 5.0


class RayEngine(PooledEngine):
    """An `Engine` that does pieces of work as Ray tasks.

    Tasks of workers and nodes that die are done again by Ray. Models stay loaded in its workers,
    those with a GPU too.

    Args:
        workers: how many pieces are worked on at once; by default one for each CPU of the cluster.
        address: of a cluster, as host:port, ray://host:port or auto; by default `$RAY_ADDRESS`, else
            a Ray is started on this machine.

    Raises:
        InputError: Ray is not installed, no cluster answers there, or it has another version.
    """

    name = "ray"

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        super().__init__()
        self._connection = connect(address, workers or cores())
        self._count = workers
        self.versions = {"ray": str(self._connection.ray.__version__)}

    @property
    def workers(self) -> int:
        """The number of pieces of work at once; it grows and shrinks with the cluster."""
        return self._count or max(1, self._resources("CPU"))

    @property
    def gpus(self) -> int:
        """The number of GPUs of the cluster."""
        return self._resources("GPU")

    def _resources(self, name: str) -> int:
        return int(self._connection.ray.cluster_resources().get(name, 0))

    def limits(self) -> tuple[int, int]:
        """Returns as many pieces as are held: Ray itself queues them, unless workers are given."""
        workers = self.workers
        return self._count or HELD * workers, HELD * workers

    def pool(
        self, work: Callable[[Any], Any], pieces: Items[Any], gpus: float, together: bool
    ) -> _Pool:
        """Returns the tasks of one `map`."""
        # If the cluster has no GPU, a task that needs one would wait for ever.
        granted = gpus if self.gpus else 0.0
        return _Pool(self._connection, work, pieces, granted, 1 if together else ATTEMPTS)

    def close(self) -> None:
        """Leaves the cluster; a Ray that was started for this is stopped."""
        self._connection.close()


class _Pool:
    """The tasks of one `map`."""

    def __init__(
        self,
        connection: Connection,
        work: Callable[[Any], Any],
        items: Items[Any],
        gpus: float,
        attempts: int,
    ) -> None:
        import numpy as np

        self._connection, self._ray, self._items = connection, connection.ray, items
        self._attempts = attempts
        self._key = uuid.uuid4().hex
        # An array is mapped into each worker's memory, not copied.
        self._packed = self._ray.put(np.frombuffer(pack(work), np.uint8))
        # A worker with a GPU would otherwise end with each task, and its model with it.
        task = self._ray.remote(
            num_cpus=1,
            num_gpus=gpus,
            max_calls=0,
            max_retries=attempts - 1,
            retry_exceptions=False,
        )(_perform)
        self._task = task
        self._driver = Driver.here()
        self._under_way: dict[Any, int] = {}

    def start(self, number: int) -> None:
        """Submits a piece."""
        reference = self._task.remote(self._key, self._packed, self._items[number], self._driver)
        self._under_way[reference] = number

    def finished(self) -> list[tuple[int, bytes]]:
        """Waits until pieces are done."""
        ready: list[Any] = []
        while not ready:
            waiting = list(self._under_way)
            ready, _ = self._ray.wait(waiting, num_returns=1, timeout=_LOOK, fetch_local=True)
            self._connection.check()
        return [
            (number := self._under_way.pop(reference), self._got(reference, number))
            for reference in ready
        ]

    def _got(self, reference: Any, number: int) -> bytes:
        from ray import exceptions

        died = exceptions.WorkerCrashedError, exceptions.OutOfMemoryError
        lost = (
            exceptions.NodeDiedError,
            exceptions.ObjectLostError,
            exceptions.LocalRayletDiedError,
        )
        try:
            result: bytes = self._ray.get(reference)
        except died:
            raise WorkerKilledError(self._items, number, self._attempts) from None
        except exceptions.OwnerDiedError:  # this process, which is alive
            raise InputError(
                "nodes of the Ray cluster cannot reach this process",
                remedy="no firewall may be between them, and RAY_AUTH_MODE must be the same on both",
            ) from None
        except lost as error:
            raise WorkerKilledError(
                self._items, number, self._attempts, type(error).__name__
            ) from error
        except exceptions.RayError as error:
            raise _explained(error) from error
        return result

    def close(self) -> None:
        """Cancels tasks whose results are no longer needed."""
        for reference in () if self._connection.lost else self._under_way:
            try:
                self._ray.cancel(reference, force=True)
            except Exception:  # the cluster may be gone
                break
        self._under_way.clear()


def _perform(key: str, packed: Any, item: Any, driver: Driver) -> bytes:
    """Runs `perform` in a worker of a cluster, which may lack the data or differ in irtoolkit."""
    try:
        driver.followed()
    except InputError as other:
        return pickle.dumps(Outcome(error=other))
    return working.perform(key, packed, item, located)


def _explained(error: Exception) -> InputError:
    """Errors of Ray itself in one line."""
    reason = " ".join(str(error).split())
    if "No module named 'irtoolkit'" in reason or "failed to import" in reason:
        return InputError(
            "a node of the Ray cluster cannot import irtoolkit",
            remedy=f"install irtoolkit {version.__version__} on every node",
        )
    return InputError(f"Ray: {type(error).__name__}: {reason[:300]}", remedy="--debug shows more")

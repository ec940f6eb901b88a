"""Work on a Ray cluster by actors that prepare something once, with items moved by Ray Data."""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.engines.gpus import granted
from irtoolkit.engines.node import Driver, located
from irtoolkit.engines.work import lacking, pack, unpack

# Bytes of items that are in the cluster's object store at once. Each time, actors begin anew.
_WINDOW = 1 << 30
# Items for each worker that are there at once: the sender of one may hold a lock for it.
_PIECES = 16
# Attempts at an item whose actor dies; an actor that is gone with its node does not count.
_RETRIES = 3


def mapped(
    prepare: Callable[[], Callable[[bytes], bytes]],
    items: Iterable[bytes],
    workers: int,
    gpus: float,
) -> Iterator[tuple[int, bytes]]:
    """Yields the number of each item, and the result of the work for it, as results come.

    Raises:
        InputError: an error of the work, with the node; or actors that die again and again.
    """
    import ray

    gpus = granted(ray, gpus)
    packed, driver = pack(prepare), Driver.here()
    with _quiet():
        for blocks in _windows(items, _PIECES * workers):
            data = ray.data.from_arrow_refs(blocks).map_batches(
                _Actor,
                fn_constructor_args=(packed, driver),
                batch_size=None,
                batch_format="pyarrow",
                compute=ray.data.ActorPoolStrategy(
                    min_size=1,
                    max_size=max(1, min(workers, len(blocks))),
                    max_tasks_in_flight_per_actor=2,
                ),
                num_cpus=1,
                num_gpus=gpus or None,
                max_task_retries=_RETRIES,
            )
            yield from _results(data)


def _windows(items: Iterable[bytes], most: int) -> Iterator[list[Any]]:
    """References to tables of one item each, at most so many at a time.

    Nor are there more bytes than the object store should hold.
    """
    import pyarrow as pa
    import ray

    blocks: list[Any] = []
    size = 0
    for number, item in enumerate(items):
        row = {"number": pa.array([number]), "item": pa.array([item], pa.large_binary())}
        blocks.append(ray.put(pa.table(row)))
        size += len(item)
        if size >= _WINDOW or len(blocks) >= most:
            yield blocks
            blocks, size = [], 0
    if blocks:
        yield blocks


def _results(data: Any) -> Iterator[tuple[int, bytes]]:
    from ray.exceptions import OutOfMemoryError, RayActorError, RayError

    try:
        for batch in data.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
            for row in batch.to_pylist():
                if row["failed"] is not None:
                    raise pickle.loads(row["failed"])
                yield row["number"], row["made"]
    except (RayActorError, OutOfMemoryError):
        raise InputError(
            f"a worker was killed, perhaps out of memory, {_RETRIES + 1} times at the same item",
            remedy="give fewer --workers, so that each has more memory; finished parts are kept",
        ) from None
    except RayError as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"a worker of the Ray cluster failed: {lines[-1]}",
            remedy="what is complete is kept: the same command continues",
        ) from None


class _Actor:
    """A worker, which prepares when the first item comes, so that failures are reported."""

    def __init__(self, packed: bytes, driver: Driver) -> None:
        self._packed, self._driver = packed, driver
        self._work: Callable[[bytes], bytes] | None = None

    def __call__(self, batch: Any) -> Any:
        import pyarrow as pa

        done = [self._done(item) for item in batch["item"].to_pylist()]
        made = [one if isinstance(one, bytes) else None for one in done]
        failed = [pickle.dumps(one) if isinstance(one, InputError) else None for one in done]
        return pa.table(
            {
                "number": batch["number"],
                "made": pa.array(made, pa.large_binary()),
                "failed": pa.array(failed, pa.binary()),
            }
        )

    def _done(self, item: bytes) -> bytes | InputError:
        """Returns the result of the work, or the error."""
        try:
            self._driver.followed()
        except InputError as other:
            return other
        try:
            self._work = self._work or unpack(self._packed)()
            return self._work(item)
        except Exception as error:
            told = located(error, lacking())
            if isinstance(told, InputError):
                return told
            raise


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences Ray Data's own bars and reports; there is one bar, of the whole work."""
    import ray

    context, log = ray.data.DataContext.get_current(), logging.getLogger("ray.data")
    before = context.enable_progress_bars, context.print_on_execution_start, log.level
    context.enable_progress_bars = context.print_on_execution_start = False
    log.setLevel(logging.CRITICAL)  # errors are raised
    try:
        with warnings.catch_warnings():
            # max_task_retries has no other place before Ray 2.64.
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            yield
    finally:
        context.enable_progress_bars, context.print_on_execution_start = before[:2]
        log.setLevel(before[2])

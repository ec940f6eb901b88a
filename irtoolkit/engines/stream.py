"""Work by workers that prepare something once, such as a model, on items that come one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from irtoolkit.engines.engine import Engine

# What a worker does to an item; items and results are bytes.
Work = Callable[[bytes], bytes]
# Makes that work in a worker; picklable, and hashable by what it makes.
Prepare = Callable[[], Work]


def stream(
    engine: Engine, prepare: Prepare, items: Iterable[bytes], *, gpus: float = 0.0
) -> Iterator[tuple[int, bytes]]:
    """Yields the number of each item, from 0, and the result of the work for it, as results come.

    Items are read as workers need them, so the memory of this process does not grow with them.

    Args:
        engine: the engine of the workers. On a Ray cluster Ray Data moves items and results.
        prepare: makes the work, once in each worker.
        items: of some megabytes at most.
        gpus: GPUs that each worker needs, if there are any.

    Raises:
        InputError: an error of the work, or a worker that dies again and again.
    """
    if engine.name == "ray":
        from irtoolkit.engines.ray_data import mapped

        yield from mapped(prepare, items, engine.workers, gpus)
        return
    numbered = (Numbered(number, item) for number, item in enumerate(items))
    yield from engine.map(_Prepared(prepare), numbered, gpus=gpus)


class Numbered(NamedTuple):
    """An item with its number."""

    number: int
    data: bytes

    def __repr__(self) -> str:
        return f"item {self.number + 1}, of {len(self.data):,} bytes"


@dataclass(frozen=True)
class _Prepared:
    """Work that is prepared when a worker first does it."""

    prepare: Prepare

    def __call__(self, item: Numbered) -> tuple[int, bytes]:
        return item.number, _made(self.prepare)(item.data)


# One at a time: models are large.
@lru_cache(maxsize=1)
def _made(prepare: Prepare) -> Work:
    return prepare()

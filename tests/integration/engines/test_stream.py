"""Work that is prepared once in each worker: in processes, and by Ray Data on a cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.engines.engine import Engine
from irtoolkit.engines.processes import ProcessEngine
from irtoolkit.engines.stream import stream

ITEMS = [bytes([n]) * n for n in range(20)]


@pytest.fixture(
    scope="module", params=["processes", pytest.param("ray", marks=pytest.mark.nightly)]
)
def two(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made: Any
    if request.param == "ray":
        pytest.importorskip("ray")
        from irtoolkit.engines.ray import RayEngine

        made = RayEngine(2)
    else:
        made = ProcessEngine(2)
    yield made
    made.close()


@dataclass(frozen=True)
class Prepares:
    """Leaves a file for each worker that it prepares, and may kill one at an item, once.

    Attributes:
        folder: where the files go.
        fatal, refused: the item that kills its worker, and the one that is an error.
    """

    folder: str
    fatal: bytes | None = None
    refused: bytes | None = None

    def __call__(self) -> Callable[[bytes], bytes]:
        Path(self.folder, str(os.getpid())).touch(exist_ok=False)

        def work(item: bytes) -> bytes:
            killed = Path(self.folder, "killed")
            if item == self.fatal and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if item == self.refused:
                raise InputError("bad item", remedy="mend it")
            return item[::-1] + b"!"

        return work


def test_workers_prepare_once_and_a_killed_one_costs_nothing(two: Engine, tmp_path: Path) -> None:
    found = dict(stream(two, Prepares(str(tmp_path), fatal=ITEMS[7]), iter(ITEMS)))
    assert [found[number] for number in range(len(ITEMS))] == [item + b"!" for item in ITEMS]
    (tmp_path / "killed").unlink()
    workers = {int(path.name) for path in tmp_path.iterdir()}
    assert 2 <= len(workers) <= 3  # one that was killed has another in its place
    assert os.getpid() not in workers


def test_what_the_work_refuses_is_one_error(two: Engine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"bad item.*\(mend it\)"):
        list(stream(two, Prepares(str(tmp_path), refused=ITEMS[3]), ITEMS))


def test_no_items_are_no_results(two: Engine, tmp_path: Path) -> None:
    assert not list(stream(two, Prepares(str(tmp_path)), []))
    assert not list(tmp_path.iterdir())

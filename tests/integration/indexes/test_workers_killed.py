"""Indexes that processes build and search: one of them is killed, or the driver is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import irtoolkit as ir
from irtoolkit.engines.engine import Engine, using
from irtoolkit.engines.processes import ProcessEngine
from irtoolkit.indexes import parallel
from irtoolkit.indexes.manifest import NAME, Manifest
from irtoolkit.ranking import build_index
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import index_sources
from irtoolkit.retrievers.index_sources import DatasetBlocks
from irtoolkit.retrievers.stored_index import StoredIndex
from tests.integration.indexes.killed import content, texts

pytestmark = pytest.mark.nightly

DOCS = texts(0, 4000)
QUERIES = {"q0": ("whale ship",), "q1": ("letter",), "q2": ("storm lamp coat",)}
RELEVANT = {query: ["d8", "d77", "d3999"] for query in QUERIES}


# Workers do not find the modules of tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    made = ProcessEngine(2)
    yield made
    made.close()


def ranking(index: StoredIndex) -> Any:
    names, segments = list(QUERIES), list(QUERIES.values())
    run = index.run(names, segments, 100, fill=True)
    ranks = index.exact_ranks(names, segments, RELEVANT)
    return [str(run.doc_ids[doc]) for doc in run.docs], run.scores.tobytes(), ranks


def built(folder: Path) -> StoredIndex:
    data = ir.load(DOCS, name="docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_sources, "_READ_DOCS", 64)
        patch.setattr(index_sources, "BLOCK_DOCS", 512)
        return build_index.build(data, find_system("bm25", {}), folder, progress=False)


class KillOnce:
    """Documents whose reader is killed once."""

    def __init__(self, blocks: Callable[[int], Any], mark: Path) -> None:
        self._blocks, self._mark = blocks, mark

    def __call__(self, start: int) -> Iterator[Any]:
        for number, block in enumerate(self._blocks(start)):
            if number == 1 and start and not self._mark.exists():
                self._mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield block


def test_a_worker_that_is_killed_costs_its_range_alone(
    two: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = built(tmp_path / "local")
    with using(two):
        whole = built(tmp_path / "whole")
        assert len(whole.manifest.shards) == 2
        made = parallel.RangeBuilder

        def builder(folder: str, key: str, texts: bool, blocks: DatasetBlocks, make: Any) -> Any:
            return made(folder, key, texts, KillOnce(blocks, tmp_path / "killed"), make)

        monkeypatch.setattr(parallel, "RangeBuilder", builder)
        index = built(tmp_path / "index")
        assert (tmp_path / "killed").exists()
        assert content(index.folder) == content(whole.folder)
        assert ranking(index) == ranking(local)
    assert ranking(index) == ranking(local)


SCRIPT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from irtoolkit.engines.engine import using
from irtoolkit.engines.processes import ProcessEngine
from irtoolkit.indexes.manifest import Manifest
from tests.integration.indexes.test_workers_killed import built
write, after = Manifest.write, int(sys.argv[3])
def killed(self, *given):
    global after
    if self.shards and not after:
        os.kill(os.getpid(), signal.SIGKILL)
    after -= bool(self.shards)
    write(self, *given)
Manifest.write = killed
with using(ProcessEngine(2)):
    built(Path(sys.argv[1]))
"""


@pytest.mark.parametrize("after", [0, 1])
def test_a_driver_that_is_killed_leaves_what_was_written(
    after: int, two: Engine, tmp_path: Path
) -> None:
    root = Path(__file__).parents[3]
    died = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "index"), str(root), str(after)],
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()[-2000:]
    assert len(Manifest.read(tmp_path / "index", NAME).shards) == after
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("[0-9]*/*.npy")}
    assert before
    with using(two):
        index = built(tmp_path / "index")
        whole = built(tmp_path / "whole")
    assert content(index.folder) == content(whole.folder)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())

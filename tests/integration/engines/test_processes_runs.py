"""Runs that several processes make: their bytes, their records, and that they are taken again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import irtoolkit as ir
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import engine
from irtoolkit.runs.provenance import metadata_path
from tests import tiny
from tests.lucene import with_java

DATA = "csfcube/sample"


def made(path: Path, name: str, reuse: bool = False) -> bool:
    """Writes a run, or takes the one that is there: whether it did."""
    system = find_system(name, {}, DATA)
    return produce(DATA, system, path, depth=10, progress=False, reuse=reuse)[1]


@pytest.mark.parametrize("name", ["bm25", pytest.param("lucene", marks=with_java)])
def test_the_engine_is_in_the_record_and_decides_nothing(name: str, tmp_path: Path) -> None:
    alone, together = tmp_path / "alone.run", tmp_path / "together.run"
    made(alone, name)
    with ir.engine("processes", workers=2):
        made(together, name)
        assert made(alone, name, reuse=True)
    assert made(together, name, reuse=True)
    assert together.read_bytes() == alone.read_bytes()

    def record(path: Path) -> dict[str, Any]:
        return dict(yaml.safe_load(metadata_path(path).read_text()))

    assert record(together)["irtoolkit"] == record(alone)["irtoolkit"]
    assert "engine" not in record(alone)["platform"]
    assert record(together)["platform"]["engine"] == {"name": "processes", "workers": 2}


def test_what_a_model_writes_for_documents_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {"model": str(tiny.save_t5(tmp_path / "t5")), "queries": 2, "max_length": 6}
    system = find_system("doct5query", how, DATA)
    monkeypatch.setattr(engine, "BLOCK_CELLS", 1)

    def run(name: str) -> tuple[bytes, list[str]]:
        monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / name))
        path = tmp_path / f"{name}.run"
        produce(DATA, system, path, depth=10, progress=False)
        (answers,) = (tmp_path / name / "answers").glob("*.jsonl")
        return path.read_bytes(), answers.read_text().splitlines()

    alone = run("alone")
    with ir.engine("processes", workers=2):
        assert run("together") == alone
    keys = [line.split(",")[0] for line in alone[1]]
    assert len(keys) == len(set(keys)) > 1

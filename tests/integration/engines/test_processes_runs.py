"""Runs that several processes make: their bytes, their records, and that they are taken again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import irtoolkit as ir
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import find_system
from irtoolkit.runs.provenance import metadata_path
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

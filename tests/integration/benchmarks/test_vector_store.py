"""The benchmark of the vector store at a tiny scale. Nothing here looks at a time."""

from __future__ import annotations

import runpy
from pathlib import Path

from tests.conftest import ROOT

SCRIPT = ROOT / "benchmarks" / "vector_store.py"


def test_both_stores_open_and_find_their_keys(tmp_path: Path) -> None:
    module = runpy.run_path(str(SCRIPT))
    real, invented = tmp_path / "real", tmp_path / "invented"
    for folder in (real, invented):
        folder.mkdir()
    module["fill"].__globals__["SHARD"] = 100
    module["fill"](real, 2000)
    module["invent"](invented, 2000)
    keys = module["known"](real)
    (old, _), (new, _) = module["before"](real, keys, True), module["now"](real, keys, True)
    assert old.keys() < new.keys()
    assert module["now"](invented, module["known"](invented), False)[0]["look up ms"] > 0

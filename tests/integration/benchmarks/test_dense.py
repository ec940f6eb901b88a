"""The benchmark of exact dense ranking at a tiny scale. Nothing here looks at a time."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPT = ROOT / "benchmarks" / "dense.py"


def test_every_row_is_there_and_the_order_is_numpys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(SCRIPT))["main"]
    main(["--sizes", "1200", "3000", "--turns", "1", "-o", str(tmp_path / "dense.json")])
    assert "share of the product" in capsys.readouterr().out
    found = json.loads((tmp_path / "dense.json").read_text())
    assert [row["candidates"] for row in found["ranking"]] == [1200, 3000]

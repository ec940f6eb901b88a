"""The benchmark of evaluation at a tiny scale: every row is there, and the values agree.

Nothing here looks at a time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

SCRIPT = ROOT / "benchmarks" / "evaluation.py"

ROWS = {
    "engine": [("rank and locate", "sorted()")],
    "nearness": [
        ("NRODCG@10", "plain Python"),
        ("NRODCG@100", "plain Python"),
        ("nDCGp(p=20)", "plain Python"),
        ("all three", "plain Python"),
    ],
    "usual": [
        ("in memory", "ir_measures"),
        ("from files", "ir_measures"),
        ("in memory", "ranx"),
        ("in memory, building its objects", "ranx"),
        ("from files", "ranx"),
    ],
    "files": [("read", "ir_measures reads"), ("write", "ir_measures reads")],
}


Found = tuple[str, list[dict[str, Any]]]


def bench(tmp_path: Path, *args: str) -> Found:
    """The printed table, and the rows written as JSON."""
    output = tmp_path / "found.json"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--scale", "0.0005", "-o", str(output), *args],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(output.read_text())
    assert report["scale"] == 0.0005
    assert report["cores"] >= 1
    return done.stdout, report["rows"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Found]:
    """Runs the benchmark once for the same parts."""
    return cache(lambda *parts: bench(tmp_path_factory.mktemp("found"), "--parts", *parts))


PARTS = ("engine", "nearness", "files")


@pytest.mark.parametrize(
    "parts",
    [PARTS, pytest.param(("usual",), marks=pytest.mark.nightly)],
    ids=" ".join,
)
def test_every_row_is_there_and_the_values_agree(
    found: Callable[..., Found], parts: tuple[str, ...]
) -> None:
    printed, rows = found(*parts)
    expected = [(part, *names) for part in parts for names in ROWS[part]]
    assert [(row["part"], row["name"], row["other"]) for row in rows] == expected
    cells = [line.split(" | ") for line in printed.splitlines() if line.startswith("| ")]
    assert [(c[0].removeprefix("| "), c[1], c[3]) for c in cells[1:]] == expected
    for row in rows:
        assert row["seconds"] > 0
        if row["other"] == "ranx" and find_spec("ranx") is None:
            assert row["ratio"] is None
            continue
        assert row["ratio"] == pytest.approx(row["other_seconds"] / row["seconds"])
        assert row["difference"] <= 1e-12
    assert all(row["peak_mb"] > 0 for row in rows if row["part"] in ("engine", "files"))


def test_the_engine_s_figures_are_those_of_its_ranks(found: Callable[..., Found]) -> None:
    printed, rows = found(*PARTS)
    [row] = [row for row in rows if row["part"] == "engine"]
    figures = row["figures"]
    assert row["pairs"] == 5 * 5041
    assert 1 <= figures["MedianRank"] <= 5041
    assert figures["R@1"] <= figures["R@3"] <= figures["R@100"] <= 1
    assert f"Rank {figures['Rank']:.4f}, MedianRank" in printed


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--parts", "everything"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "invalid choice: 'everything'" in done.stderr

"""The benchmark of kept indexes at a tiny scale: every figure is there. Nothing here looks at a time."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT

SCRIPT = ROOT / "benchmarks" / "index.py"


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that draws texts, as a module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    return importlib.import_module("index_texts")


def run(*words: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.mark.nightly
def test_every_figure_is_there(tmp_path: Path) -> None:
    output = tmp_path / "deep" / "found.json"
    done = run(
        "--sizes", 1000, "--queries", 0.001, "--repeats", 1, "--systems", "bm25s", "pisa",
        "--threads", 2, "--folder", tmp_path, "-o", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(output.read_text("utf-8"))
    rows = {row["system"]: row for row in report["rows"]}
    assert {"irtoolkit", "bm25s"} <= set(rows)
    if find_spec("pyterrier_pisa") is None:
        assert report["left out"] == {"pisa": "not installed: pyterrier_pisa"}
        assert "pisa is left out: not installed" in done.stdout
    for row in rows.values():
        assert {(cell["words"], cell["k"]) for cell in row["cells"]} == {
            (5, 10), (5, 1000), (150, 10), (150, 1000)
        }  # fmt: skip
        assert all(cell["queries/s"] > 0 for cell in row["cells"])
        assert all(row[name] > 0 for name in row["ratios"])
    # The same words are searched for: both are exact.
    assert all(cell["agree"] > 0.98 for cell in rows["bm25s"]["cells"])
    assert {goal["met"] for goal in report["goals"]} <= {True, False}
    assert "1,000: open under 50 ms" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["deep"], "texts and indexes are removed"


def test_texts_and_queries_are_of_one_law(texts: Any, tmp_path: Path) -> None:
    texts.write(tmp_path, 500, 9)
    files = sorted((tmp_path / "passages").iterdir())
    records = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert [record["id"] for record in records] == [str(number) for number in range(500)]
    lengths = [len(record["contents"].split()) for record in records]
    assert min(lengths) >= 20
    assert max(lengths) <= 70
    for length in texts.LENGTHS:
        lines = (tmp_path / f"queries-{length}.txt").read_text().splitlines()
        assert [len(line.split()) for line in lines] == [length] * 9
    assert "Zipf-Mandelbrot" in json.loads((tmp_path / "texts.json").read_text())["words from"]


def test_words_come_as_often_as_in_the_books(
    texts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "books").mkdir()
    (tmp_path / "books/one.txt").write_text("whale whale whale sea, the I the the the the")
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path))
    law = texts.Law()
    assert law.names == ["whale", "sea", "the"]
    counts = np.bincount(law.draw(np.random.default_rng(1), 90_000)) / 10_000
    assert counts == pytest.approx([3, 1, 5], abs=0.1)
    assert set(" ".join(texts.queries(law, 20, 5)).split()) == {"whale", "sea"}, "no stop words"


def test_help_says_how_to_run_it() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "--threads" in done.stdout

"""The benchmark of BM25 at a tiny scale: every row is there. Nothing here looks at a time."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from irtoolkit.retrievers.lexical import BM25
from tests.conftest import ROOT

SCRIPT = ROOT / "benchmarks" / "bm25.py"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module, which the processes that it starts find too."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return importlib.import_module("bm25")


def test_every_row_is_there(
    module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process: a process for each measurement takes longer than what is measured."""

    def alone(work: Any, *args: Any) -> dict[str, float]:
        return {**work(*args), "peak MB": 1.0}

    monkeypatch.setattr(module, "alone", alone)
    monkeypatch.setattr(module, "SENTENCES", 60)
    monkeypatch.setattr(module, "VOCABULARY", 2000)
    output = tmp_path / "deep" / "found.json"
    assert module.main(["--scale", "0.005", "-o", str(output)]) == 0
    printed, said = capsys.readouterr()
    report = json.loads(output.read_text("utf-8"))
    assert report["scale"] == 0.005
    rows = [(row["what"], row["system"]) for row in report["rows"]]
    assert len(set(rows)) == len(rows)
    systems = [system for _, system in rows]
    assert systems.count("irtoolkit") == systems.count("rank_bm25") == 2
    for row in report["rows"]:
        assert row["per query ms"] > 0
        assert row["ratio"] > 0
        if row["system"] == "irtoolkit":
            assert row["ratio"] == 1
        assert row["what"] in printed
    assert said.count("...") == len(rows)


def test_each_measurement_has_its_own_process(module: Any) -> None:
    found = module.alone(module.ours_on_candidates, 1, 10)
    assert set(found) == {"seconds", "per query ms", "peak MB"}
    assert found["peak MB"] > 1
    with pytest.raises(RuntimeError, match="Error"):
        module.alone(module.ours_on_candidates, 1, -1)


def test_words_are_drawn_as_those_of_a_language_are(module: Any) -> None:
    texts = module.words(np.random.default_rng(2), 2000, 45)
    assert module.words(np.random.default_rng(2), 2000, 45) == texts
    assert {len(text.split()) for text in texts} == {45}
    counts = np.unique(" ".join(texts).split(), return_counts=True)[1]
    assert counts.max() > 20 * np.median(counts)


def test_the_library_is_shaped_like_relic(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SENTENCES", 40)
    docs, asked, groups = module.library(2, 23)
    assert len(groups) == 2 * len(module.LENGTHS)
    assert sorted(q for members, _ in groups for q in members) == list(range(23)) == list(range(len(asked)))  # fmt: skip
    assert [len(pool) for _, pool in groups[:5]] == [40 - n + 1 for n in module.LENGTHS]
    for (_, pool), length in zip(groups, [*module.LENGTHS] * 2, strict=True):
        assert {len(docs[i]) for i in pool} == {length}


def test_what_is_measured_is_rank_bm25s_scores(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SENTENCES", 30)
    docs, asked, groups = module.library(1, 10)
    task = module.task_of(docs, asked, groups)
    scorer = BM25(form="okapi", statistics="candidates", stop="none").scorer(task)
    for group, (members, pool) in zip(task.groups, groups, strict=True):
        found = scorer(group.docs)(group.queries).scores
        model = BM25Okapi([" ".join(docs[i]).split() for i in pool])
        for row, query in zip(found, members, strict=True):
            assert row == pytest.approx(model.get_scores(asked[query].split()), abs=1e-9)


def test_help_says_how_to_run_it() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "--scale" in done.stdout

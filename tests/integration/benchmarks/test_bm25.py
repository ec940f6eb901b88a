"""The benchmark of BM25 at a tiny scale: every row is there. Nothing here looks at a time."""

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
    monkeypatch.setattr(module, "DEPTH", 10)
    output = tmp_path / "deep" / "found.json"
    assert module.main(["--scale", "0.005", "-o", str(output)]) == 0
    printed, said = capsys.readouterr()
    report = json.loads(output.read_text("utf-8"))
    assert report["scale"] == 0.005
    rows = [(row["what"], row["system"]) for row in report["rows"]]
    assert len(set(rows)) == len(rows)
    systems = [system for _, system in rows]
    corpora = 3 * 2
    assert systems.count("irtoolkit") == 2 + corpora
    assert systems.count("rank_bm25") == 2
    assert systems.count("bm25s numpy") == corpora
    assert systems.count("bm25s numba") == corpora
    if find_spec("pyserini") is None:
        assert "pyserini" not in systems
    for row in report["rows"]:
        assert row["per query ms"] > 0
        assert row["ratio"] > 0
        if row["system"] == "irtoolkit":
            assert row["ratio"] == 1
        assert row["what"] in printed
    assert said.count("...") == len(rows)


def test_each_measurement_has_its_own_process(module: Any) -> None:
    found = module.alone(module.ours_on_corpus, 30, 10, 5)
    assert set(found) == {"index s", "per query ms", "peak MB"}
    assert found["peak MB"] > 1
    with pytest.raises(RuntimeError, match="Error"):
        module.alone(module.ours_on_corpus, 0, 0, 0)


@pytest.mark.skipif(find_spec("pyserini") is None, reason="pyserini is not installed")
def test_pyserini_is_measured(module: Any) -> None:
    found = module.alone(module.pyserini_on_corpus, 30, 10, 5)
    assert found["per query ms"] > 0


def test_texts_are_drawn_alike_for_all(module: Any) -> None:
    texts, queries = module.corpus(50, 7, 12)
    assert module.corpus(50, 7, 12) == (texts, queries)
    assert [len(text.split()) for text in texts] == [module.PASSAGE] * 50
    assert [len(text.split()) for text in queries] == [12] * 7
    many, _ = module.corpus(2000, 1, 1)
    counts = np.unique(" ".join(many).split(), return_counts=True)[1]
    assert counts.max() > 20 * np.median(counts), "as words of a language are"


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
        found = scorer(group.docs)(group.queries)
        model = BM25Okapi([" ".join(docs[i]).split() for i in pool])
        for row, query in zip(found, members, strict=True):
            assert row == pytest.approx(model.get_scores(asked[query].split()), abs=1e-9)


def test_help_says_how_to_run_it() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "--scale" in done.stdout

"""The encoders that are trained and chosen out of fold, with a tiny model on the sample."""

from __future__ import annotations

import importlib
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.training.model_paths import RECORD
from tests import tiny
from tests.conftest import ROOT
from tests.scripts import run_benchmark

BENCHMARKS = ROOT / "benchmarks"
MEASURES = "R@1 RR"
ROW = """
[egret]
title = "EgRet"
report = "egret/sample/dev"
choose = "egret/sample/train"
measures = ["R@1", "RR"]
baselines = ["tiny, trained"]

[[egret.row]]
name = "tiny, trained"
group = "trained"
learning = ["irtoolkit never {data} -o {out}"]
commands = ["irtoolkit never {data} -o {out}"]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of runs of a tiny encoder with two rates, and what the script says of it."""
    folder = tmp_path_factory.mktemp("trained")
    start = tiny.save(folder / "start", longest=128)
    given = [f"tiny={start}", "--of", "egret/sample", "--rates", "1e-4", "1e-3", "--epochs", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRTOOLKIT_CACHE", str(folder / "cache"))
        run_benchmark("trained", *given, "-o", folder / "out")
    told = json.loads((folder / "out" / "trained.json").read_text("utf-8"))
    return folder / "out", told["encoders"]["tiny"]


def figures(dataset: str, run: Path) -> dict[str, float]:
    (found,) = ir.evaluate(dataset, run, measures=MEASURES).figures().values()
    return found


def test_the_settings_that_are_best_out_of_fold_are_those_that_are_reported(made: Any) -> None:
    out, told = made
    train = {
        rate: figures("egret/sample/train", out / f"tiny,rate={rate},epochs=1.train.run")
        for rate in ("1e-4", "1e-3")
    }
    assert train["1e-4"] != train["1e-3"]
    best = max(train, key=lambda rate: (train[rate]["R@1"], train[rate]["RR"]))
    assert told["chosen"] == {"rate": best, "epochs": "1"}
    for one in told["tried out of fold"]:
        assert {name: one[name] for name in ("R@1", "RR")} == pytest.approx(train[one["rate"]])
    plan = json.loads(
        (out / "models" / f"tiny,rate={best},epochs=1-1" / RECORD).read_text("utf-8")
    )["plan"]
    assert float(plan["settings"]["stages"][0]["rate"]) == float(best)


def test_each_seed_ranks_the_other_split_by_a_model_of_its_own(made: Any) -> None:
    out, told = made
    assert set(told["seeds"]) == {"1", "2", "3"}
    name = f"tiny,rate={told['chosen']['rate']},epochs=1"
    runs = {seed: ir.Run.read(out / f"{name}-{seed}.dev.run") for seed in told["seeds"]}
    for seed, one in told["seeds"].items():
        assert {name: one[name] for name in ("R@1", "RR")} == pytest.approx(
            figures("egret/sample/dev", out / f"{name}-{seed}.dev.run")
        )
    assert len({run.scores.tobytes() for run in runs.values()}) == 3


def test_a_table_takes_its_runs_in_place_of_commands_that_cannot_be_run(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, told = made
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    rows, results = tmp_path / "rows.toml", tmp_path / "quality.json"
    rows.write_text(ROW, "utf-8")
    given = ("quality", "--rows", rows, "-o", results)
    with pytest.raises(SystemExit, match="no run of a row"):
        run_benchmark(*given, "--take", tmp_path / "empty")
    with pytest.raises(SystemExit):
        run_benchmark(*given)
    assert "no command 'never'" in capsys.readouterr().err
    run_benchmark(*given, "--take", out / "quality")
    found = json.loads(results.read_text("utf-8"))["benchmarks"]["egret"]
    shown = found["rows"]["tiny, trained"]["figures"]
    assert shown["RR"] == pytest.approx(told["seeds"]["1"]["RR"])
    best = max(told["tried out of fold"], key=lambda one: (one["R@1"], one["RR"]))
    assert found["tried"]["tiny, trained"]["figure"] == pytest.approx(best["R@1"])


def test_costs_stay_with_the_rows_that_they_were_measured_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    quality = importlib.import_module("quality")
    rows = ("BM25", "best of all", "fused")
    lines = {"BM25": "bm25", "best of all": "one", "fused": "fuse {BM25} {dense}"}
    known: dict[str, Any] = {
        "about": {name: {"commands": [lines[name]]} for name in rows},
        "tried": {"dense": {"commands": ["dense"]}},
        "ms a query": {"BM25": 1.0, "best of all": 9.0, "fused": 3.0},
        "cost": {"seconds": 5},
    }
    found = deepcopy(known)
    assert quality.known_costs(found, known)["ms a query"] == known["ms a query"]
    found["about"]["best of all"]["commands"] = ["other"]
    found["tried"]["dense"]["commands"] = ["dense, otherwise"]
    assert quality.known_costs(found, known) == {
        "ms a query": {"BM25": 1.0},
        "cost": {"seconds": 5},
    }

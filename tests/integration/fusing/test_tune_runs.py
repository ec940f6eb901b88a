"""Tuning a fusion through the command, on packaged samples."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import irtoolkit as ir
from irtoolkit.runs import provenance

Command = Callable[..., Any]
SAMPLE, TRAIN, VAL = "csfcube/sample", "relic/sample/train", "relic/sample/val"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rank(dataset: str, *systems: str, end: str = "run") -> list[str]:
    """Files of runs."""
    files = [f"{system}.{end}" for system in systems]
    for system, file in zip(systems, files, strict=True):
        ir.retrieve(dataset, system, depth=50, output=file, progress=False)
    return files


def test_a_held_out_run_its_log_and_its_record(irtoolkit: Command) -> None:
    runs = rank(SAMPLE, "bm25", "tfidf")
    asked = ("tune", SAMPLE, "--runs", *runs, "-o", "tuned.run", "--log", "tried.json")
    answer = irtoolkit(*asked, "--methods", "rrf", "weighted", "--step", "0.25")
    assert answer.status == 0, answer.err
    assert f"{SAMPLE}: 19 fusions of 2 runs" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100
    log = json.loads(Path("tried.json").read_text())
    assert len(log["tried"]) == 19
    assert len(log["chosen"]) == 2, "the two folds of the protocol"
    scored = irtoolkit("eval", SAMPLE, "tuned.run", *runs, "-m", "nDCGp(p=20)", "--format", "json")
    figures = {name: row["nDCGp(p=20)"] for name, row in json.loads(scored.out).items()}
    assert log["figures"] == pytest.approx({("tuned-fusion" if k == "tuned.run" else k): v for k, v in figures.items()})  # fmt: skip
    made = yaml.safe_load(provenance.metadata_path(Path("tuned.run")).read_text())["irtoolkit"]
    assert made["chosen"] == log["chosen"]
    assert [Path(one["file"]).name for one in made["runs"]] == runs
    assert irtoolkit("check", "tuned.run", "--dataset", SAMPLE).status == 0


def test_the_test_is_that_of_compare(irtoolkit: Command) -> None:
    runs = rank(SAMPLE, "bm25", "tfidf")
    asked = ("tune", SAMPLE, "--runs", *runs, "-o", "t.run", "--methods", "rrf", "--format", "json")
    found = json.loads(irtoolkit(*asked, "--test", "fisher").out)
    compared = irtoolkit(
        "compare", SAMPLE, "t.run", *runs, "-m", "nDCGp(p=20)", "--test", "fisher", "--format",
        "json",
    )  # fmt: skip
    expected = json.loads(compared.out)["systems"]
    assert [{**row, "system": ""} for row in found["systems"]] == [{**row, "system": ""} for row in expected]  # fmt: skip
    table = irtoolkit(*asked[:-1], "csv").out.splitlines()
    assert table[0] == "method,normalise,settings,nDCGp(p=20),chosen for"
    assert len(table) == 1 + len(found["tried"])


@pytest.mark.parametrize("method", ["weighted", "lambdamart"])
def test_what_is_learned_on_one_split_is_applied_to_another(
    irtoolkit: Command, method: str
) -> None:
    rank(TRAIN, "bm25", "ql", end="train")
    rank(VAL, "bm25", "ql", end="val")
    grid = ["--grid", "trees=20", "leaves=4"] if method == "lambdamart" else ["--step", "0.25"]
    answer = irtoolkit(
        "tune", TRAIN, "--runs", "bm25.train", "ql.train", "--log", "tried.json", "--methods",
        method, "--normalise", "minmax", "-m", "R@10", "--folds", "3", "--inner", "2", *grid,
    )  # fmt: skip
    assert answer.status == 0, answer.err
    learned = json.loads(Path("tried.json").read_text())["learned"]
    fuse = ("fuse", "bm25.val", "ql.val", "-o")
    answer = irtoolkit(*fuse, "l.run", "--learned", "tried.json")
    assert answer.status == 0, answer.err
    assert method in answer.err
    assert "too high" not in answer.err
    if method == "weighted":
        weights = learned["settings"]["weights"]
        irtoolkit(*fuse, "w.run", "--method", "weighted", "--weights", *weights)
        assert Path("w.run").read_bytes() == Path("l.run").read_bytes()
    for wrong, said in (
        (["ql.val", "bm25.val"], "in the order ql, bm25"),
        (["ql.val", "bm25.val", "l.run"], "3 runs for a fusion that was learned for 2"),
    ):
        answer = irtoolkit("fuse", *wrong, "-o", "x.run", "--learned", "tried.json")
        assert (answer.status, answer.err.count("\n"), said in answer.err) == (2, 1, True)
    answer = irtoolkit("fuse", "bm25.train", "ql.train", "-o", "x.run", "--learned", "tried.json")
    assert "figures on these are too high" in answer.err


def test_workers_give_the_same_bytes(irtoolkit: Command) -> None:
    runs = rank(SAMPLE, "bm25", "tfidf")
    asked = ("tune", SAMPLE, "--runs", *runs, "--methods", "rrf", "combsum")
    for name, more in (("a", []), ("b", ["--workers", "2"])):
        answer = irtoolkit(*asked, "-o", f"{name}.run", "--log", f"{name}.json", *more)
        assert answer.status == 0, answer.err
    for end in ("run", "json"):
        assert Path(f"a.{end}").read_bytes() == Path(f"b.{end}").read_bytes()


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The log of a search."""
    log = tmp_path_factory.mktemp("log") / "tried.json"
    runs = [ir.retrieve(SAMPLE, name, depth=50, progress=False) for name in ("bm25", "tfidf")]
    ir.tune_fusion(SAMPLE, *runs, methods="weighted", step=0.5, log=log, progress=False)
    found: dict[str, Any] = json.loads(log.read_text())
    return found


@pytest.mark.parametrize("key", ["method", "settings", "runs"])
def test_a_log_that_lacks_something_says_what(learned: dict[str, Any], key: str) -> None:
    rest = {name: value for name, value in learned["learned"].items() if name != key}
    Path("tried.json").write_text(json.dumps({**learned, "learned": rest}))
    with pytest.raises(ir.InputError, match=r"tried.json: what is learned is damaged: .*again"):
        ir.fuse({"q": {"a": 1}}, {"q": {"a": 2}}, learned="tried.json")
    Path("tried.json").write_text(json.dumps(learned))
    fused = ir.fuse(*rank(SAMPLE, "bm25", "tfidf"), learned="tried.json")
    assert fused.tag == "weighted"

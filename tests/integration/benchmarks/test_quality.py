"""The benchmark of the strongest systems on the samples: choices are made where nothing is reported."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.scoring.compare import compare
from tests.scripts import run_benchmark

ROWS = """
[relic]
title = "RELiC"
report = "relic/sample/val"
choose = "relic/sample/train"
measures = ["RR", "R@10"]
baselines = ["BM25", "QL"]
goals = { RR = 0.9 }

[csfcube]
title = "CSFCube"
report = "csfcube/sample"
choose = "folds"
measures = ["nDCGp(p=20)"]
baselines = ["BM25"]

[fixed]
title = "RELiC, of which nothing is chosen"
report = "relic/sample/val"
choose = "nowhere"
measures = ["RR"]
baselines = ["BM25"]
rows_of = "relic"

[taught]
title = "RELiC, of which a fusion is learned"
report = "relic/sample/val"
choose = "relic/sample/train"
measures = ["RR"]
baselines = ["BM25"]

[[taught.row]]
name = "learned"
group = "fusion"
learning = ["irtoolkit tune {data} --runs {BM25} {QL} -o {out} --log {learned} -m RR --folds 2"]
commands = ["irtoolkit fuse {BM25} {QL} -o {out} --learned {learned}"]

[[taught.row]]
name = "reranked"
group = "reranker"
commands = ["irtoolkit rerank {data} {BM25} tfidf -o {out} --depth 5"]

[trained]
title = "QuoteR, of which a model is trained"
report = "quoter/sample/en/val"
choose = "quoter/sample/en/train"
measures = ["RR"]
baselines = ["trained"]

[[trained.row]]
name = "trained"
group = "trained"
learning = ["irtoolkit train quoter-lstm --set dataset={data} evaluate=quoter/sample/en/val epochs=1 width=8 -o {model}.folds --out-of-fold {out} --folds 2"]
commands = ["irtoolkit train quoter-lstm --set dataset=quoter/sample/en/train evaluate=quoter/sample/en/val epochs=1 width=8 -o {model}", "irtoolkit retrieve {data} dense -o {out} --set model={model}"]

[[trained.row]]
name = "another seed"
group = "trained"
commands = ["irtoolkit train quoter-lstm --set dataset=quoter/sample/en/train evaluate=quoter/sample/en/val epochs=1 width=8 seed=7 -o {model}", "irtoolkit retrieve {data} dense -o {out} --set model={model}"]
"""
ROW = """
[[{table}.row]]
name = "{name}"
group = "lexical"
alternative = {alternative}
commands = ["{command}"]
"""
UNTRIED = "BM25 again"
SYSTEMS = {"BM25": "bm25", "QL": "ql", "tf-idf": "tfidf"}
BOTH = "BM25 + QL"


def rows() -> str:
    text = ROWS
    for table in ("relic", "csfcube", "taught"):
        for name, system in SYSTEMS.items():
            command = f"irtoolkit retrieve {{data}} {system} -o {{out}}"
            text += ROW.format(table=table, name=name, alternative="false", command=command)
        if table == "taught":
            continue
        fused = "irtoolkit fuse {BM25} {QL} -o {out}"
        text += ROW.format(table=table, name=BOTH, alternative="true", command=fused)
        command = "irtoolkit retrieve {data} bm25 -o {out}"
        untried = ROW.format(table=table, name=UNTRIED, alternative="false", command=command)
        text += f"{untried}tried = false\n"
    return text


def run(folder: Path, *words: str) -> str:
    """What the script prints."""
    (folder / "rows.toml").write_text(rows(), encoding="utf-8")
    printed = io.StringIO()
    with redirect_stdout(printed):
        run_benchmark(
            "quality", "--rows", folder / "rows.toml", "-o", folder / "quality.json", *words
        )
    return printed.getvalue()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of the results, and the results."""
    folder = tmp_path_factory.mktemp("quality")
    environment = pytest.MonkeyPatch()
    environment.setenv("IRTOOLKIT_CACHE", str(folder / "cache"))
    environment.delenv("IRTOOLKIT_DATA", raising=False)
    try:
        run(folder)
    finally:
        environment.undo()
    return folder, json.loads((folder / "quality.json").read_text("utf-8"))["benchmarks"]


@pytest.fixture
def kept(found: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the results, in the environment in which they were made."""
    folder: Path = found[0]
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(folder / "cache"))
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    return folder


def runs(name: str) -> dict[str, Any]:
    made = {label: ir.retrieve(name, system) for label, system in SYSTEMS.items()}
    return {**made, BOTH: ir.fuse(made["BM25"], made["QL"])}


def test_the_best_row_of_the_training_queries_is_reported(found: Any) -> None:
    told = found[1]["relic"]
    train = ir.evaluate("relic/sample/train", runs("relic/sample/train"), measures="RR")
    figures = {name: row["RR"] for name, row in train.figures().items()}
    best = max(figures, key=figures.__getitem__)
    assert {name: row["figure"] for name, row in told["tried"].items()} == pytest.approx(figures)
    assert told["about"]["best of all"]["chosen"] == [best]
    val = ir.evaluate("relic/sample/val", runs("relic/sample/val"), measures="RR").figures()
    assert told["rows"]["best of all"]["figures"]["RR"] == pytest.approx(val[best]["RR"])
    assert told["rows"]["best lexical"]["figures"]["RR"] == pytest.approx(val[BOTH]["RR"])
    assert set(told["rows"]["best of all"]["p"]) == {"BM25", "QL"}


def test_a_choice_that_is_another_row_is_tested_once(found: Any) -> None:
    told = found[1]["relic"]
    (chosen,) = told["about"]["best of all"]["chosen"]
    same = "best lexical" if chosen == BOTH else chosen
    made = runs("relic/sample/val")
    apart = {
        **{name: made[name] for name in SYSTEMS},
        UNTRIED: made["BM25"],
        "best lexical": made[BOTH],
    }
    scores = ir.evaluate("relic/sample/val", apart, measures="RR")
    tested = compare(scores.evaluations, "RR", baseline="QL")
    corrected = {row.system: row.corrected for row in tested.rows}
    for name in ("BM25", "best lexical"):
        assert told["rows"][name]["p"]["QL"] == pytest.approx(corrected[name])
    assert told["rows"]["best of all"]["p"] == told["rows"][same]["p"]


def test_a_folds_row_is_chosen_on_the_other_fold(found: Any) -> None:
    told = found[1]["csfcube"]
    scores = ir.evaluate("csfcube/sample", runs("csfcube/sample"), measures="nDCGp(p=20)")
    values = {name: scores.values(name, "nDCGp(p=20)") for name in scores.systems}
    folds = scores["BM25"].folds
    assert len(folds) == 2
    best = [max(values, key=lambda name: values[name][fold].mean()) for fold in folds]
    assert told["about"]["best of all"]["chosen"] == [best[1], best[0]]
    expected = np.mean([values[best[1 - n]][fold].mean() for n, fold in enumerate(folds)])
    assert told["rows"]["best of all"]["figures"]["nDCGp(p=20)"] == pytest.approx(expected)


@pytest.mark.parametrize("table", ["relic", "csfcube"])
def test_a_row_that_is_only_reported_is_not_chosen(found: Any, table: str) -> None:
    told = found[1][table]
    assert UNTRIED in told["rows"]
    assert UNTRIED not in told["tried"]
    assert told["about"]["best of all"]["of"] == [*SYSTEMS, BOTH]


def test_where_nothing_is_chosen_every_row_is_reported(found: Any) -> None:
    told, same = found[1]["fixed"], found[1]["relic"]
    assert set(told["rows"]) == {*SYSTEMS, BOTH, UNTRIED}
    assert told["choose"] == "nowhere"
    assert told["tried"] == {}
    for name in (*SYSTEMS, UNTRIED):
        assert told["rows"][name]["figures"]["RR"] == same["rows"][name]["figures"]["RR"]
    assert told["rows"][BOTH]["p"].keys() == {"BM25"}


def test_what_a_row_learns_is_learned_where_choices_are_made(
    found: Any, kept: Path, tmp_path: Path
) -> None:
    told = found[1]["taught"]
    made = {part: runs(f"relic/sample/{part}") for part in ("train", "val")}
    pairs = {part: (both["BM25"], both["QL"]) for part, both in made.items()}
    tuned = ir.tune_fusion("relic/sample/train", *pairs["train"], measure="RR", folds=2)
    fused = {
        "train": tuned.run,
        "val": tuned.fuse(*pairs["val"]),
    }
    figures = {
        part: ir.evaluate(f"relic/sample/{part}", run, measures="RR").figures()
        for part, run in fused.items()
    }
    (train,), (val,) = (list(each.values()) for each in figures.values())
    assert told["tried"]["learned"]["figure"] == pytest.approx(train["RR"])
    assert told["rows"]["learned"]["figures"]["RR"] == pytest.approx(val["RR"])
    assert told["about"]["learned"]["commands"][0].startswith("irtoolkit tune relic/sample/train ")


def test_a_trained_row_is_judged_out_of_fold(found: Any, kept: Path) -> None:
    told = found[1]["trained"]
    place = kept / "cache" / "quality"
    tried = ir.Run.read(place / "quoter.sample.en.train" / "trained.run")
    model = place / "quoter.sample.en.train" / "trained.model"
    seen = ir.retrieve("quoter/sample/en/train", "dense", model=str(model))
    assert not np.array_equal(tried.scores, seen.scores)
    ranked = ir.retrieve("quoter/sample/en/val", "dense", model=str(model))
    (train,) = ir.evaluate("quoter/sample/en/train", tried, measures="RR").figures().values()
    (val,) = ir.evaluate("quoter/sample/en/val", ranked, measures="RR").figures().values()
    assert told["tried"]["trained"]["figure"] == pytest.approx(train["RR"])
    assert told["rows"]["trained"]["figures"]["RR"] == pytest.approx(val["RR"])


def test_a_row_without_learning_has_one_model_for_both_splits(found: Any, kept: Path) -> None:
    folder = kept / "cache" / "quality" / "quoter.sample.en.train"
    model = folder / "another_seed.model"
    assert [path.name for path in kept.rglob("another_seed.model")] == [model.name]
    for dataset, told in (
        ("quoter/sample/en/train", found[1]["trained"]["tried"]["another seed"]["figure"]),
        ("quoter/sample/en/val", found[1]["trained"]["rows"]["another seed"]["figures"]["RR"]),
    ):
        ranked = ir.retrieve(dataset, "dense", model=str(model))
        (figures,) = ir.evaluate(dataset, ranked, measures="RR").figures().values()
        assert told == pytest.approx(figures["RR"])


def test_runs_are_kept_and_the_table_is_printed(kept: Path) -> None:
    again = run(kept, "relic")
    assert "relic/sample/val: BM25" not in again
    assert "best of all" in run(kept, "--table")


def test_the_cost_of_a_row_is_that_of_its_parts(kept: Path) -> None:
    run(kept, "relic", "--cost")
    told = json.loads((kept / "quality.json").read_text("utf-8"))["benchmarks"]["relic"]
    cost = told["ms a query"]
    assert cost["best lexical"] == pytest.approx(cost["BM25"] + cost["QL"])
    assert all(value > 0 for value in cost.values())


def test_the_cost_of_a_reranker_comes_on_top_of_what_it_reranks(kept: Path) -> None:
    run(kept, "taught", "--cost")
    told = json.loads((kept / "quality.json").read_text("utf-8"))["benchmarks"]["taught"]
    assert told["ms a query"]["reranked"] > told["ms a query"]["BM25"] > 0

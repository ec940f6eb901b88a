"""`irtoolkit train`: what users see, and what a trained model can be used for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.runs import Run
from irtoolkit.training.base_model import segment_separator
from irtoolkit.training.model_paths import RECORD, trained_folder
from irtoolkit.training.recipe_files import find_recipe, recipe_names
from irtoolkit.training.sets import build_training_set
from irtoolkit.training.trainer import split_rows, train
from irtoolkit.training.validation import make_validation
from tests import planted
from tests.conftest import Answer

Command = Callable[..., Answer]

RECIPE = """
title = "A model of nothing"
paper = "Nobody 2026, §1"
note = "Only for this test."
start = "{start}"
pooling = "mean"
similarity = "cosine"
query_length = 20
doc_length = 16

[variables.side]
default = "both"

[variables.side.values]
both = {{ view = "" }}
left = {{ view = "/left" }}

[[stage]]
dataset = "quoter/sample/en/train{{view}}"
loss = "in-batch"
scale = 20.0
batch = 4
rate = 1e-3
epochs = 2
evaluate = "quoter/sample/en/val{{view}}"
measure = "RR"
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(RECIPE.format(start=planted.start(tmp_path / "start")))
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_recipes_are_listed_with_their_variables(irtoolkit: Command) -> None:
    answer = irtoolkit("train", "--list")
    assert answer.status == 0
    assert all(name in answer.out for name in recipe_names())
    assert "context=0/1|0/4|1/0|4/0|1/1|4/4" in answer.out


def test_all_settings_can_be_seen(irtoolkit: Command) -> None:
    answer = irtoolkit("train", "dense-relic", "--set", "context=1/1", "1.epochs=3", "--show")
    shown = json.loads(answer.out)
    assert shown["variables"] == {"context": "1/1"}
    assert shown["stages"][0]["dataset"] == "relic/train/1-1"
    assert shown["stages"][0]["epochs"] == 3
    assert shown["stages"][0]["rate"] == 1e-5
    assert "footnote 14" in shown["paper"]
    wrong = irtoolkit("train", "dense-relic", "--set", "lora=0", "--show")
    assert (wrong.status, wrong.out) == (2, "")
    assert wrong.err == "irtoolkit: lora=0 is not at least 1\n"


def test_a_trained_model_is_used_by_name_by_reference_and_by_others(
    mine: Path, cache: Path, irtoolkit: Command, tmp_path: Path
) -> None:
    answer = irtoolkit("train", mine, "--device", "cpu", "-o", tmp_path / "model")
    assert answer.status == 0, answer.err
    assert answer.out.strip() == str(tmp_path / "model")
    assert "RR" in answer.err
    record = json.loads((tmp_path / "model" / RECORD).read_text())
    run = tmp_path / "a.run"
    folder = str(tmp_path / "model")
    found = irtoolkit(
        "retrieve", "quoter/sample/en/val", "dense", "--set", f"model={folder}", "-o", run
    )
    assert found.status == 0, found.err
    scored = irtoolkit("eval", "quoter/sample/en/val", run, "--measures", "RR", "--format", "json")
    best = record["stages"][0]["best"]["figures"]["RR"]
    assert json.dumps(round(best, 6)) in json.dumps(_rounded(json.loads(scored.out)))

    import sentence_transformers

    model = sentence_transformers.SentenceTransformer(folder, device="cpu")
    assert model.similarity_fn_name == "cosine"
    assert len(Run.read(run)) > 0
    again = irtoolkit("train", mine, "--device", "cpu", "-o", tmp_path / "model")
    assert "exists already" in again.err


def _rounded(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _rounded(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_rounded(value) for value in content]
    return round(content, 6) if isinstance(content, float) else content


def test_the_card_says_what_the_model_is(mine: Path, cache: Path, tmp_path: Path) -> None:
    made = train(find_recipe(str(mine)), tmp_path / "model", device="cpu")
    card = (made.folder / "README.md").read_text()
    stage = made.record["stages"][0]
    for said in (
        "library_name: sentence-transformers", "# A model of nothing", "Nobody 2026, §1",
        "Only for this test.", f"{stage['rows']} rows of quoter/sample/en/train", "- rate: 0.001",
        "Evaluated on quoter/sample/en/val", f"{stage['best']['figures']['RR']:.4f}",
    ):  # fmt: skip
        assert said in card
    assert made.record["implementation"]["source"].keys() >= {"commit"}
    assert made.record["plan"]["settings"]["seed"] == 42
    assert stage["rows per second"] > 0


def test_rows_held_out_are_not_trained_on(cache: Path) -> None:
    stage = find_recipe("egret", {"dataset": "egret/sample/train", "held_out": "0.4"}).stages[0]
    rows = build_training_set(stage)
    kept, out = split_rows(rows, stage, seed=1)
    assert sorted([*kept, *out]) == list(range(len(rows)))
    assert not set(rows.query_ids[kept]) & set(rows.query_ids[out])
    test = make_validation(stage, rows.select(out))
    assert test is not None
    assert set(test.qrels.query_ids) == set(rows.query_ids[out]) == set(test.task.query_ids)
    with pytest.raises(InputError, match="leaves one part empty"):
        split_rows(rows, find_recipe("egret", {"held_out": "0.001"}).stages[0], seed=1)


def test_books_are_held_out_whole(cache: Path) -> None:
    settings = {"dataset": "relic/sample/train", "held_out": "0.5", "grouped": "true"}
    stage = find_recipe("egret", {**settings, "query": "default"}).stages[0]
    rows = build_training_set(stage)
    # The sample has one book; as if it had three.
    rows = replace(rows, groups=np.arange(len(rows)) % 3)
    kept, out = split_rows(rows, stage, seed=0)
    assert len(kept)
    assert len(out)
    assert not set(rows.groups[kept]) & set(rows.groups[out])


def test_held_out_rows_of_files_rank_the_documents_of_the_others(
    cache: Path, tmp_path: Path
) -> None:
    file = tmp_path / "units.jsonl"
    file.write_text("".join(
        json.dumps({"id": f"e{t}", "text": f"d{t}x0 d{t}x1", "left": f"q{t}x0", "right": "n1",
                    "marker": "e.g."}) + "\n"
        for t in range(10)
    ))  # fmt: skip
    settings = {"file": str(file), "held_out": "0.3", "measure": "RR", "evaluate": ""}
    stage = find_recipe("egret-books", settings).stages[0]
    rows = build_training_set(stage)
    test = make_validation(stage, rows.select(np.array([1, 4, 7])))
    assert test is not None
    assert len(test.task.query_ids) == 3
    shown = {text for group in test.task.groups for (text,) in test.task.docs[group.docs]}
    assert {"d1x0 d1x1", "d4x0 d4x1", "d7x0 d7x1"} == shown


def test_where_a_model_goes_does_not_hang_on_how_it_was_asked_for() -> None:
    assert trained_folder("dense-relic", {"context": "4/4"}) == trained_folder("dense-relic")
    assert trained_folder("dense-relic", {"context": "1/1"}) != trained_folder("dense-relic")
    one = trained_folder("dense-relic", {"context": "1/1", "batch": "8"})
    assert one == trained_folder("dense-relic", {"batch": 8, "context": "1/1"})
    assert "/" not in one.name
    assert len(trained_folder("quoter", {"sememes": "x" * 300}).name) < 200


def test_titles_and_abstracts_are_joined_by_the_starts_separator(
    cache: Path, tmp_path: Path
) -> None:
    papers = [{"title": f"d{t}x0", "abstract": f"d{t}x1 d{t}x2"} for t in range(9)]
    file = tmp_path / "triples.jsonl"
    file.write_text("".join(
        json.dumps({"query": papers[t], "positive": papers[t + 1], "negative": papers[t + 2]}) + "\n"
        for t in range(7)
    ))  # fmt: skip
    start = planted.start(tmp_path / "start")
    recipe = find_recipe("specter-id", {
        "file": str(file), "start": start, "query_length": 16, "doc_length": 16, "batch": 4,
    })  # fmt: skip
    made = train(recipe, tmp_path / "model", device="cpu")
    assert made.record["stages"][0]["rows"] == 7
    rows = build_training_set(recipe.stages[0], segment_separator(recipe))
    assert rows.queries[0] == "d0x0[SEP]d0x1 d0x2"
    assert made.record["plan"]["data"] == [rows.fingerprint]

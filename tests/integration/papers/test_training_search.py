"""Settings of a training are chosen on held-out training queries, and on nothing else."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.papers.training_grid import TrainingSearch, TriedSettings
from irtoolkit.papers.training_search import _best, search_training
from irtoolkit.training.sets import build_training_set
from irtoolkit.training.trainer import split_rows
from tests import planted
from tests.conftest import Answer
from tests.trained import Trainer, same

Command = Callable[..., Answer]
GRID = {"rate": ["1e-9", "1e-2"], "temperature": ["1", "0.5"]}
TEXT = """
title = "A search"
start = "{start}"
pooling = "mean"
similarity = "dot"
encoders = 2

[[stage]]
dataset = "{train}"
loss = "in-batch"
batch = 16
epochs = 6
evaluate = "no/such/split"
measure = "R@1"
patience = 1
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe that would be evaluated on a split that there is none of."""
    path = tmp_path / "mine.toml"
    start = planted.start(tmp_path / "start")
    path.write_text(TEXT.format(start=start, train=planted.task(topics=6)[0]))
    return path


def test_the_best_on_held_out_queries_is_trained_on_all(recipe: Path, tmp_path: Path) -> None:
    search = TrainingSearch(str(recipe), GRID, {"held_out": "0.25"}, seeds=[3, 4])
    log, out = tmp_path / "tried.json", tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        search_training(search, out, log, Trainer(most=3))
    known = json.loads(log.read_text())
    assert len(known["tried"]) == 3
    assert "best" not in known

    trainer = Trainer()
    found = search_training(search, out, log, trainer)
    assert [one.settings for one in found.tried] == search.configurations()
    assert len(trainer.asked) == 1 + 2
    slow, fast = found.tried[:2], found.tried[2:]
    assert max(one.figure for one in slow) < min(one.figure for one in fast)
    assert found.best == max(fast, key=lambda one: one.figure)
    assert {(one.rows, one.held_out) for one in found.tried} == {(36, 12)}

    assert found.models == [out / "seed-3", out / "seed-4"]
    for model, seed in zip(found.models, (3, 4), strict=True):
        record = json.loads((model / "training.json").read_text())
        assert record["stages"][0]["rows"] == 48
        assert record["stages"][0]["evaluations"][0:] == []
        settings = record["plan"]["settings"]
        assert settings["seed"] == seed
        assert settings["stages"][0]["rate"] == 1e-2
        assert settings["stages"][0]["scale"] == 1 / float(found.best.settings["temperature"])
    assert not same(*found.models)
    said = json.loads(log.read_text())
    assert said["best"] == found.best.settings
    assert [one["seed"] for one in said["models"]] == [3, 4]
    assert not (tmp_path / "model.search").exists()

    again = Trainer()
    assert search_training(search, tmp_path / "other", log, again).tried == found.tried
    assert [one.stages[0].held_out for one in again.asked] == [0, 0]
    assert same(out / "seed-3", tmp_path / "other" / "seed-3")


def test_a_training_that_diverges_is_logged_and_the_search_goes_on(
    recipe: Path, tmp_path: Path
) -> None:
    grid, log = {"rate": ["1e30", "1e-4"]}, tmp_path / "tried.json"
    search = TrainingSearch(str(recipe), grid, {"epochs": "6"})
    found = search_training(search, tmp_path / "model", log, Trainer())
    assert found.best.settings == {"rate": "1e-4"}
    failed = json.loads(log.read_text())["tried"][0]
    assert failed["figure"] is None
    assert re.search("loss of step [23] is (nan|inf)|step 1: the score of", failed["failed"])
    again = Trainer()
    assert search_training(search, tmp_path / "model", log, again).tried == found.tried
    assert [one.stages[0].held_out for one in again.asked] == [0]

    alone = TrainingSearch(str(recipe), {"rate": grid["rate"][:1]}, {"epochs": "6"})
    with pytest.raises(InputError, match="each of the 1 trainings of the grid failed; rate=1e30: "):
        search_training(alone, tmp_path / "model", log, Trainer())


@pytest.mark.parametrize(("measure", "best"), [("R@1", "b"), ("Rank", "a"), ("MedianRank", "a")])
def test_of_ranks_the_lowest_is_the_best(measure: str, best: str) -> None:
    figures = {"failed": None, "a": 0.25, "b": 0.5, "later": 0.5, "last": 0.25}
    tried = [TriedSettings({"name": n}, value, 1, 1, 1, 1.0) for n, value in figures.items()]
    assert _best(tried, measure).settings == {"name": best}


def test_a_trained_model_stays_until_the_log_has_its_figure(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("irtoolkit.papers.training_search.write_log", full)
    search = TrainingSearch(str(recipe), {"rate": ["1e-4"]}, {"epochs": "1"})
    with pytest.raises(OSError, match="no space"):
        search_training(search, tmp_path / "model", None, Trainer())
    assert [path.is_dir() for path in (tmp_path / "model.search").iterdir()] == [True]


def test_all_combinations_hold_out_the_same_queries(recipe: Path) -> None:
    grid = {"negatives": ["none", "random"], "count": ["1", "2"], "rate": ["1e-3"]}
    search = TrainingSearch(str(recipe), grid, {"loss": "in-batch"}, seeds=[1, 2])
    points = search.configurations()
    assert points == [
        {"negatives": "none", "rate": "1e-3"},
        {"negatives": "random", "count": "1", "rate": "1e-3"},
        {"negatives": "random", "count": "2", "rate": "1e-3"},
    ]
    held = []
    for point in points:
        made = search.tried(point)
        [stage] = made.stages
        assert (stage.held_out, stage.evaluate, stage.measure, made.seed) == (0.2, "", "R@1", 1)
        rows = build_training_set(stage)
        held.append(set(rows.query_ids[split_rows(rows, stage, made.seed)[1]]))
    assert held[0] == held[1] == held[2]
    mined = TrainingSearch(
        str(recipe), {"negatives": ["none", "mined"]}, {"run": "a.run", "count": "2"}
    )
    assert [mined.settings_of(point) for point in mined.configurations()] == [
        {"negatives": "none"}, {"run": "a.run", "count": "2", "negatives": "mined"},
    ]  # fmt: skip


def test_an_earlier_stage_does_not_train_on_held_out_queries(recipe: Path, tmp_path: Path) -> None:
    first = recipe.read_text().partition("[[stage]]")[2]
    recipe.write_text(f"{recipe.read_text()}\n[[stage]]{first}")
    [one, other] = TrainingSearch(str(recipe), GRID, {}).tried({"rate": "1e-3"}).stages
    assert one.held_out == other.held_out == 0.2
    assert one.measure is None
    trainer = Trainer()
    # The same queries under another id are found when the data are read.
    settings = {"1.dataset": "egret/sample/train", "2.dataset": "egret/sample/train/left"}
    search = TrainingSearch(str(recipe), {"rate": ["1e-3"]}, settings)
    with pytest.raises(InputError, match="of the held-out queries of egret/sample/train/left"):
        search_training(search, tmp_path / "model", train=trainer)
    assert not trainer.asked


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"fixed": {"rate": "1"}}, "rate is both fixed and in the grid"),
        ({"grid": {"evaluate": ["a"]}}, "evaluate is not a setting to choose"),
        ({"grid": {"1.seed": ["1"]}}, "seed is not a setting to choose"),
        ({"grid": {"dataset": ["a", "b"]}}, "dataset is not a setting to choose"),
        ({"grid": {"rate": ["1e-3", "0"]}}, "rate=0.0 is not above 0"),
        ({"grid": {"temperature": ["0"]}}, "temperature=0 is not a number above 0"),
        ({"grid": {"temperature": ["1"], "scale": ["1"]}}, "one is the inverse of the other"),
        ({"seeds": [1, 1]}, "seeds 1,1 are not different"),
        ({"by": "R@x"}, "R@x"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    how: dict[str, Any], said: str, recipe: Path, tmp_path: Path
) -> None:
    search = replace(TrainingSearch(str(recipe), GRID, {}), **how)
    trainer = Trainer()
    with pytest.raises(InputError, match=said):
        search_training(search, tmp_path / "model", train=trainer)
    assert not trainer.asked


def test_the_log_of_another_search_is_refused(recipe: Path, tmp_path: Path) -> None:
    log = tmp_path / "tried.json"
    for content, said in (
        ("{}", "no log of a training search"),
        ('{"about": {}, "tried": [{}]}', "no log of a training search"),
        ('{"about": {}, "tried": []}', "the log of another training search"),
    ):
        log.write_text(content)
        with pytest.raises(InputError, match=said):
            search_training(TrainingSearch(str(recipe), GRID, {}), tmp_path / "m", log, Trainer())
        assert log.read_text() == content


def test_the_command(irtoolkit: Command, tmp_path: Path) -> None:
    out = tmp_path / "model"
    words = (
        "train", "quoter-lstm", "quoter/sample/en/train", "--width", "8", "--device", "cpu",
        "--held-out", "0.5", "--by", "RR", "--log", tmp_path / "tried.json",
    )  # fmt: skip
    answer = irtoolkit(*words, "--grid", "rate=1e-9,1e-2 epochs=1", "-o", out)
    assert answer.status == 0, answer.err
    assert answer.out == f"{out}\n"
    assert "84 held-out training queries" in answer.err
    assert "best: rate=" in answer.err
    assert len(json.loads((tmp_path / "tried.json").read_text())["tried"]) == 2
    shutil.rmtree(out)
    again = irtoolkit(*words, "--grid", "rate=1e-9,1e-2 epochs=1", "-o", out)
    assert (again.status, again.out) == (0, f"{out}\n"), again.err
    assert json.loads((out / "training.json").read_text())["stages"][0]["rows"] == 168
    for more, said in (
        (["--grid", "rate=1"], "--grid without a folder"),
        (["--seeds", "1"], "--seeds without --grid"),
        (["--grid", "rate=1", "-o", out, "--seeds", "a"], "--seeds a is not a list"),
        (["--set", "dataset=x"], "dataset=x and the datasets quoter/sample/en/train"),
    ):
        refused = irtoolkit("train", "quoter-lstm", "quoter/sample/en/train", *more)
        assert refused.status == 2
        assert said in refused.err
    shown = irtoolkit(*words[:3], "--grid", "rate=1e-3,1e-2", "--by", "RR", "--show")
    assert [one["stages"][0]["rate"] for one in json.loads(shown.out)] == [1e-3, 1e-2]

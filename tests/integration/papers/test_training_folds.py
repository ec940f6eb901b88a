"""Training queries are ranked by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.training_folds import train_folds
from irtoolkit.ranking.produce import rank_dataset
from irtoolkit.ranking.systems import find_system
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.exact_ranks import read_ranks
from irtoolkit.scoring.folds import folds_of
from irtoolkit.training.recipes import Recipe
from irtoolkit.training.sets import build_training_set
from tests import planted
from tests.conftest import Answer
from tests.trained import Trainer

Command = Callable[..., Answer]


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    start = planted.start(tmp_path / "start")
    return planted.recipe(planted.task(topics=6)[0], start, epochs=2)


def test_no_query_is_ranked_by_a_model_that_has_seen_it(recipe: Recipe, tmp_path: Path) -> None:
    data = recipe.stages[0].dataset
    out, path = tmp_path / "models", tmp_path / "oof.run"
    with pytest.raises(KeyboardInterrupt):
        train_folds(recipe, out, path, folds=3, seed=1, train=Trainer(most=1))
    assert not path.exists()
    trainer = Trainer()
    made = train_folds(recipe, out, path, folds=3, seed=1, depth=4, train=trainer)
    dataset = Dataset.load(data)
    assert made.folds == folds_of(dataset, 3, 1)
    assert made.models == tuple(out / f"fold-{number}" for number in (1, 2, 3))
    every = set(dataset.qrels.query_ids)
    run = Run.read(path)
    assert set(run.query_ids) == every
    ranks = read_ranks(path, run)
    for fold, model, used in zip(made.folds, made.models, trainer.asked, strict=True):
        assert set(build_training_set(used.stages[0]).query_ids) == every - set(fold)
        alone = rank_dataset(
            dataset, find_system(str(model), {}, data), depth=4, relevant=dataset.relevant()
        )
        for query in fold:
            expected, found = alone.ranking(query), run.ranking(query)
            assert [row.doc_id for row in found] == [row.doc_id for row in expected]
            assert [r.score for r in found] == pytest.approx([r.score for r in expected])
            assert ranks is not None
            assert alone.exact_ranks is not None
            assert ranks[query] == alone.exact_ranks[query]
    told = provenance.read_metadata(path)
    assert told is not None
    assert told["irtoolkit"]["settings"] == {"folds": 3, "seed": 1}
    assert told["irtoolkit"]["recipe"]["start"] == recipe.start


def test_a_fold_that_is_trained_is_not_trained_again(recipe: Recipe, tmp_path: Path) -> None:
    out, path = tmp_path / "models", tmp_path / "oof.run"
    with pytest.raises(KeyboardInterrupt):
        train_folds(recipe, out, path, folds=2, train=Trainer(most=1))
    before = (out / "fold-1" / "training.json").stat().st_mtime_ns
    train_folds(recipe, out, path, folds=2, train=Trainer())
    assert (out / "fold-1" / "training.json").stat().st_mtime_ns == before
    first = path.read_bytes()
    train_folds(recipe, out, path, folds=2, train=Trainer())
    assert path.read_bytes() == first


def test_models_of_other_folds_are_not_written_over(recipe: Recipe, tmp_path: Path) -> None:
    out, path = tmp_path / "models", tmp_path / "oof.run"
    with pytest.raises(KeyboardInterrupt):
        train_folds(recipe, out, path, folds=2, train=Trainer(most=1))
    before = (out / "fold-1.ids").read_bytes()
    with pytest.raises(InputError, match="models in this folder are of other folds"):
        train_folds(recipe, out, path, folds=3, train=Trainer())
    assert (out / "fold-1.ids").read_bytes() == before


def test_what_the_recipe_leaves_out_stays_out(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "left.ids").write_text("train0-0\ntrain1-0\n")
    left = replace(recipe.stages[0], without=str(tmp_path / "left.ids"))
    trainer = Trainer()
    made = train_folds(
        replace(recipe, stages=(left,)), tmp_path / "m", tmp_path / "r", folds=2, train=trainer
    )
    assert {"train0-0", "train1-0"} <= set(made.run.query_ids)
    for used in trainer.asked:
        assert not {"train0-0", "train1-0"} & set(build_training_set(used.stages[0]).query_ids)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"extra": "relic/sample/val"}, "extra=relic/sample/val"),
        ({"source": "triples", "file": "some.jsonl"}, "no judged queries"),
    ],
)
def test_rows_that_may_be_held_out_are_refused(
    recipe: Recipe, settings: dict[str, Any], told: str, tmp_path: Path
) -> None:
    stage = replace(recipe.stages[0], **settings)
    with pytest.raises(InputError, match=told):
        train_folds(replace(recipe, stages=(stage,)), tmp_path / "m", tmp_path / "r")


def test_triples_before_the_last_stage_are_refused(recipe: Recipe, tmp_path: Path) -> None:
    first = replace(recipe.stages[0], source="triples", file="some.jsonl")
    stages = (first, recipe.stages[0])
    with pytest.raises(InputError, match="may have the queries that are held out"):
        train_folds(replace(recipe, stages=stages), tmp_path / "m", tmp_path / "r")


def test_the_command(irtoolkit: Command, recipe: Recipe, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        f'title = "Mine"\nstart = "{recipe.start}"\npooling = "mean"\nsimilarity = "dot"\n'
        f'[[stage]]\ndataset = "{recipe.stages[0].dataset}"\nloss = "in-batch"\nbatch = 16\n'
    )
    out, run = tmp_path / "models", tmp_path / "oof.run"
    answer = irtoolkit("train", path, "-o", out, "--out-of-fold", run, "--folds", "2")
    assert answer.status == 0
    assert "48 queries" in answer.err
    assert answer.out.splitlines() == [str(out / "fold-1"), str(out / "fold-2")]
    assert len(Run.read(run).query_ids) == 48

    for wrong, told in (
        (["--folds", "2"], "--out-of-fold FILE"),
        (["--out-of-fold", run], "-o FOLDER"),
        (["--out-of-fold", run, "--grid", "rate=1e-3,1e-2", "-o", out], "--grid with --out-of-fold"),
        (["--out-of-fold", run, "--folds", "1", "-o", out], "--folds 1"),
    ):  # fmt: skip
        refused = irtoolkit("train", path, *wrong)
        assert refused.status == 2
        assert told in refused.err

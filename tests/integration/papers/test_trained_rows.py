"""Rows of the tables whose model is trained: recipe, model, run and row, on the samples.

The models are tiny and are trained for a step or two, with everything else as the recipes have it. Of the
rows of one recipe the first and the last are tried; IRTOOLKIT_EXAMPLES=1000 tries all.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

from irtoolkit.papers.catalogue import tables
from irtoolkit.papers.reproduce import reproduce
from irtoolkit.papers.results import dataset_of
from irtoolkit.papers.systems import Training, of_row
from irtoolkit.papers.tables import Row, Table
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System
from irtoolkit.runs import Run
from irtoolkit.training.lstm import FROM_SCRATCH
from irtoolkit.training.model_paths import RECORD
from irtoolkit.training.recipe_files import find_recipe
from irtoolkit.training.recipes import Recipe, Stage
from tests.conftest import ALL
from tests.tiny import save

pytestmark = pytest.mark.nightly

pytest.importorskip("sentence_transformers")
trainer = pytest.importorskip("irtoolkit.training.trainer")


def trained_rows() -> list[Any]:
    """The rows that are tried, each with one of its table's groups: those of a table take turns."""
    found: dict[str, list[Any]] = {}
    for recipe, case in all_trained_rows():
        found.setdefault(recipe, []).append(case)
    if ALL:
        return [case for cases in found.values() for case in cases]
    return [case for cases in found.values() for case in (cases[0], *cases[1:][-1:])]


def all_trained_rows() -> Iterator[tuple[str, Any]]:
    """Each row that is trained by its recipe."""
    for table in tables().values():
        rows = [row for row in table.rows if row.train]
        groups = [
            group
            for group, dataset in table.groups.items()
            if dataset_of(dataset, True) in ir_datasets.registry._registered
            and ir_datasets.load(dataset_of(dataset, True)).has_qrels()
        ]
        for number, row in enumerate(rows if groups else ()):
            group = groups[number % len(groups)]
            training = of_row(table, row, {}, table.groups[group]).training
            assert isinstance(training, Training)
            name = f"{table.name}-{row.system}-{group}"
            yield training.recipe, pytest.param(table, row, group, id=name)


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A transformer of two layers that all recipes with a checkpoint start from."""
    return str(save(tmp_path_factory.mktemp("start") / "start"))


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of what has been trained, for rows of several tables that take the same model."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def sample_of(dataset_id: str) -> str:
    base, _, rest = dataset_id.partition("/")
    return f"{base}/sample/{rest}" if rest else dataset_id


def given_files(stage: Stage) -> dict[str, Any]:
    """The files that a user gives a stage, made of the samples."""
    if stage.source == "examples":
        lines = [
            {"id": f"e{i}", "text": f"for example {word}", "left": f"{word} is", "right": "so"}
            for i, word in enumerate(
                ["cat", "dog", "rat", "sun", "sea", "mat", "the", "a", "on", "and"]
            )
        ]
        Path("examples.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
        return {"file": "examples.jsonl", "held_out": 0.2}
    if stage.source == "triples":
        papers = [f"{word} paper" for word in ["cat", "dog", "rat", "sun", "sea", "mat"]]
        texts = [{"title": paper, "abstract": f"on {paper}"} for paper in papers]
        lines = [
            dict(zip(("query", "positive", "negative"), texts[i : i + 3], strict=True))
            for i in range(4)
        ]
        Path("triples.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
        return {"file": "triples.jsonl"}
    if stage.negatives == "mined":
        produce(sample_of(stage.dataset), System.make("r", "random", {}), "r.run", progress=False)
        return {"run": "r.run"}
    return {"held_out": 0.2} if stage.held_out else {}


def tiny(recipe: Recipe, start: str) -> Recipe:
    """The recipe with a tiny model, the samples, a few steps, and few candidates in evaluation."""
    Path("lexicon.tsv").write_text("cat\tanimal\nthe\tarticle\n", "utf-8")
    stages = []
    for stage in recipe.stages:
        data = {
            name: sample_of(value)
            for name in ("dataset", "evaluate")
            if (value := getattr(stage, name))
        }
        few = {
            "count": min(stage.count, 4),
            "batch": min(stage.batch, 4),
            "epochs": 0.01,
            "ways": stage.measure and 5,
        }
        stages.append(replace(stage, **data, **given_files(stage), **few))
    scratch = recipe.start in FROM_SCRATCH
    return replace(
        recipe, stages=tuple(stages), start=recipe.start if scratch else start,
        width=8 if scratch else None, precision="fp32",
        sememes=None if recipe.sememes is None else "lexicon.tsv",
        query_length=None if recipe.query_length is None else 16,
        doc_length=16 if recipe.doc_length else None,
    )  # fmt: skip


@pytest.mark.parametrize(("table", "row", "group"), trained_rows())
def test_a_row_is_trained_run_and_scored(
    table: Table, row: Row, group: str, start: str, models: Path, tmp_path: Path
) -> None:
    training = of_row(table, row, {}, table.groups[group]).training
    assert isinstance(training, Training)
    recipe = find_recipe(training.recipe, training.settings)
    model = models / training.folder.name
    if not model.exists():
        made = trainer.train(tiny(recipe, start), model, device="cpu")
        assert all(stage["steps"] > 0 for stage in made.record["stages"])
        # The row takes a model only if it was trained as its recipe says.
        plan = {**made.record["plan"], "settings": recipe.settings()}
        (model / RECORD).write_text(json.dumps({**made.record, "plan": plan}), "utf-8")
    shutil.copytree(model, training.folder)
    found = reproduce(table, tmp_path / "runs", systems=[row.system], sample=True)
    cell = next(result for result in found.rows if result.row.system == row.system)[group]
    assert (cell.status, cell.reason, cell.trained) == ("measured", None, str(training.folder))
    assert cell.figures.keys() == table.columns.keys()
    assert cell.run is not None
    run = Run.read(cell.run)
    dataset = ir_datasets.load(dataset_of(table.groups[group], True))
    assert len(run.query_ids) == dataset.queries_count()
    # Not all scores tie: the model was read, and reads.
    assert len({row[2] for row in run}) > len(run.query_ids)

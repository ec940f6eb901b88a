"""The recipes: what they say, what the papers print, and the rows of the tables that they train."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.models.presets import SAVED_AS, presets
from irtoolkit.papers.catalogue import tables
from irtoolkit.papers.tables import Row, Table, load_table
from irtoolkit.ranking.systems import find_system
from irtoolkit.training.losses import check_stage
from irtoolkit.training.model_paths import RECORD, trained_folder
from irtoolkit.training.recipe_files import find_recipe, recipe_names, recipe_variables
from irtoolkit.training.recipes import Recipe
from tests.conftest import Answer
from tests.each import each
from tests.tiny import save

Command = Callable[..., Answer]


def choices(name: str) -> list[dict[str, str]]:
    """Every choice of a recipe's variables."""
    found = recipe_variables(name)
    values = itertools.product(*(values for _, values in found.values()))
    return [dict(zip(found, some, strict=True)) for some in values]


CHOICES = [(name, chosen) for name in recipe_names() for chosen in choices(name)]
each_choice = each("name, chosen", CHOICES)


# -- what recipes say ----------------------------------------------------------------------------


@each_choice
def test_a_recipe_is_whole(name: str, chosen: dict[str, str]) -> None:
    recipe = find_recipe(name, chosen)
    assert dict(recipe.variables) == chosen
    for text in (recipe.title, recipe.note):
        assert text.strip() == text != ""
    # Ours are of no paper.
    assert (recipe.paper == "") == name.startswith("minilm")
    assert recipe.start
    for stage in recipe.stages:
        check_stage(recipe, stage)


# -- models --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Tiny starts of each form, and a lexicon."""
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("starts")
    (folder / "lexicon.tsv").write_text("cat\tanimal\ndog\tanimal tame\n", "utf-8")
    return {
        "plain": str(save(folder / "plain")),
        "masked": str(save(folder / "masked", "BertForMaskedLM")),
        "lexicon": str(folder / "lexicon.tsv"),
    }


def tiny(recipe: Recipe, starts: dict[str, str]) -> Recipe:
    """The recipe from a tiny start, which has few positions."""
    return replace(
        recipe,
        start=starts["masked" if recipe.kind == "sparse" else "plain"],
        query_length=None if recipe.query_length is None else 12,
        doc_length=None if recipe.doc_length is None else 24,
        sememes=None if recipe.sememes is None else starts["lexicon"],
    )


@each("name", recipe_names())
def test_the_model_of_a_recipe_can_be_built(name: str, starts: dict[str, str]) -> None:
    building = pytest.importorskip("irtoolkit.training.base_model")
    recipe = find_recipe(name)
    if recipe.start in presets():
        recipe = replace(recipe, start="")
    model = building.build_model(tiny(recipe, starts), seed=1, device="cpu")
    assert type(model).__name__ == SAVED_AS[recipe.kind]
    for stage in recipe.stages:
        if stage.frozen == "documents":
            building.freeze_documents(model)
            assert {p.requires_grad for p in model.parameters()} == {True, False}


# -- rows of the tables --------------------------------------------------------------------------

TRAINED = [
    (table, row, group)
    for table in tables().values()
    for row in table.rows
    if row.train is not None
    for group in table.groups
]
each_trained = each("table, row, group", TRAINED)


def settings_of(row: Row, group: str) -> dict[str, Any]:
    return {**row.train_set, **row.train_set_for.get(group, {})}


@each_trained
def test_a_row_is_shown_what_its_model_was_trained_on(table: Table, row: Row, group: str) -> None:
    stage = find_recipe(str(row.train), settings_of(row, group)).stages[-1]
    if stage.source != "dataset" or not stage.dataset.startswith(f"{table.benchmark}/"):
        return  # trained on other texts than it is run on
    assert row.settings.get("query", "default") == stage.query
    assert row.settings.get("doc", "default") == stage.doc
    shown = DatasetId.parse(table.groups[group]).without_choice()
    shown = shown.view(row.view) if row.view else shown
    parts = [part for part in shown.parts if part not in ("test", "val", "dev")]
    trained = [part for part in stage.dataset.split("/") if part not in ("train", "4-4")]
    assert parts == trained  # four sentences on either side are what RELiC shows by itself


def test_every_recipe_of_a_paper_trains_a_row() -> None:
    general = {
        name for name in recipe_names() if re.match("reranker|distilled|colbert|splade", name)
    }
    named = {str(row.train) for _, row, _ in TRAINED}
    assert {name for name in recipe_names() if not name.startswith("minilm")} - general == named


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for trained models of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("irtoolkit.training.model_paths.cache_home", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def put(recipe: str, settings: dict[str, str], starts: dict[str, str]) -> Path:
    """A model as training leaves one."""
    building = pytest.importorskip("irtoolkit.training.base_model")
    model = building.build_model(tiny(find_recipe(recipe, settings), starts), seed=3, device="cpu")
    folder = trained_folder(recipe, settings)
    model.save_pretrained(str(folder))
    plan = {"settings": find_recipe(recipe, settings).settings()}
    (folder / RECORD).write_text(json.dumps({"plan": plan}), "utf-8")
    return folder


DATASET = "relic/sample/val/1-1"
UNTRAINED = "not trained here: run `irtoolkit train dense-relic --set context=1/1`"


def test_a_row_is_missing_until_its_model_is_trained(cache: Path, starts: dict[str, str]) -> None:
    system = find_system("dense-RELiC-1-1", {}, DATASET)
    assert system.missing() == UNTRAINED
    folder = put("dense-relic", {"context": "1/1"}, starts)
    assert system.settings()["weights"] == str(folder)
    assert folder.is_relative_to(cache)
    assert system.missing() is None
    # Another window's is another model.
    assert "context=0/1" in str(find_system("dense-RELiC-0-1", {}).missing())
    # So is one of the same name that was trained by other numbers.
    kept = (folder / RECORD).read_text("utf-8")
    (folder / RECORD).write_text(kept.replace('"batch": 100', '"batch": 10'), "utf-8")
    assert "was trained with other settings" in str(system.missing())
    (folder / RECORD).write_text(kept, "utf-8")
    # Training that has not ended has left no record.
    (folder / RECORD).unlink()
    assert system.missing() == UNTRAINED


def reproduce(irtoolkit: Command, *args: str) -> tuple[dict[str, Any], str]:
    answer = irtoolkit("reproduce", *args, "--sample", "--format", "json")
    assert answer.status == 0, answer.err
    shown = irtoolkit("reproduce", *args, "--sample", "--all")
    rows = {row["system"]: row for row in json.loads(answer.out)["rows"]}
    return rows, shown.out


def test_reproduce_says_whether_a_model_is_at_hand(
    cache: Path, starts: dict[str, str], irtoolkit: Command
) -> None:
    args = ("relic", "--systems", "dense-RELiC-1-1", "random")
    rows, shown = reproduce(irtoolkit, *args)
    row = rows["dense-RELiC-1-1"]
    assert (row["status"], row["reason"], row["measured"]) == ("missing", UNTRAINED, {})
    assert (row["recipe"], row["trained"]) == ("dense-relic", {})
    assert f"missing dense-RELiC-1-1: {UNTRAINED}" in shown
    assert rows["random"]["recipe"] is None
    folder = put("dense-relic", {"context": "1/1"}, starts)
    rows, shown = reproduce(irtoolkit, *args)
    row = rows["dense-RELiC-1-1"]
    assert (row["status"], row["reason"], row["absent"]) == ("measured", None, {})
    assert row["trained"] == {"val": str(folder)}
    assert f"trained dense-RELiC-1-1: {folder}" in " ".join(shown.split())  # a long line is wrapped
    assert "not trained" not in shown
    # The same as the retriever with these weights.
    irtoolkit("retrieve", DATASET, "dense", "-o", "own.run", "--depth", "100", "--set",
              f"model={folder}", "query=masked:<mask>")  # fmt: skip
    answer = irtoolkit("eval", DATASET, "own.run", "--measures", "R@10", "--format", "json")
    [figures] = json.loads(answer.out).values()
    assert row["measured"]["val"]["R@10"] == pytest.approx(100 * figures["R@10"])


# -- several tables of one benchmark -------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ('unavailable = "lost"\ntrain = "egret"', "no retriever"),
        ('retriever = "dense"\ntrain_set = { sides = "L" }', "no train"),
        ('retriever = "dense"\ntrain_set_for.val = { sides = "L" }', "no train"),
        ('retriever = "dense"\ntrain = "egret"\ntrain_set_for.no = { sides = "L" }', "not a group"),
    ],
)
def test_a_row_that_is_trained_wrongly_is_refused(tmp_path: Path, lines: str, found: str) -> None:
    path = tmp_path / "made.toml"
    path.write_text(
        'title = "t"\nscale = 1.0\nbaseline = "a"\ntested = "RR"\n[columns]\nRR = "RR"\n'
        f'[groups]\nval = "relic/val"\n[[row]]\nsystem = "a"\n{lines}\n',
        "utf-8",
    )
    with pytest.raises(InputError, match=found):
        load_table(path)

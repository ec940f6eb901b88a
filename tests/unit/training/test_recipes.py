"""The recipes: what they say, what the papers print, and the rows of the tables that they train."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.models.presets import SAVED_AS, presets
from irtoolkit.papers.catalogue import find_row, tables
from irtoolkit.papers.systems import Training, of_row
from irtoolkit.papers.tables import Row, Table, load_table
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import retrievers
from irtoolkit.retrievers.texts import view
from irtoolkit.scoring.evaluation import parse_measures
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


@each_choice
def test_its_datasets_views_and_measures_are_there(name: str, chosen: dict[str, str]) -> None:
    known = set(ir_datasets.registry._registered)
    for stage in find_recipe(name, chosen).stages:
        if stage.source == "dataset":
            assert stage.dataset in known
        if stage.evaluate:
            assert stage.evaluate in known
            assert stage.measure is not None
            # What decides when to stop is not what the table is measured on.
            assert "test" not in stage.evaluate.split("/")
            assert not stage.held_out
        if stage.measure is not None:
            assert list(parse_measures([stage.measure])) == [stage.measure]
            assert stage.evaluate or stage.held_out
        for dataset_id in filter(None, (stage.dataset, stage.evaluate)):
            base, _, rest = dataset_id.partition("/")
            sample = ir_datasets.load(f"{base}/sample/{rest}")
            for text in (
                view(next(iter(sample.queries_iter())), stage.query),
                view(next(iter(sample.docs_iter())), stage.doc),
            ):
                assert " ".join(text).strip()


@each_choice
def test_a_mark_is_a_token_of_the_start(name: str, chosen: dict[str, str]) -> None:
    """RoBERTa's mask is <mask>, BERT's [MASK]; what pools at the mask must meet one."""
    recipe = find_recipe(name, chosen)
    for stage in recipe.stages:
        kind, _, token = stage.query.partition(":")
        if kind == "masked":
            own = "<mask>" if "roberta" in recipe.start else "[MASK]"
            assert token in (own, "[SEP]")
        if recipe.query_pooling == "mask":
            assert stage.query == "masked:[MASK]"


def test_a_benchmark_with_a_validation_split_stops_on_it() -> None:
    for name, chosen in CHOICES:
        for stage in find_recipe(name, chosen).stages:
            if stage.measure is not None and stage.source == "dataset":
                base = stage.dataset.partition("/")[0]
                splits = {other.split("/")[-1] for other in ir_datasets.registry._registered
                          if other.startswith(f"{base}/")}  # fmt: skip
                if "val" in splits:
                    assert stage.evaluate == stage.dataset.replace("train", "val")
                else:
                    assert stage.held_out > 0


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
def test_a_rows_recipe_makes_the_model_that_its_retriever_takes(
    table: Table, row: Row, group: str
) -> None:
    recipe = find_recipe(str(row.train), settings_of(row, group))
    retriever = retrievers()[str(row.retriever)]
    assert getattr(retriever, "applies", None) == recipe.kind
    assert "weights" in retriever().settings()
    made = of_row(table, row, {}, table.groups[group])
    assert made.training == Training(str(row.train), settings_of(row, group))
    assert made.settings()["weights"] == str(made.training.folder)
    assert row.settings["model"] in presets()


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


def test_the_command_trains_to_where_the_row_looks() -> None:
    for table, row, group in TRAINED:
        training = of_row(table, row, {}, table.groups[group]).training
        assert training is not None
        irtoolkit, train, name, *pairs = shlex.split(training.command)
        assert (irtoolkit, train) == ("irtoolkit", "train")
        settings = dict(pair.split("=", 1) for pair in pairs if pair != "--set")
        assert trained_folder(name, settings) == training.folder


def test_an_untrained_system_is_refused_with_the_command(cache: Path, irtoolkit: Command) -> None:
    answer = irtoolkit("retrieve", DATASET, "dense-RELiC-1-1", "-o", "x.run")
    assert (answer.status, answer.err) == (2, f"irtoolkit: {UNTRAINED}\n")


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
    ("dataset_id", "side"),
    [
        ("", "both"),
        ("quoter/en/lower/test", "both"),
        ("quoter/en/lower/val", "both"),
        ("relic/val", "both"),
        ("quoter/zh/lower/test/left", "left"),
        ("quoter/sample/lzh/lower/test/left", "left"),
    ],
)
def test_what_a_dataset_shows_tells_a_benchmarks_tables_apart(dataset_id: str, side: str) -> None:
    found = find_row("Ours", DatasetId.parse(dataset_id))
    assert found is not None
    _, row = found
    assert (row.train_set["side"], row.view) == (side, None if side == "both" else "left")
    training = find_system("Ours", {}, dataset_id).training
    assert training is not None
    language = next((code for code in ("en", "zh", "lzh") if code in dataset_id.split("/")), None)
    own = {} if language is None else {"language": language}
    assert training.settings == {"side": side, **own}


def test_a_system_of_another_table_is_found_too() -> None:
    assert find_system("DPR-on-RELiC", {}, "plotretrieval/val").training is not None
    assert find_system("BM25", {}, "plotretrieval/val").settings()["stem"] == "porter"
    with pytest.raises(InputError, match="each have a system BM25"):
        find_system("BM25", {}, "relic/val")


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

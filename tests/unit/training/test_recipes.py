"""The recipes: what they say, what the papers print, and the rows of the tables that they train."""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.models.presets import SAVED_AS, presets
from irtoolkit.papers.catalogue import find_row, find_table, tables
from irtoolkit.papers.systems import Training, of_row
from irtoolkit.papers.tables import Row, Table, load_table
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import retrievers
from irtoolkit.retrievers.texts import view
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.training.losses import check_stage
from irtoolkit.training.model_paths import RECORD, trained_by, trained_folder
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


# What the papers print; of Karpukhin, Cohan, and Khattab and Zaharia their own papers.
PRINTED: list[tuple[str, dict[str, str], dict[str, Any], list[dict[str, Any]]]] = [
    # RELiC §3.2, its equation, and footnote 14.
    ("dense-relic", {},
     {"start": "roberta-base", "encoders": 2, "pooling": "cls", "similarity": "dot"},
     [{"dataset": "relic/train/4-4", "loss": "in-batch", "grouped": True, "batch": 100,
       "rate": 1e-5, "epochs": 10, "decay": 0, "evaluate": "relic/val/4-4", "scale": 1}]),
    ("dense-relic", {"context": "0/1"}, {},
     [{"dataset": "relic/train/0-1", "evaluate": "relic/val/0-1"}]),
    # EgRet §3.3.
    ("egret", {"sides": "L+R"}, {"start": "roberta-base", "encoders": 2},
     [{"dataset": "egret/train", "loss": "in-batch", "epochs": 10, "decay": 0, "scale": 1}]),
    ("egret", {"sides": "L"}, {}, [{"dataset": "egret/train/left", "epochs": 10}]),
    ("egret-books", {}, {"start": "roberta-base", "encoders": 2},
     [{"source": "examples", "loss": "in-batch", "epochs": 5}]),
    ("egret-books-eli5", {}, {"start": "roberta-base", "encoders": 2},
     [{"source": "examples", "epochs": 5}, {"dataset": "egret/train", "epochs": 10}]),
    # PlotRetrieval §5.1 and §5.2.
    ("dpr-plotretrieval", {}, {"start": "bert-base-uncased"},
     [{"dataset": "plotretrieval/train", "batch": 64, "rate": 1e-5, "epochs": 5,
       "negatives": "mined", "loss": "in-batch", "evaluate": "plotretrieval/val",
       "pairs": "one"}]),
    ("dpr-plotretrieval", {"language": "zh"}, {"start": "bert-base-chinese"}, [{}]),
    ("dpr-relic", {}, {"start": "bert-base-uncased"},
     [{"dataset": "relic/train", "batch": 64, "rate": 1e-5, "epochs": 5, "negatives": "mined",
       "loss": "in-batch", "evaluate": "relic/val"}]),
    # SPECTER §2 and §4, "Training and Implementation".
    ("specter-id", {},
     {"start": "allenai/scibert_scivocab_uncased", "encoders": 1, "pooling": "cls",
      "similarity": "l2"},
     [{"source": "triples", "loss": "triplet", "margin": 1, "batch": 32, "rate": 2e-5, "epochs": 2,
       "schedule": "linear", "warmup": 0.1}]),
    # QuoteR §5.1, §5.2, §6.3 and Appendix C.
    ("quoter", {},
     {"start": "bert-base-uncased", "encoders": 2, "pooling": "cls", "query_pooling": "mask",
      "similarity": "dot", "sememes": "sememes-en.tsv", "alpha": 0.5},
     [{"dataset": "quoter/en/lower/train", "loss": "sampled", "negatives": "random", "count": 19,
       "rate": 5e-5, "schedule": "linear", "frozen": "none"},
      {"dataset": "quoter/en/lower/train", "loss": "all", "frozen": "documents", "rate": 5e-5,
       "schedule": "linear"}]),
    ("quoter", {"language": "zh", "side": "left"}, {"start": "bert-base-chinese"},
     [{"dataset": "quoter/zh/lower/train/left"}, {"evaluate": "quoter/zh/lower/val/left"}]),
    ("quoter", {"language": "lzh"}, {"start": "bert-base-chinese"},
     [{"dataset": "quoter/lzh/lower/train"}, {}]),
    # QuoteR §6.4.
    ("quoter-no-sememe", {}, {"sememes": None, "query_pooling": "mask"},
     [{"loss": "sampled", "count": 19}, {"loss": "all", "frozen": "documents"}]),
    ("quoter-no-retrain", {}, {"sememes": None}, [{"loss": "sampled", "count": 19}]),
    ("quoter-no-simtrain", {}, {"sememes": None, "query_pooling": "mask"},
     [{"loss": "all", "frozen": "documents", "rate": 5e-5}]),
    # QuoteR §5.1 equation 2, §6.1.
    ("bert-sim", {}, {"query_pooling": "cls", "pooling": "cls"},
     [{"loss": "all", "frozen": "documents", "query": "masked:[SEP]", "rate": 5e-5}]),
    ("bert-cls", {}, {"kind": "cross", "labels": 2, "start": "bert-base-uncased"},
     [{"loss": "classes", "negatives": "random", "rate": 5e-5}]),
    # ColBERT §3.3 and §4.1.2.
    ("colbert", {}, {"kind": "late", "start": "bert-base-uncased", "query_length": 32},
     [{"loss": "sampled", "count": 1, "rate": 3e-6, "batch": 32}]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "chosen", "model", "stages"), PRINTED, ids=str)
def test_hyper_parameters_are_those_in_print(
    name: str, chosen: dict[str, str], model: dict[str, Any], stages: list[dict[str, Any]]
) -> None:
    recipe = find_recipe(name, chosen)
    for field, value in model.items():
        assert getattr(recipe, field) == value, field
    assert len(recipe.stages) == len(stages)
    for stage, printed in zip(recipe.stages, stages, strict=True):
        for field, value in printed.items():
            assert getattr(stage, field) == value, field


@pytest.mark.parametrize(
    ("language", "batch", "lengths"),
    [("en", 4, (150, 80)), ("zh", 8, (100, 80)), ("lzh", 8, (100, 60))],
)
def test_quoters_batches_and_lengths_are_its_codes(
    language: str, batch: int, lengths: tuple[int, int]
) -> None:
    recipe = find_recipe("quoter", {"language": language})
    assert [stage.batch for stage in recipe.stages] == [batch, 64]
    assert (recipe.query_length, recipe.doc_length) == lengths


@pytest.mark.parametrize(
    ("language", "lookup"), [("en", "nltk"), ("zh", "tokens"), ("lzh", "tokens")]
)
def test_quoters_sememes_are_looked_up_as_by_its_code(language: str, lookup: str) -> None:
    assert find_recipe("quoter", {"language": language}).lookup == lookup


def test_every_other_document_of_a_batch_is_a_negative_in_the_papers_recipes() -> None:
    """RELiC §3.2, EgRet equation 1, QuoteR equation 5; the variant of ours is of our own recipes."""
    ours = ("minilm", "colbert", "splade", "distilled", "reranker")
    for name, chosen in CHOICES:
        for stage in find_recipe(name, chosen).stages:
            variant = name.startswith(ours)
            assert stage.near == (0.8 if variant else None)
            assert stage.apart == (variant and stage.loss == "in-batch")
    given = {"near": 0.8, "apart": True}
    assert find_recipe("dense-relic", given).stages[0].apart


def test_ablations_differ_from_the_whole_in_nothing_else() -> None:
    """QuoteR §6.4: each takes one thing more away."""
    whole, no_sememe, no_retrain, no_simtrain = (
        replace(find_recipe(f"quoter{part}"), name="", title="", paper="", note="")
        for part in ("", "-no-sememe", "-no-retrain", "-no-simtrain")
    )
    assert no_sememe == replace(whole, sememes=None, alpha=no_sememe.alpha, lookup="longest")
    assert no_retrain == replace(no_sememe, stages=no_sememe.stages[:1])
    assert no_simtrain == replace(no_sememe, stages=no_sememe.stages[1:])
    [stage] = no_simtrain.stages
    similar = replace(
        no_simtrain, query_pooling="cls", stages=(replace(stage, query="masked:[SEP]"),)
    )
    assert replace(find_recipe("bert-sim"), name="", title="", paper="", note="") == similar


def test_the_two_stages_of_egret_are_the_recipes_of_each() -> None:
    for sides in ("L", "L+R"):
        books, eli5, both = (
            find_recipe(f"egret{part}", {"sides": sides}) for part in ("-books", "", "-books-eli5")
        )
        assert both.stages == (*books.stages, *eli5.stages)
        assert replace(both, name="egret", title="", paper="", note="", stages=()) == replace(
            eli5, title="", paper="", note="", stages=()
        )


def test_egret_reads_its_mask_in_both_settings() -> None:
    """§3.1, §3.3: a context is that of a masked example, also where only its left side is shown."""
    rows = {row.system: row for row in find_table("egret").rows if row.train is not None}
    for row in rows.values():
        data = f"egret/sample/dev/{row.view}" if row.view else "egret/sample/dev"
        [first, *_] = Dataset.load(data).queries()
        [text] = view(first, row.settings["query"])
        assert text.count("<mask>") == 1
        assert text.endswith("<mask>") == (row.view == "left")
        recipe = find_recipe(row.train, row.train_set)
        for stage in recipe.stages:  # trained on the text that it is asked with
            assert view(first, stage.query) == (text,)
    assert len(rows) == 6


def test_dpr_is_trained_alike_on_both() -> None:
    """PlotRetrieval §5.3: "fine-tuned with the same method (DPR) and settings"."""
    plot, relic = (find_recipe(f"dpr-{name}").stages[0] for name in ("plotretrieval", "relic"))
    data = {"dataset", "evaluate", "measure", "query", "doc"}
    own = {f: v for f, v in vars(plot).items() if f not in data}
    assert own == {f: v for f, v in vars(relic).items() if f not in data}


@each("name", recipe_names())
def test_commands_in_a_note_can_be_given(name: str) -> None:
    for command in re.findall(r"`irtoolkit ([^`]*)`", find_recipe(name).note):
        words = [word for word in shlex.split(command) if word != "..."]
        module = import_module(f"irtoolkit.commands.{words[0]}")
        parser = argparse.ArgumentParser(exit_on_error=False)
        module.configure(parser)
        args = parser.parse_args(words[1:])
        if words[0] == "retrieve":
            assert find_system(args.system, {}, args.dataset).retriever.name == "bm25"
            assert args.dataset in {stage.dataset for stage in find_recipe(name).stages}


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


@each("name", sorted(presets()))
def test_recipes_that_presets_name_are_there(name: str) -> None:
    said = presets()[name].unpublished + presets()[name].converted
    for command in re.findall(r"`irtoolkit train ([^`]*)`", said):
        recipe, *rest = command.split()
        settings = dict(pair.split("=") for pair in rest if "=" in pair)
        assert find_recipe(recipe, settings).name == recipe


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


def test_a_model_of_an_earlier_version_is_known(cache: Path) -> None:
    """Its record lacks settings that did not exist then, and what they say now was done always."""
    made = find_recipe("minilm").settings()
    assert (made["stages"][0].pop("apart"), made["stages"][0].pop("pairs")) == (True, "all")
    assert made.pop("lookup") == "longest"
    folder = cache / "earlier"
    folder.mkdir(parents=True)
    (folder / RECORD).write_text(json.dumps({"plan": {"settings": made}}), "utf-8")
    assert trained_by(folder, find_recipe("minilm"))
    assert not trained_by(folder, find_recipe("minilm", {"apart": False}))


def test_the_command_trains_to_where_the_row_looks() -> None:
    for table, row, group in TRAINED:
        training = of_row(table, row, {}, table.groups[group]).training
        assert training is not None
        irtoolkit, train, name, *pairs = shlex.split(training.command)
        assert (irtoolkit, train) == ("irtoolkit", "train")
        settings = dict(pair.split("=", 1) for pair in pairs if pair != "--set")
        assert trained_folder(name, settings) == training.folder


def test_commands_that_train_on_another_dataset_take_all_its_relevant_documents() -> None:
    """Of the several that a query of MS MARCO and DuReader has, none is named as the gold one."""
    texts = [row.command or "" for table in tables().values() for row in table.rows]
    texts += [preset.converted or "" for preset in presets().values()]
    commands = [found for text in texts for found in re.findall(r"irtoolkit train [^`;]*", text)]
    others = 0
    for command in commands:
        name, *words = shlex.split(command)[2:]
        settings = dict(word.split("=", 1) for word in words if "=" in word)
        if "dataset" in settings:
            others += 1
            assert [stage.pairs for stage in find_recipe(name, settings).stages] == ["all"], command
    assert others == 2


def test_other_weights_or_another_model_are_taken_instead(
    cache: Path, starts: dict[str, str]
) -> None:
    put("dense-relic", {"context": "1/1"}, starts)
    given = find_system("dense-RELiC-1-1", {"weights": starts["plain"]}, DATASET)
    assert (given.training, given.missing()) == (None, None)
    assert given.settings()["weights"] == starts["plain"]
    lost = find_system("dense-RELiC-1-1", {"weights": "./nowhere"}, DATASET)
    assert lost.missing() == "there is no model in ./nowhere"
    other = find_system("dense-RELiC-1-1", {"model": starts["plain"]}, DATASET)
    assert other.training is None
    assert other.settings()["weights"] is None


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


def test_a_language_may_be_trained_and_others_not(
    cache: Path, starts: dict[str, str], irtoolkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # a row in one piece
    settings = {"side": "left", "language": "en"}
    folder = put("bert-sim", settings, starts)
    rows, shown = reproduce(irtoolkit, "quoter-left", "--systems", "BERT-Sim", "BM25")
    row = rows["BERT-Sim"]
    assert (row["status"], list(row["measured"]), list(row["p"])) == ("measured", ["en"], ["en"])
    assert row["trained"] == {"en": str(folder)}
    told = "not trained here: run `irtoolkit train bert-sim --set side=left language"
    assert row["absent"] == {code: f"{told}={code}`" for code in ("zh", "lzh")}
    assert row["settings"]["weights"] == str(folder)
    assert f"trained BERT-Sim en: {folder}" in shown
    for code in ("zh", "lzh"):
        assert f"missing BERT-Sim {code}: {told}={code}`" in shown
    lines = [line.split()[:2] for line in shown.splitlines() if line.startswith("BERT-Sim")]
    assert lines == [["BERT-Sim", state] for state in ("measured", "missing", "missing")]


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

"""Names of systems: a model alone is its preset on any data, a row is named with its table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.models.presets import aliases, presets
from irtoolkit.papers.catalogue import find_table, tables
from irtoolkit.papers.row_commands import ranked_id
from irtoolkit.papers.systems import model_of, of_row, row_id, with_weights
from irtoolkit.ranking.systems import TaskSettings, find_reranker, find_system
from tests import tiny
from tests.conftest import Answer

Command = Callable[..., Any]

DATASETS = ("", "csfcube", "egret/dev", "plotretrieval/test", "quoter/en/test", "relic/val", "book")
NAMES = [*presets(), *aliases()]


@pytest.mark.parametrize("name", NAMES)
def test_a_models_name_alone_is_the_model_on_any_data(name: str) -> None:
    own = aliases().get(name, name)
    preset = presets()[own]
    setting = "llm" if preset.kind == "llm" else "model"
    for dataset in DATASETS:
        for find in (find_system, find_reranker):
            found = find(name, {}, dataset)
            assert found.task == TaskSettings()
            assert (found.first, found.training) == (None, None)
            assert found.settings()[setting] == own
            plain = find_system(found.retriever.name, {setting: own, **preset.settings})
            assert found.retriever == plain.retriever


@pytest.mark.parametrize("table", tables().values(), ids=lambda table: table.name)
def test_a_row_is_named_with_its_table(table: Any) -> None:
    for row in table.rows:
        for group, dataset in table.groups.items():
            if row.retriever is None:
                with pytest.raises(InputError, match="cannot be run"):
                    find_system(row_id(table, row.system), {}, ranked_id(table, row, group, False))
                continue
            own = {} if table.dataset else row.settings_for.get(group, {})
            ranked = ranked_id(table, row, group, False)
            found = find_system(row_id(table, row.system), {}, ranked)
            expected = of_row(table, row, own, dataset)
            assert found.settings() == expected.settings()
            assert (found.name, found.training) == (row.system, expected.training)


@pytest.mark.parametrize("name", ["ColBERTv2", "Contriever", "Cross-Encoder", "SPECTER"])
def test_a_model_ranks_any_texts(name: str, tmp_path: Path) -> None:
    if name == "ColBERTv2":
        folder = tiny.save_colbert(tmp_path / "model")
    else:
        cross = name == "Cross-Encoder"
        kind = "BertForSequenceClassification" if cross else "BertModel"
        folder = tiny.save(tmp_path / "model", kind, num_labels=1)
    data = "egret/sample/dev"
    first = ir.retrieve(data, "bm25", depth=2)
    assert len(ir.rerank(data, first, name, weights=str(folder))) == len(first)
    if name != "Cross-Encoder":
        texts = ["a captain pays a debt", "two sisters inherit one coat"]
        assert len(ir.index(texts, name, weights=str(folder)).search("coat")) > 0


# -- weights of a table's models ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (
            ("retrieve", "egret/sample/dev", "csfcube:fabs_bm25"),
            "fabs_bm25 of the table csfcube does not fit egret/sample/dev:"
            " ExampleQuery has no text field 'facet_sentences'",
        ),
        (
            ("retrieve", "docs.jsonl", "relic:BM25-4-4", "--topics", "topics.tsv"),
            "BM25-4-4 of the table relic does not fit docs.jsonl: GenericDoc has no text field 'sentences'",
        ),
        (
            ("index", "docs.jsonl", "fabs_bm25"),
            "fabs_bm25 of the table csfcube does not fit docs.jsonl:",
        ),
        (
            ("retrieve", "egret/sample/dev", "bm25", "--query", "title"),
            "irtoolkit: ExampleQuery has no text field 'title'",
        ),
    ],
)
def test_a_row_that_does_not_fit_the_data_is_named(
    irtoolkit: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...], found: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text('{"id": "d1", "text": "a whale"}\n')
    Path("topics.tsv").write_text("q1\twhale\n")
    answer = irtoolkit(*command, "-o", "made")
    assert answer.status == 2
    assert found in answer.err
    assert command[1] == "docs.jsonl" or "fields are context, left" in answer.err


def test_a_trained_row_keeps_the_model_that_is_trained() -> None:
    table = find_table("csfcube")
    other = with_weights(table, {"SPECTER": "./specter"})
    assert model_of(table.find_row("SPECTER-ID")) is None
    assert other.find_row("SPECTER-ID") == table.find_row("SPECTER-ID")
    assert other.find_row("SPECTER").settings["weights"] == "./specter"


def test_weights_of_a_model_that_no_row_has_are_refused() -> None:
    with pytest.raises(InputError, match=r"no row of csfcube has the model DPR .*SPECTER"):
        with_weights(find_table("csfcube"), {"DPR": "./dpr"})


def test_reproduce_names_its_own_remedy_and_takes_it(
    irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    lacking = irtoolkit("reproduce", "csfcube", "--missing", "--systems", "csfcube:SPECTER")
    assert "--weights SPECTER=PATH" in " ".join(lacking.out.split())
    folder = tiny.save(tmp_path / "model")
    done = irtoolkit(
        "reproduce", "csfcube", "--sample", "--systems", "SPECTER", "random",
        "--baseline", "csfcube:random", "--weights", f"SPECTER={folder}",
    )  # fmt: skip
    assert done.status == 0, done.err
    assert Path("runs/csfcube-sample.SPECTER.run").is_file()


@pytest.mark.parametrize("mode", ["--list", "--missing"])
@pytest.mark.parametrize("flags", [["--sample"], ["--baseline", "random"], ["-o", "other"]])
def test_flags_that_a_list_does_not_read_are_refused(
    irtoolkit: Command, mode: str, flags: list[str]
) -> None:
    done = irtoolkit("reproduce", "csfcube", mode, *flags)
    assert done.status == 2
    assert f"changes nothing with {mode}" in done.err


@pytest.mark.parametrize("name", sorted(tables()))
def test_every_row_that_cannot_run_is_listed_with_what_it_needs(
    irtoolkit: Command, name: str
) -> None:
    table = find_table(name)
    missing = irtoolkit("reproduce", name, "--missing").out
    for row in table.rows:
        if row.retriever is None and row.ranking is None:
            assert f"{row.system}: " in missing
    published = sum(row.ranking is not None for row in table.rows)
    assert not published or f"{published} rows are published rankings" in missing
    if any(row.retriever is None for row in table.rows):
        assert "Every row can run here" not in missing

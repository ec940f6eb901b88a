"""What gives the figures of each row: states that follow from what a row has."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.papers.catalogue import FOLDER, find_table, tables
from irtoolkit.papers.listing import MEANINGS, listing, overview, row_states
from irtoolkit.papers.reproduce import reproduce, survey
from irtoolkit.papers.tables import Table, load_table

Command = Callable[..., Any]

TOML = """
title = "A toy table"
scale = 1.0
baseline = "bm25"
tested = "MRR"
columns = { MRR = "RR" }

[groups]
en = "quoter/en/lower/test"
zh = "quoter/zh/lower/test"

[[row]]
system = "bm25"
retriever = "bm25"

[[row]]
system = "hub"
retriever = "dense"
set = { model = "DPR" }

[[row]]
system = "trained"
retriever = "dense"
train = "bert-sim"
train_set_for.en = { language = "en" }
train_set_for.zh = { language = "zh" }
set = { model = "BERT-Sim" }

[[row]]
system = "nowhere"
retriever = "dense"
set = { model = "DPR-PlotRetrieval" }

[[row]]
system = "service"
retriever = "generated-query"
set = { model = "DPR", llm = "writer-1", endpoint = "https://example.org/v1" }

[[row]]
system = "second"
retriever = "cross-encoder"
first = "bm25"
rerank_depth = 10

[[row]]
system = "elsewhere"
command = "irtoolkit datasets csfcube"
reported.en = [0.5]

[[row]]
system = "people"
people = "three readers"
reported.en = [0.9]

[[row]]
system = "published"
ranking = "runs/ of the release"
reported.en = [0.7]

[[row]]
system = "nothing"
unavailable = "it is a secret"
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.chdir(tmp_path)
    # Nobody's trained models are found.
    monkeypatch.setattr("irtoolkit.training.model_paths.cache_home", lambda: tmp_path / "cache")
    path = tmp_path / "toy.toml"
    path.write_text(TOML, "utf-8")
    return load_table(path)


def test_a_state_follows_from_what_a_row_has(toy: Table) -> None:
    found = {one.system: (one.state, one.here, one.how) for one in row_states(toy)}
    hub = "facebook/dpr-ctx_encoder-single-nq-base and facebook/dpr-question_encoder-single-nq-base"
    assert found["bm25"] == ("measured", True, "bm25")
    assert found["hub"][0::2] == ("weights", hub)
    assert found["trained"] == (
        "recipe", False, "irtoolkit train bert-sim --set language=en (one for each of en, zh)",
    )  # fmt: skip
    assert found["nowhere"] == ("unpublished", False, "looked at https://arxiv.org/abs/2004.04906")
    assert found["service"][0::2] == ("service", "writer-1 at https://example.org/v1")
    assert found["second"][0::2] == ("weights", "cross-encoder/ms-marco-MiniLM-L-6-v2, after bm25")
    assert found["elsewhere"] == ("reported", None, "irtoolkit datasets csfcube")
    assert found["people"] == ("human", None, "three readers")
    assert found["published"] == ("ranking", None, "runs/ of the release")
    assert found["nothing"] == ("unavailable", None, "it is a secret")


def test_the_list_explains_the_states_that_it_has(
    toy: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irtoolkit.papers.listing.absent_data", lambda table: {})
    text = listing(toy, ["bm25", "people"]).to_text(width=100)
    assert "bm25    measured  yes        bm25" in text
    assert "people  human     -          three readers" in text
    assert f"human: {MEANINGS['human']}" in text
    assert MEANINGS["service"] not in text
    with pytest.raises(InputError, match="no row 'wrods'"):
        listing(toy, ["wrods"])


def test_rows_that_no_retriever_runs_are_neither_run_nor_said_to_lack_something(
    toy: Table, tmp_path: Path
) -> None:
    rows = {one.row.system: one for one in survey(toy).rows}
    assert [cell.need for cell in rows["people"].cells] == [None, None]
    assert [cell.need for cell in rows["nothing"].cells] == ["recipe", "recipe"]
    with pytest.raises(InputError, match=r"none of the chosen rows .* toy --list"):
        reproduce(toy, tmp_path, systems=["elsewhere", "people"])


@pytest.mark.parametrize("name", tables())
def test_every_row_of_the_papers_has_a_state_and_says_what_it_takes(name: str) -> None:
    table = find_table(name)
    found = row_states(table)
    assert [one.system for one in found] == [row.system for row in table.rows]
    assert all(one.state in MEANINGS and one.how for one in found)
    sources = [one.how for one in found if one.state == "unpublished"]
    assert all("https://" in source for source in sources)
    assert max(map(len, listing(table).to_text(width=100).splitlines())) <= 100


def test_the_command_lists_tables_and_rows(irtoolkit: Command) -> None:
    text = irtoolkit("reproduce", "--list").out
    assert all(f"\n{name} " in text for name in tables())
    assert text.splitlines()[2:-2] == overview(tables()).to_text().splitlines()[2:-2]
    rows = json.loads(irtoolkit("reproduce", "csfcube", "--list", "--format", "json").out)
    known = {"system": "fabs_bm25", "state": "measured", "here": True, "how": "bm25"}
    assert any(known.items() <= row.items() for row in rows)
    assert (
        "fabs_bm25,measured" in irtoolkit("reproduce", "csfcube", "--list", "--format", "csv").out
    )
    every = json.loads(irtoolkit("reproduce", "--list", "--format", "json").out)
    assert every["csfcube"]["SPECTER-ID"] == "recipe"


def test_the_page_explains_every_state() -> None:
    page = (FOLDER.parents[1] / "docs/how-to/reproduce.md").read_text("utf-8")
    _, _, table = page.partition("| state | meaning |\n|---|---|\n")
    rows = takewhile(lambda line: line.startswith("| "), table.splitlines())
    assert [line.split("|")[1].strip() for line in rows] == list(MEANINGS)


@pytest.mark.parametrize("args", [[], ["--list", "--systems", "random"], ["--sample"]])
def test_a_table_must_be_named_to_run_it(irtoolkit: Command, args: list[str]) -> None:
    answer = irtoolkit("reproduce", *args)
    assert answer.status == 2
    assert "no EXPERIMENT is named" in answer.err
    assert "csfcube" in answer.err

"""The papers' tables measured on the samples."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import ir_datasets
import numpy as np
import pytest

from irtoolkit.papers.catalogue import find_table
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.random import Random
from irtoolkit.retrievers.task import load_task
from irtoolkit.runs import Run
from tests.unit.papers.test_tables import Command, each_new, need, reproduce, sample, shown

# Retrievers that need nothing but the package itself.
LEXICAL = ("random", "bm25", "tfidf", "crm")
Reproduced = tuple[dict[str, Any], str]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A row asks OpenAI, where there is a key.
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    # Nobody's trained models are found.
    monkeypatch.setattr("irtoolkit.training.model_paths.cache_home", lambda: tmp_path / "cache")


@pytest.fixture(scope="module")
def first_times() -> dict[str, tuple[Path, dict[str, Any], str]]:
    """By table: the folder where it was reproduced, what was found, and what was said."""
    return {}


@pytest.fixture
def reproduced(
    name: str,
    irtoolkit: Command,
    first_times: dict[str, tuple[Path, dict[str, Any], str]],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Reproduced:
    """The table of the sample, made once: what was found and said; the test is where its runs are."""
    known = name in first_times
    folder = first_times[name][0] if known else tmp_path_factory.mktemp(name)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("irtoolkit.training.model_paths.cache_home", lambda: folder / "cache")
    if not known:
        first_times[name] = folder, *reproduce(irtoolkit, name, *sample(name))
    _, found, said = first_times[name]
    return copy.deepcopy(found), said


@each_new
def test_the_table_of_the_sample(name: str, reproduced: Reproduced) -> None:
    table = find_table(name)
    found, _ = reproduced
    assert found["experiment"] == name
    assert set(found["groups"]) == set(table.groups)
    assert all("/sample/" in dataset_id for dataset_id in found["groups"].values())
    rows = {row["system"]: row for row in found["rows"]}
    assert list(rows) == [row.system for row in shown(name)]
    written = {path.name for path in Path("runs").glob("*.run")}
    hidden = {"relic": ["test"]}.get(name, [])  # its qrels are not published
    judged = [group for group in table.groups if group not in hidden]
    for row in shown(name):
        result = rows[row.system]
        assert list(result["lacking"]) == hidden
        if result["status"] == "missing":
            assert result["reason"]
            assert row.retriever not in LEXICAL
            continue
        assert (result["status"], result["reason"]) == ("measured", None)
        assert list(result["measured"]) == judged
        for group, figures in result["measured"].items():
            assert list(figures) == list(table.columns)
            assert all(math.isfinite(figure) for figure in figures.values())
            assert f"{name}-sample.{group}.{row.system}.run" in written
        for group, figures in row.reported.items():
            printed = [None if math.isnan(figure) else figure for figure in figures]
            assert list(result["reported"][group].values()) == printed
    for row in shown(name):
        if row.retriever in LEXICAL:
            assert rows[row.system]["status"] == "measured"
            baseline = row.system == table.baseline
            assert set(rows[row.system]["p"]) <= (set() if baseline else set(judged))


@each_new
def test_a_second_time_takes_what_is_there(
    irtoolkit: Command, name: str, reproduced: Reproduced
) -> None:
    first, said = reproduced
    assert "unchanged" not in said
    before = {path: path.stat().st_mtime_ns for path in Path("runs").iterdir()}
    second, said = reproduce(irtoolkit, name, *sample(name))
    assert second == first
    assert {path: path.stat().st_mtime_ns for path in Path("runs").iterdir()} == before
    assert said.count("unchanged") == len(list(Path("runs").glob("*.run")))


def test_a_language_that_is_not_here_is_reported_and_others_measured(
    real_data: Path, irtoolkit: Command
) -> None:
    need(real_data, "quoter")
    if (real_data / "quoter" / "modern_chinese.txt").exists():
        pytest.skip("modern Chinese is here")
    found, _ = reproduce(irtoolkit, "quoter", "--systems", "random", "CRM")
    for row in found["rows"]:
        assert row["status"] == "measured"
        assert list(row["measured"]) == ["en", "lzh"]
        assert list(row["lacking"]) == ["zh"]
        assert "chinese" in row["lacking"]["zh"]
    shown = irtoolkit("reproduce", "quoter", "--systems", "random", "CRM").out
    assert "zh: no data:" in shown
    shown = irtoolkit("reproduce", "quoter", "--systems", "random", "CRM", "--all").out
    assert "missing zh:" in shown
    assert "13" in shown, "what the paper prints for it is still there"


@each_new
def test_data_that_are_not_the_papers_are_told(
    real_data: Path, irtoolkit: Command, name: str
) -> None:
    table = find_table(name)
    need(real_data, table.benchmark)
    found, _ = reproduce(irtoolkit, name, "--systems", "random")
    [row] = found["rows"]
    told = row["foreign"]
    for group, figures in row["measured"].items():
        assert figures
        queries = ir_datasets.load(table.groups[group]).queries_count()
        if group in told:
            assert f"{queries} queries, not the" in told[group]
    if table.benchmark == "plotretrieval":  # whose data nobody has published
        assert "test" in row["lacking"] or "test" in row["measured"]
        return
    assert told, "none of the collections here is the published one"
    shown = irtoolkit("reproduce", name, "--systems", "random").out
    for group in told:
        assert f"{group}: the data here have {told[group]}" in shown


def test_the_row_of_the_floor_is_the_engines(real_data: Path, irtoolkit: Command) -> None:
    need(real_data, "relic")
    found, _ = reproduce(irtoolkit, "relic", "--systems", "random")
    [row] = found["rows"]
    dataset = ir_datasets.load("relic/val")
    golds = {r.query_id: [r.doc_id] for r in dataset.qrels_iter() if r.relevance > 0}
    run = rank(load_task("relic/val"), Random(), golds, depth=100, progress=False)
    exact = run.exact_ranks or {}
    ranks = np.array([exact[query][own[0]] for query, own in golds.items()])
    figures = row["measured"]["val"]
    assert figures["mean rank"] == pytest.approx(ranks.mean())
    for k in (1, 10, 100):
        assert figures[f"R@{k}"] == pytest.approx(100 * (ranks <= k).mean())


# -- tables of figures that other commands measure ------------------------------------------------


@pytest.mark.parametrize("name", ["relic-length", "plotretrieval-chinese"])
def test_figures_are_printed_where_nothing_is_run(irtoolkit: Command, name: str) -> None:
    table = find_table(name)
    shown = irtoolkit("reproduce", name, "--all")
    assert shown.status == 0, shown.err
    found, _ = reproduce(irtoolkit, name)
    for row, result in zip(table.rows, found["rows"], strict=True):
        assert row.system in shown.out
        assert f"{row.command}" in " ".join(shown.out.split())
        assert list(result["reported"]["test"].values()) == row.reported["test"]
    answer = irtoolkit("reproduce", name)
    assert answer.status == 2
    assert "--all prints those of the paper" in answer.err
    assert not Path("runs").exists()


def test_the_proxy_task_picks_its_candidates(
    irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two passages that BM25 ranks highest beside the quotation, for every window and view."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    asked = ("relic-proxy", "--sample", "--systems", "random", "human")
    found, said = reproduce(irtoolkit, *asked)
    assert "relic/sample/val/proxy: candidates picked from" in said
    rows = {row["system"]: row for row in found["rows"]}
    assert list(rows["random"]["measured"]) == ["val"]
    assert (
        "its candidates are the best documents of dense-RELiC-4-4"
        in rows["random"]["lacking"]["val-errors"]
    )
    assert rows["human"]["reported"] == {
        "test": {"accuracy": 93.5},
        "test-errors": {"accuracy": 94.0},
    }
    run = Run.read("runs/relic-proxy-sample.val.random.run")
    first = Run.read("runs/relic-proxy-sample.val.candidates.run")
    golds = {
        r.query_id: r.doc_id
        for r in ir_datasets.load("relic/sample/val").qrels_iter()
        if r.relevance > 0
    }
    for query_id, gold in golds.items():
        others = [row.doc_id for row in first.ranking(query_id) if row.doc_id != gold][:2]
        assert {row.doc_id for row in run.ranking(query_id)} == {gold, *others}
    # Candidates that somebody picked are kept.
    _, said = reproduce(irtoolkit, "relic-proxy", "--sample", "--systems", "random")
    assert "candidates picked" not in said
    assert "relic/sample/val/proxy: candidates as they were picked" in said


def test_figures_of_an_edition_are_compared_with_its_data_alone(irtoolkit: Command) -> None:
    """The README's figures are of 7,833 windows, Table 3's of the submission's hidden test split."""
    found, _ = reproduce(irtoolkit, "relic", "--sample", "--systems", "random", "dense-RELiC-4-4")
    assert found["editions"] == {"test": "submission", "val": "published release"}
    rows = {row["system"]: row["reported"] for row in found["rows"]}
    assert list(rows["random"]) == ["test"]
    assert rows["dense-RELiC-4-4"]["val"]["R@1"] == 6.72

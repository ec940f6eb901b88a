"""The papers' tables: their figures as printed, their runs on the samples, the floor by its formula."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_datasets
import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.catalogue import FOLDER, find_table, tables
from irtoolkit.papers.rendering import as_tables
from irtoolkit.papers.result_json import as_json
from irtoolkit.papers.results import GroupResult, RowResult, TableResult
from irtoolkit.papers.tables import Row, load_table
from irtoolkit.ranking.systems import System, find_system
from irtoolkit.retrievers import retrievers
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.random import Random
from irtoolkit.retrievers.task import load_task

Command = Callable[..., Any]
NEW = ("relic", "egret", "quoter", "quoter-left", "plotretrieval", "plotretrieval-trained")
each_new = pytest.mark.parametrize("name", NEW)
# Tables some of whose rows are figures that other commands or people measure.
REPORTED = ("relic-length", "relic-proxy", "quoter-negatives", "plotretrieval-chinese")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A row asks OpenAI, where there is a key.
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    # Nobody's trained models are found.
    monkeypatch.setattr("irtoolkit.training.model_paths.cache_home", lambda: tmp_path / "cache")


# -- what the papers print --------------------------------------------------------------------


@pytest.mark.parametrize("name", tables())
def test_every_row_makes_a_system(name: str) -> None:
    table = find_table(name)
    assert table.tested in table.columns
    assert table.baseline in [row.system for row in table.rows]
    assert set(table.scales) <= set(table.columns)
    for row in table.rows:
        if row.retriever is None:
            assert row.why_not
            continue
        assert row.retriever in retrievers()
        for group in table.groups:
            settings = {**row.settings, **row.settings_for.get(group, {})}
            made = System.make(row.system, row.retriever, settings)
            assert settings.items() <= made.settings().items()


@each_new
def test_datasets_of_groups_and_samples_are_there(name: str) -> None:
    table = find_table(name)
    known = set(ir_datasets.registry._registered)
    for dataset_id in table.groups.values():
        base, _, rest = dataset_id.partition("/")
        for row in table.rows:
            for start in (base, f"{base}/sample"):
                assert "/".join(filter(None, [start, rest, row.view])) in known


@pytest.mark.parametrize("name", [*NEW, *REPORTED])
def test_printed_figures_are_such_as_their_measures_can_have(name: str) -> None:
    table = find_table(name)
    for row in table.rows:
        for figures in row.reported.values():
            for column, figure in zip(table.columns, figures, strict=True):
                if math.isnan(figure):
                    assert "ColBERT" in row.system
                elif "rank" in column:
                    assert figure >= 1
                else:
                    assert 0 <= figure <= table.scale_of(column)
            recalls = [f for c, f in zip(table.columns, figures, strict=True) if c.startswith("R@")]
            assert recalls == sorted(recalls)


def test_a_figure_that_a_paper_does_not_print_is_a_dash() -> None:
    """RELiC has no mean rank of ColBERT, which ranks 1,000 candidates (footnote 8)."""
    table = find_table("relic")
    [row] = [row for row in table.rows if row.system == "ColBERT-1-1"]
    assert row.reported["test"][:-1] == [2.9, 5.8, 7.8, 11.0, 21.2, 27.7]
    assert math.isnan(row.reported["test"][-1])
    cells = (
        GroupResult("test", "measured", figures=dict.fromkeys(table.columns, 3.0)),
        GroupResult("val", "no data"),
    )
    found = TableResult(table, (RowResult(row, cells),), False, table.baseline)
    lines = as_tables(found)[0].rows
    assert [line[-2] for line in lines] == [3.0, "-", "-"]
    assert [line[2] for line in lines] == [3.0, "2.9", "+0.1"]
    figures = as_json(found)["rows"][0]["reported"]["test"]
    assert figures["R@1"] == 2.9
    assert figures["mean rank"] is None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('colour = "red"', "colour"),
        ('first = "BM25"', "rerank_depth"),
        ("rerank_depth = 100", "rerank_depth"),
        ('first = "nobody"\nrerank_depth = 100', "nobody"),
        ('people = "three experts"', "it has retriever and people"),
        ('command = "irtoolkit overlap"', "it has retriever and command"),
    ],
)
def test_a_row_with_keys_that_no_row_has_is_refused(tmp_path: Path, line: str, found: str) -> None:
    path = tmp_path / "made.toml"
    path.write_text(
        'title = "t"\nscale = 1.0\nbaseline = "BM25"\ntested = "RR"\n[columns]\nRR = "RR"\n'
        f'[groups]\nval = "relic/val"\n[[row]]\nsystem = "BM25"\nretriever = "bm25"\n{line}\n',
        "utf-8",
    )
    with pytest.raises(InputError, match=found):
        load_table(path)


def test_tables_that_name_each_other_are_refused(tmp_path: Path) -> None:
    """One through two others, as well as itself."""
    text = (FOLDER / "csfcube.toml").read_text("utf-8")
    for name, other in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")):
        (tmp_path / f"{name}.toml").write_text(f'rows_of = "{other}"\n{text}', "utf-8")
    for name in "ad":
        with pytest.raises(InputError, match="names the table itself, or one that names it"):
            load_table(tmp_path / f"{name}.toml")


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, 'rows_of = "csfcube"\n[[row]]\nsystem = []']
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "csfcube.toml").write_bytes((FOLDER / "csfcube.toml").read_bytes())
    (tmp_path / "x.toml").write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        load_table(tmp_path / "x.toml")
    assert caught.value.file == str(tmp_path / "x.toml")
    assert "\n" not in str(caught.value)


def test_a_papers_system_is_found_by_the_dataset() -> None:
    assert find_system("BM25-4-4", {}, "relic/val").retriever.settings()["k1"] == 0.5
    assert find_system("BM25-L+R", {}, "egret/dev").retriever.settings()["form"] == "okapi"
    plot = find_system("BM25", {}, "plotretrieval/val").retriever.settings()
    assert (plot["stem"], plot["k1"], plot["b"]) == ("porter", 0.9, 0.4)


# -- on the samples ---------------------------------------------------------------------------


def shown(name: str) -> list[Row]:
    """The rows that are run on a sample: all, but for an encoder that RELiC's keeps busy a minute."""
    rows = find_table(name).rows
    return [row for row in rows if name != "relic" or not row.system.startswith("MiniLM")]


def sample(name: str) -> list[str]:
    """The arguments that run these rows."""
    return ["--sample", "--systems", *(row.system for row in shown(name))]


def reproduce(irtoolkit: Command, name: str, *args: object) -> tuple[dict[str, Any], str]:
    answer = irtoolkit("reproduce", name, "--format", "json", *args)
    assert answer.status == 0, answer.err
    return json.loads(answer.out), answer.err


# -- on real data -----------------------------------------------------------------------------


def need(real_data: Path, name: str) -> None:
    if not (real_data / name).is_dir():
        pytest.skip(f"{real_data} has no {name}")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "dataset_id"),
    [("relic", "relic/val"), ("quoter", "quoter/en/lower/test"), ("egret", "egret/dev")],
)
def test_the_floor_is_as_its_formula_has_it(real_data: Path, name: str, dataset_id: str) -> None:
    """A gold among N candidates stands at (N + 1) / 2 in the mean, and in the first k with k / N."""
    need(real_data, name)
    dataset, task = Dataset.load(dataset_id), load_task(dataset_id)
    golds: dict[str, list[str]] = {}
    for row in dataset.qrels_iter():
        if row.relevance > 0:
            golds.setdefault(row.query_id, []).append(row.doc_id)
    sizes = {query: len(docs) for query, docs in dataset.pools().items()}
    assert all(len(own) == 1 for own in golds.values())
    seeds = range(5)
    ranks = np.array(
        [
            [found[query][golds[query][0]] for query in golds]
            for seed in seeds
            for found in [
                rank(task, Random(seed=seed), golds, depth=1, progress=False).exact_ranks or {}
            ]
        ]
    )
    n = np.array([sizes[query] for query in golds], float)
    draws = ranks.size
    assert ranks.min() >= 1
    assert (ranks <= n).all()
    error = math.sqrt(((n**2 - 1) / 12).mean() / draws)
    assert abs(ranks.mean() - ((n + 1) / 2).mean()) < 4 * error
    for k in (1, 10, 50, 100, 500):
        chance = np.minimum(1, k / n)
        error = math.sqrt((chance * (1 - chance)).mean() / draws)
        assert abs((ranks <= k).mean() - chance.mean()) <= 4 * error + 1e-12
    assert len({tuple(row) for row in ranks.tolist()}) == len(seeds)

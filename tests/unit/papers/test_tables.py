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
from irtoolkit.retrievers.engine import rank_and_locate
from irtoolkit.retrievers.random import Random
from irtoolkit.retrievers.task import load_task
from irtoolkit.scoring.evaluation import parse_measures

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


def test_there_is_a_table_for_every_benchmark() -> None:
    assert set(tables()) >= {"csfcube", *NEW}
    assert set(tables()) == {path.stem for path in FOLDER.glob("*.toml")}


@pytest.mark.parametrize(
    ("name", "system", "group", "figures"),
    [
        ("relic", "random", "test", [0.0, 0.1, 0.1, 0.2, 1.0, 2.0, 2520.5]),
        ("relic", "BM25-1-1", "test", [1.4, 3.5, 4.6, 6.4, 12.7, 17.2, 1602.2]),
        ("relic", "BM25-4-4", "test", [1.2, 2.7, 4.1, 6.7, 14.6, 19.6, 1435.6]),
        ("relic", "SIM-1-1", "test", [1.3, 3.1, 4.1, 6.0, 13.4, 18.9, 1397.6]),
        ("relic", "DPR-4-4", "test", [1.1, 2.2, 3.2, 5.2, 13.5, 20.4, 1254.7]),
        ("relic", "c-REALM-1-1", "test", [1.6, 3.5, 4.8, 7.1, 15.4, 21.3, 1383.4]),
        ("relic", "dense-RELiC-0-4", "test", [5.4, 10.1, 13.2, 18.1, 32.5, 40.5, 849.4]),
        ("relic", "dense-RELiC-4-0", "test", [7.2, 14.9, 19.4, 26.2, 45.0, 54.0, 529.8]),
        ("relic", "dense-RELiC-4-4", "test", [9.6, 19.8, 25.5, 33.5, 52.9, 61.9, 370.9]),
        ("relic", "dense-RELiC-4-4", "val", [6.72, 14.07, 18.40, 25.78, 45.01, 53.61, 704.6351]),
        ("relic-length", "1-sentence", "test", [9.4, 17.4, 22.1, 29.0, 47.5, 56.5, 456.6]),
        ("relic-length", "5-sentences", "test", [7.0, 17.5, 25.0, 34.4, 54.9, 65.9, 314.9]),
        ("relic-proxy", "random", "test", [33.3]),
        ("relic-proxy", "SIM-4-4", "test", [11.0]),
        ("relic-proxy", "ColBERT-4-4", "test", [18.9]),
        ("relic-proxy", "dense-RELiC-1-0", "test", [67.5]),
        ("relic-proxy", "human", "test", [93.5]),
        ("relic-proxy", "human", "test-errors", [94.0]),
        ("egret", "random", "dev", [0.0, 0.0, 0.01, 0.02, 0.08, 0.15, 33171.0]),
        ("egret", "BM25-L", "dev", [4.6, 9.5, 12.1, 16.2, 25.6, 30.4, 24940.1]),
        ("egret", "BM25-L+R", "dev", [8.7, 16.1, 20.0, 24.8, 38.0, 42.7, 13968.8]),
        ("egret", "DPR-L", "dev", [2.7, 5.2, 7.1, 9.7, 20.3, 27.5, 7796.9]),
        ("egret", "ColBERT-L+R", "dev", [8.9, 16.4, 18.9, 23.3, 36.3, 42.2, 8636.0]),
        ("egret", "SBERT-L+R", "dev", [9.2, 16.3, 21.2, 27.1, 44.2, 51.3, 3216.7]),
        ("egret", "EgRet-Books3-L", "dev", [19.3, 30.4, 36.8, 44.1, 63.1, 69.0, 2427.6]),
        ("egret", "EgRet-Books3-ELI5-L+R", "dev", [36.9, 50.6, 58.2, 64.8, 80.2, 85.8, 188.4]),
        ("quoter", "Transform", "zh", [0.512, 0.519, 2, 271, 576, 45.50, 60.31, 72.83]),
        ("quoter", "BERT-Cls", "lzh", [0.330, 0.345, 8, 135, 377, 21.93, 54.27, 78.75]),
        ("quoter", "Ours", "en", [0.572, 0.580, 1, 123, 433, 50.74, 69.03, 83.84]),
        ("quoter", "Ours-SimTrain", "en", [0.529, 0.532, 2, 467, 1060, 49.31, 58.97, 69.48]),
        ("quoter", "CRM", "en", [0.192, 0.193, 599, 1169, 1408, 16.51, 23.66, 32.78]),
        ("quoter", "CRM", "zh", [0.397, 0.407, 13, 325, 584, 33.60, 49.32, 61.70]),
        ("quoter", "CRM", "lzh", [0.198, 0.203, 166, 548, 811, 14.52, 28.79, 44.51]),
        ("quoter-left", "CRM", "en", [0.154, 0.156, 353, 948, 1297, 11.88, 21.78, 33.66]),
        ("quoter-left", "Transform", "lzh", [0.331, 0.334, 29, 435, 842, 27.76, 42.87, 60.85]),
        ("quoter-left", "BERT-Sim", "zh", [0.364, 0.370, 41, 431, 695, 31.71, 44.28, 56.18]),
        ("quoter-left", "BERT-Cls", "en", [0.265, 0.275, 15, 237, 640, 16.75, 45.37, 71.77]),
        ("quoter-left", "Ours", "en", [0.456, 0.462, 4, 254, 685, 39.62, 56.21, 73.26]),
        ("quoter-left", "Ours", "zh", [0.413, 0.419, 7, 97, 186, 34.64, 53.29, 75.91]),
        ("quoter-left", "Ours", "lzh", [0.409, 0.411, 9, 196, 419, 35.22, 51.47, 70.82]),
        ("quoter-negatives", "Ours-4-negatives", "zh", [0.533, 0.540, 2, 161, 412, 47.48, 63.23, 77.68]),
        ("quoter-negatives", "Ours-39-negatives", "zh", [0.535, 0.543, 2, 132, 357, 47.17, 64.97, 79.43]),
        ("plotretrieval-chinese", "DPR-on-DuReader", "test", [0.031, 0.041, 0.045, 0.031, 0.062, 0.175, 0.041, 0.075, 0.139]),
        ("plotretrieval-chinese", "DPR-on-Chinese-PlotRetrieval", "test", [0.103, 0.152, 0.164, 0.103, 0.247, 0.588, 0.140, 0.169, 0.257]),
        ("plotretrieval-trained", "DPR-on-MSMARCO", "test", [0.080, 0.121, 0.131, 0.080, 0.125, 0.320, 0.095, 0.119, 0.190]),
        ("plotretrieval-trained", "DPR-on-RELiC", "test", [0.083, 0.128, 0.138, 0.083, 0.142, 0.389, 0.102, 0.134, 0.225]),
        ("plotretrieval-trained", "DPR-on-PlotRetrieval", "test", [0.105, 0.155, 0.165, 0.105, 0.174, 0.420, 0.128, 0.163, 0.253]),
        ("plotretrieval", "BM25", "test", [0.063, 0.093, 0.100, 0.063, 0.083, 0.182, 0.077, 0.085, 0.125]),
        ("plotretrieval", "DeepCT", "test", [0.043, 0.085, 0.091, 0.043, 0.089, 0.242, 0.058, 0.082, 0.136]),
        ("plotretrieval", "SPARTA", "test", [0.059, 0.090, 0.098, 0.059, 0.096, 0.253, 0.069, 0.088, 0.143]),
        ("plotretrieval", "Contriever", "test", [0.111, 0.165, 0.175, 0.111, 0.184, 0.416, 0.137, 0.176, 0.262]),
        ("plotretrieval", "ColBERTv2", "test", [0.120, 0.170, 0.179, 0.120, 0.144, 0.290, 0.141, 0.151, 0.211]),
        ("plotretrieval", "Cross-Encoder", "test", [0.123, 0.174, 0.184, 0.123, 0.197, 0.416, 0.150, 0.189, 0.272]),
        ("plotretrieval", "ChatGPT+Contriever", "test", [0.048, 0.077, 0.085, 0.048, 0.088, 0.254, 0.062, 0.083, 0.142]),
        ("plotretrieval", "docT5query", "test", [0.085, 0.124, 0.136, 0.085, 0.130, 0.330, 0.107, 0.129, 0.199]),
    ],
)  # fmt: skip
def test_figures_are_those_that_the_paper_prints(
    name: str, system: str, group: str, figures: list[float]
) -> None:
    [row] = [row for row in find_table(name).rows if row.system == system]
    assert row.reported[group] == figures


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("relic", ["R@1", "R@3", "R@5", "R@10", "R@50", "R@100", "mean rank"]),
        ("egret", ["R@1", "R@3", "R@5", "R@10", "R@50", "R@100", "mean rank"]),
        ("quoter", ["MRR", "NDCG@5", "median rank", "mean rank", "sd of rank", "R@1", "R@10", "R@100"]),
        ("quoter-left", ["MRR", "NDCG@5", "median rank", "mean rank", "sd of rank", "R@1", "R@10", "R@100"]),
        ("plotretrieval-trained", [f"{m}@{k}" for m in ("MRR", "Recall", "N-RODCG") for k in (1, 10, 100)]),
        ("plotretrieval", [f"{m}@{k}" for m in ("MRR", "Recall", "N-RODCG") for k in (1, 10, 100)]),
    ],
)  # fmt: skip
def test_columns_are_those_of_the_paper(name: str, columns: list[str]) -> None:
    table = find_table(name)
    assert list(table.columns) == columns
    assert list(parse_measures(list(table.columns.values()))) == list(table.columns.values())


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


@pytest.mark.parametrize(
    "name", ["plotretrieval", "plotretrieval-trained", "plotretrieval-chinese"]
)
def test_capped_recall_and_rr_are_one_at_one(name: str) -> None:
    """Which is why PlotRetrieval's Recall is taken for the capped one."""
    for row in find_table(name).rows:
        for figures in row.reported.values():
            assert figures[0] == figures[3]


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


def test_a_row_may_rank_again_what_another_one_has_ranked() -> None:
    [row] = [row for row in find_table("plotretrieval").rows if row.system == "Cross-Encoder"]
    assert (row.first, row.rerank_depth) == ("Contriever", 100)
    assert sum(bool(row.first) for table in tables().values() for row in table.rows) == 1


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


def test_each_language_has_its_own_settings(irtoolkit: Command) -> None:
    reproduce(irtoolkit, "quoter", "--sample", "--systems", "CRM")
    for group, name in (("en", "words"), ("zh", "cjk"), ("lzh", "cjk")):
        record = Path(f"runs/quoter-sample.{group}.CRM.run.ir-metadata.yml").read_text("utf-8")
        assert f"analyzer: {name}" in record


# -- on real data -----------------------------------------------------------------------------


def need(real_data: Path, name: str) -> None:
    if not (real_data / name).is_dir():
        pytest.skip(f"{real_data} has no {name}")


def test_the_shipped_sample_is_nobodys_release(irtoolkit: Command) -> None:
    shown = irtoolkit("reproduce", "relic", "--sample", "--systems", "random").out
    assert "the figures check software and mean nothing else" in shown


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
                rank_and_locate(task, Random(seed=seed), golds, depth=1, progress=False).ranks
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

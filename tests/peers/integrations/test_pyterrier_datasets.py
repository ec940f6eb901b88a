"""PyTerrier sees our collections and measures as any others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ir_datasets
import ir_measures
import pandas as pd
import pytest

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.task import load_task
from irtoolkit.runs import Run
from irtoolkit.scoring.evaluation import evaluate, parse_measures

pt = pytest.importorskip("pyterrier", reason="pyterrier is not installed")

NAME = "plotretrieval/sample/val"
MEASURES = ("NRODCG@1", "NRODCG@10", "NRODCG(window=3)@100", "Rank", "nDCGp(p=20)", "RR", "nDCG@10")


@pytest.fixture(scope="module")
def run() -> Run:
    """BM25 for all queries but two, and shallow for another."""
    whole = rank(load_task(NAME), BM25(), progress=False)
    kept = whole.query_ids[2:]
    rows = [
        row for row in whole if row.query_id in kept and (row.query_id != kept[0] or row.score > 5)
    ]
    return Run.from_rows((row.query_id, row.doc_id, row.score) for row in rows)


def frame(run: Run) -> pd.DataFrame:
    rows = [(row.query_id, row.doc_id, row.score) for row in run]
    table = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    table["rank"] = table.groupby("qid").cumcount()
    return table


def topics() -> pd.DataFrame:
    queries = ir_datasets.load(NAME).queries_iter()
    return pd.DataFrame([(q.query_id, q.text) for q in queries], columns=["qid", "query"])


def qrels() -> pd.DataFrame:
    rows = [(r.query_id, r.doc_id, r.relevance) for r in ir_datasets.load(NAME).qrels_iter()]
    return pd.DataFrame(rows, columns=["qid", "docno", "label"])


@pytest.mark.parametrize("name", MEASURES)
def test_one_value_everywhere(run: Run, name: str) -> None:
    """`irtoolkit eval`, ir_measures and pt.Experiment agree; a missing query counts."""
    judgments = Dataset.of(NAME).qrels
    ours = evaluate(run, judgments, parse_measures([name])).figures()[name]
    measure = ir_measures.parse_measure(name)
    theirs = ir_measures.calc_aggregate([measure], ir_datasets.load(NAME).qrels_iter(), run)
    assert theirs[measure] == pytest.approx(ours, abs=1e-12)
    table = pt.Experiment([frame(run)], topics(), qrels(), eval_metrics=[measure], names=["bm25"])
    assert table[str(measure)].item() == pytest.approx(ours, abs=1e-12)


def test_the_command_prints_it(run: Run, tmp_path: Path, irtoolkit: Callable[..., object]) -> None:
    """The figure that the command gives is the one that pt.Experiment gives."""
    path = tmp_path / "bm25.run"
    run.write(path)
    import json

    shown = irtoolkit("eval", NAME, path, "--measures", "NRODCG@10", "--format", "json")
    figure = json.loads(shown.out)[str(path)]["NRODCG@10"]  # type: ignore[attr-defined]
    measure = ir_measures.parse_measure("NRODCG@10")
    table = pt.Experiment([frame(run)], topics(), qrels(), eval_metrics=[measure])
    assert table["NRODCG@10"].item() == pytest.approx(figure, abs=1e-12)


@pytest.mark.parametrize(
    "split", ["plotretrieval/sample/val", "relic/sample/val", "csfcube/sample"]
)
def test_a_dataset_of_ours_is_one_of_theirs(split: str) -> None:
    dataset = pt.get_dataset(f"irds:{split}")
    assert len(dataset.get_qrels()) == sum(1 for _ in ir_datasets.load(split).qrels_iter())
    corpus = dataset.get_corpus_iter(verbose=False)
    first = next(iter(ir_datasets.load(split).docs_iter()))
    assert next(iter(corpus))["docno"] == first.doc_id

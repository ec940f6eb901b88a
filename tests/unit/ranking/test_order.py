"""Datasets, systems and runs that are given in each other's place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import irtoolkit as ir
from irtoolkit.ranking import order
from tests.conftest import Answer

Command = Callable[..., Answer]


DOCS = {"d1": "a captain pays debts", "d2": "two sisters and a coat"}


@pytest.fixture
def data() -> Any:
    return ir.load(
        DOCS, queries={"q1": "debts", "q2": "coat"}, qrels={"q1": {"d1": 1}, "q2": {"d2": 1}}
    )


@pytest.fixture
def run(data: Any) -> Any:
    return ir.retrieve(data, "bm25")


ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "evaluate": lambda data, run: ir.evaluate(run, data),
    "evaluate several": lambda data, run: ir.evaluate(run, data, run.named("other")),
    "compare": lambda data, run: ir.compare(run, run.named("other"), data),
    "retrieve": lambda data, _: ir.retrieve("bm25", data),
    "rerank": lambda data, run: ir.rerank(run, data, "ql"),
    "rerank at the end": lambda data, run: ir.rerank(data, "ql", run),
    "index": lambda data, _: ir.index("bm25", data),
    "index of texts": lambda *_: ir.index("bm25", ["a", "b"]),
}


@pytest.mark.parametrize("order", ORDERS)
def test_what_is_swapped_works(data: Any, run: Any, order: str) -> None:
    assert len(ORDERS[order](data, run)) > 0


def test_the_right_order_stays(data: Any, run: Any) -> None:
    assert ir.evaluate(data, run).figures() == ir.evaluate(run, data).figures()
    assert ir.retrieve("bm25", data) == run


def test_in_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, irtoolkit: Command, run: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    Path("docs.csv").write_text("id,text\nd1,a captain pays debts\nd2,two sisters\n")
    Path("topics.csv").write_text("id,text\nq1,debts\n")
    run.write("a.run")
    swapped = irtoolkit("eval", "a.run", "q.txt")
    assert swapped.out == irtoolkit("eval", "q.txt", "a.run").out
    assert swapped.err == "note: q.txt is taken for the dataset, and a.run for a run\n"
    for words in (
        ("retrieve", "bm25", "docs.csv", "--topics", "topics.csv", "-o", "b.run"),
        ("index", "bm25", "docs.csv", "-o", "ix"),
        ("search", "debts of a captain", "ix"),
        ("rerank", "b.run", "ix", "ql", "--topics", "topics.csv", "-o", "c.run"),
    ):
        assert irtoolkit(*words).status == 0, words
    only = irtoolkit("eval", "a.run", "b.run")
    assert "a.run: a run, and judgments are expected" in only.err


def test_documents_of_an_index(tmp_path: Path, data: Any, run: Any) -> None:
    ir.index(data, "bm25", tmp_path / "ix")
    stored = ir.load(tmp_path / "ix", queries={"q1": "debts", "q2": "coat"})
    assert ir.rerank(stored, run, "ql") == ir.rerank(data, run, "ql")


def test_other_parts_of_a_dataset(data: Any) -> None:
    other = ir.load(
        data, queries={"q9": "coat"}, qrels={"q9": {"d2": 1}}, candidates={"q9": ["d2"]}
    )
    assert (other.query_ids(), other.pools()) == (["q9"], {"q9": ["d2"]})
    assert ir.evaluate(other, ir.retrieve(other, "bm25"), measure="RR").figures()["bm25"] == {
        "RR": 1.0
    }


SCORES = {"query_id": ["q1", "q2"], "doc_id": ["d1", "d2"], "score": [2.0, 1.0]}


@pytest.mark.parametrize("name", ["b.parquet", "b.csv"])
def test_scores_are_no_grades_of_a_run_in_first_place(tmp_path: Path, run: Any, name: str) -> None:
    run.write(tmp_path / "a.run")
    table = pd.DataFrame(SCORES)
    other = tmp_path / name
    table.to_csv(other, index=False) if name.endswith("csv") else table.to_parquet(other)
    with pytest.raises(ir.InputError, match="a run, and judgments are expected"):
        ir.evaluate(tmp_path / "a.run", other)


@pytest.mark.parametrize(
    "names",
    [["query-id", "corpus-id", "score"], ["qid", "docno", "label"], ["q_id", "doc_id", "grade"]],
)
@pytest.mark.parametrize("end", ["csv", "parquet", "tsv"])
def test_grades_are_swapped(tmp_path: Path, run: Any, names: list[str], end: str) -> None:
    run.write(tmp_path / "a.run")
    table = pd.DataFrame([["q1", "d1", 1]], columns=names)
    other = tmp_path / f"b.{end}"
    if end == "parquet":
        table.to_parquet(other)
    else:
        table.to_csv(other, index=False, sep="," if end == "csv" else "\t")
    scores = ir.evaluate(str(tmp_path / "a.run"), str(other), measure="RR")
    assert [list(row.values()) for row in scores.figures().values()] == [[1.0]]


def test_with_qrels_all_files_are_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, irtoolkit: Command, run: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.qrels").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    run.write("a.run")
    run.named("other").write("b.parquet")
    scores = pd.read_parquet("b.parquet")
    scores.drop(columns="rank").to_parquet("b.parquet")
    found = irtoolkit("compare", "a.run", "b.parquet", "--qrels", "q.qrels")
    assert "is taken for" not in found.err
    assert found.out.index("a.run") < found.out.index("b.parquet")


def test_a_dataset_with_the_name_of_a_retriever_stays(
    monkeypatch: pytest.MonkeyPatch, run: Any
) -> None:
    monkeypatch.setattr(order, "is_dataset", lambda given: given == "bm25")
    given = ("bm25", run, "organisation/model")
    assert order.in_reranking_order(*given) == given

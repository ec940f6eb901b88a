"""N-RODCG computed by PyTerrier, whose frames give it what ir_measures does."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.property.measures.test_nrodcg import Case, cases, ordered


@given(cases())
def test_nrodcg_by_pyterrier(case: Case) -> None:
    pt = pytest.importorskip("pyterrier", reason="pyterrier is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    queries = list(case.grades)
    topics = pd.DataFrame({"qid": queries, "query": queries})
    qrels = pd.DataFrame(
        [(q, d, g) for q, docs in case.grades.items() for d, g in docs.items()],
        columns=["qid", "docno", "label"],
    )
    rows = [(q, d, s) for q, docs in case.scores.items() if q in queries for d, s in docs.items()]
    if not rows:
        return  # PyTerrier wants at least one row
    run = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    run = run.merge(topics, on="qid")
    order = [(q, d) for q, docs in case.scores.items() for d in ordered(docs)]
    run["rank"] = [order.index(pair) for pair in zip(run["qid"], run["docno"], strict=True)]
    table = pt.Experiment(
        [pt.Transformer.from_df(run)], topics, qrels, [case.measure()], perquery=True
    )
    found = dict(zip(table["qid"], table["value"], strict=True))
    assert found == pytest.approx(case.expected(), abs=1e-12)

"""Capped recall, against counting."""

from __future__ import annotations

from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.papers.catalogue import find_table
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import evaluate, parse_measures

Judged = dict[str, dict[str, int]]
Scored = dict[str, dict[str, float]]

DOCS = [f"d{i}" for i in range(8)]
GRADES = st.integers(-1, 3)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Judged, Scored]:
    queries = [f"q{i}" for i in range(draw(st.integers(1, 4)))]
    judged = {
        query: draw(st.dictionaries(st.sampled_from(DOCS), GRADES, min_size=1)) for query in queries
    }
    scored = {
        query: draw(st.dictionaries(st.sampled_from(DOCS), st.sampled_from([0.0, 1.0, 2.5, -1.0])))
        for query in [*queries, "stranger"]
    }
    scored["stranger"] = {"d0": 1.0}
    return judged, {query: row for query, row in scored.items() if row}


def values(judged: Judged, scored: Scored, names: str) -> dict[str, dict[str, float]]:
    """Measure to query to value."""
    measures = parse_measures(names)
    qrels = [ir_measures.Qrel(q, d, grade) for q, row in judged.items() for d, grade in row.items()]
    run = [ir_measures.ScoredDoc(q, d, s) for q, row in scored.items() for d, s in row.items()]
    found: dict[str, dict[str, float]] = {name: {} for name in measures}
    for metric in ir_measures.iter_calc(list(measures.values()), qrels, run):
        found[str(metric.measure)][metric.query_id] = metric.value
    return found


def restated(judged: dict[str, int], scored: dict[str, float], k: int, rel: int) -> float:
    order = sorted(scored, key=lambda doc: (scored[doc], doc), reverse=True)[:k]
    relevant = [doc for doc, grade in judged.items() if grade >= rel]
    if not relevant:
        return 0.0
    return len(set(order) & set(relevant)) / min(k, len(relevant))


@given(case=cases(), k=st.integers(1, 10), rel=st.integers(1, 3))
def test_capped_recall_is_counted(case: tuple[Judged, Scored], k: int, rel: int) -> None:
    judged, scored = case
    name = f"RCap@{k}" if rel == 1 else f"RCap(rel={rel})@{k}"
    [found] = values(judged, scored, name).values()
    for query, own in judged.items():
        expected = restated(own, scored.get(query, {}), k, rel)
        assert found.get(query, 0.0) == pytest.approx(expected)
        assert 0 <= expected <= 1
    assert "stranger" not in found


@given(case=cases())
def test_at_one_it_is_precision(case: tuple[Judged, Scored]) -> None:
    found = values(*case, "RCap@1 P@1")
    for query in case[0]:
        row = [found[name].get(query, 0.0) for name in found]
        assert row[0] == row[1]


@given(case=cases(), k=st.integers(1, 10))
def test_where_no_more_than_k_are_relevant_it_is_recall(
    case: tuple[Judged, Scored], k: int
) -> None:
    found = values(*case, f"RCap@{k} R@{k} P@{k}")
    for query, own in case[0].items():
        capped, recall, precision = (found[name].get(query, 0.0) for name in found)
        relevant = sum(grade >= 1 for grade in own.values())
        if relevant <= k:
            assert capped == pytest.approx(recall)
        else:
            assert capped == pytest.approx(precision)
        assert capped >= recall - 1e-12


def test_a_run_on_disk(write: Any) -> None:
    qrels = Qrels.read(write("x.qrels", "q1 0 a 1\nq1 0 b 2\nq1 0 c 0\nq2 0 a 0\nq3 0 a 1\n"))
    run = Run.read(write("x.run", "q1 Q0 c 1 3 t\nq1 Q0 b 2 2 t\nq1 Q0 z 3 1 t\nq2 Q0 a 1 1 t\n"))
    found = evaluate(run, qrels, parse_measures("RCap@1 RCap@2 RCap@3 RCap(rel=2)@2"))
    per_query = {name: found.per_query(name).tolist() for name in found.measures}
    assert list(found.query_ids) == ["q1", "q2", "q3"]
    assert per_query == {
        "RCap@1": [0, 0, 0],
        "RCap@2": [0.5, 0, 0],
        "RCap@3": [0.5, 0, 0],
        "RCap(rel=2)@2": [1, 0, 0],
    }
    assert found.figures()["RCap@2"] == pytest.approx(0.5 / 3)


@pytest.mark.parametrize("name", ["RCap", "RCap@0", "RCap@x", "RCap(p=3)@2"])
def test_a_cut_is_needed(name: str) -> None:
    with pytest.raises(InputError):
        parse_measures(name)


def test_it_is_plotretrievals_recall() -> None:
    """Whose figures cannot be those of plain recall: at 10 they may be below MRR@10."""
    table = find_table("plotretrieval")
    columns = list(table.columns)
    assert [table.columns[f"Recall@{k}"] for k in (1, 10, 100)] == ["RCap@1", "RCap@10", "RCap@100"]
    below = [
        figures[columns.index("Recall@10")] < figures[columns.index("MRR@10")]
        for row in table.rows
        for figures in row.reported.values()
    ]
    assert any(below)

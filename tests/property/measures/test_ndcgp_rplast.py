"""nDCGp and RPlast of any runs, against their definitions restated plainly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.ndcgp import nDCGp
from irtoolkit.measures.rplast import RPlast
from irtoolkit.runs.qrels import Qrels
from irtoolkit.runs.run import Run
from tests.unit.measures.test_ndcgp_rplast import (
    QrelsDict,
    RunDict,
    listed,
    listed_grades,
    per_query,
    plain_ndcgp,
    plain_rplast,
    rows_of,
    score,
)

# Letters on both sides of ASCII and of the surrogates: ids tie in the byte order of UTF-8.
doc_ids = st.text(alphabet="aB7-é\uff5e😀", min_size=1, max_size=3)


query_ids = st.sampled_from(["q1", "q2", "q10", "Ω"])


# Few values, so that many tie; 1 and 1 + 1e-9 tie only in single precision.
score_values = st.sampled_from([-2.5, 0.0, 0.1, 1.0, 1.0 + 1e-9, 1.5, 7e5]) | st.floats(
    -1e6, 1e6, width=32
)


grade_values = st.sampled_from([0, 0, 0, 1, 1, 2, 3, -1, -2, 4, 17])


runs = st.dictionaries(query_ids, st.dictionaries(doc_ids, score_values, max_size=25), max_size=4)


judgments = st.dictionaries(
    query_ids, st.dictionaries(doc_ids, grade_values, min_size=1, max_size=25), min_size=1
)


@st.composite
def overlapping(draw: st.DrawFn) -> tuple[RunDict, QrelsDict]:
    """A run and qrels that share most of their documents."""
    names = draw(st.lists(doc_ids, min_size=1, max_size=30, unique=True))
    pick = st.dictionaries(st.sampled_from(names), score_values, max_size=30)
    judge = st.dictionaries(st.sampled_from(names), grade_values, min_size=1, max_size=30)
    return (
        draw(st.dictionaries(query_ids, pick, max_size=4)),
        draw(st.dictionaries(query_ids, judge, min_size=1)),
    )


any_case = overlapping() | st.tuples(runs, judgments)


@given(any_case, st.integers(1, 100) | st.sampled_from([20, 100]))
@example(({}, {"q1": {"a": 1}}), 20)
@example(({"q2": {"a": 1.0}}, {"q1": {"a": 1}}), 100)
@example(({"q1": {}}, {"q1": {"a": 1}}), 100)
def test_ndcgp_of_the_run_is_its_definition(case: tuple[RunDict, QrelsDict], p: int) -> None:
    run, qrels = case
    expected = {}
    for query in qrels:
        grades = listed_grades(run, qrels, query)
        expected[query] = plain_ndcgp(grades, grades, p)
    assert per_query(nDCGp(p=p), run, qrels) == pytest.approx(expected, abs=1e-12)


@given(any_case, st.integers(1, 100) | st.sampled_from([20, 100]))
@example(({"q1": {"x": 1.0, "y": 2.0}}, {"q1": {"a": 1}}), 100)
def test_ndcgp_of_the_qrels_is_its_definition(case: tuple[RunDict, QrelsDict], p: int) -> None:
    run, qrels = case
    expected = {
        query: plain_ndcgp(listed_grades(run, qrels, query), list(qrels[query].values()), p)
        for query in qrels
    }
    assert per_query(nDCGp(p=p, pool="qrels"), run, qrels) == pytest.approx(expected, abs=1e-12)


@given(any_case, st.integers(-2, 5))
def test_rplast_is_its_definition(case: tuple[RunDict, QrelsDict], rel: int) -> None:
    run, qrels = case
    expected = {q: plain_rplast(listed_grades(run, qrels, q), rel) for q in qrels}
    assert per_query(RPlast(rel=rel), run, qrels) == pytest.approx(expected, abs=1e-12)


@given(judgments, st.randoms(use_true_random=False), st.integers(1, 100))
def test_both_pools_agree_on_a_run_of_exactly_the_judged_documents(
    qrels: QrelsDict, random: Any, p: int
) -> None:
    run = {q: {d: float(random.randrange(4)) for d in docs} for q, docs in qrels.items()}
    assert per_query(nDCGp(p=p), run, qrels) == pytest.approx(
        per_query(nDCGp(p=p, pool="qrels"), run, qrels), abs=1e-15
    )


@given(st.lists(grade_values, min_size=1, max_size=40), st.integers(1, 100))
def test_the_best_order_scores_one(grades: list[int], p: int) -> None:
    best = sorted(grades, reverse=True)
    cut = len(grades) * p // 100
    assert score(nDCGp(p=p), best) == (1.0 if cut and best[0] > 0 else 0.0)
    assert score(RPlast, best) == (1.0 if best[0] >= 2 else 0.0)


@given(st.lists(grade_values, min_size=1, max_size=40), st.integers(1, 100))
def test_values_lie_between_zero_and_one(grades: list[int], p: int) -> None:
    assert 0.0 <= score(nDCGp(p=p), grades) <= 1.0 + 1e-15
    assert 0.0 <= score(RPlast, grades) <= 1.0


@given(any_case)
@example(({}, {"q1": {"a": 1}}))
@example(({"q2": {"b": 1.0}, "q1": {"b": 1.0, "a": 1.0}}, {"q1": {"a": 1}, "q2": {"a": 2}}))
def test_laid_run_is_its_plain_restatement(case: tuple[RunDict, QrelsDict]) -> None:
    run, qrels = case
    judged = JudgedRun.of(Run.of(run), Qrels.of(qrels))
    grades = [listed_grades(run, qrels, q) for q in qrels]
    pools = [list(docs.values()) for docs in qrels.values()]

    assert judged.query_ids.tolist() == list(qrels)
    assert rows_of(judged.grades, judged.offsets) == grades
    assert rows_of(judged.pool_grades, judged.pool_offsets) == pools
    assert judged.counts.tolist() == [len(row) for row in grades]
    assert judged.queries.tolist() == [i for i, row in enumerate(grades) for _ in row]
    assert judged.ranks.tolist() == [rank for row in grades for rank in range(1, len(row) + 1)]
    assert rows_of(judged.ideal, judged.offsets) == [sorted(r, reverse=True) for r in grades]

    queries, ranks, best = judged.pool
    assert queries.tolist() == [i for i, row in enumerate(pools) for _ in row]
    assert ranks.tolist() == [rank for row in pools for rank in range(1, len(row) + 1)]
    assert rows_of(best, judged.pool_offsets) == [sorted(r, reverse=True) for r in pools]

    assert sorted(set(judged.doc_ids)) == sorted(judged.doc_ids)
    assert rows_of(judged.doc_ids[judged.docs], judged.offsets) == [listed(run, q) for q in qrels]
    in_qrels = rows_of(judged.doc_ids[judged.pool_docs], judged.pool_offsets)
    assert in_qrels == [list(docs) for docs in qrels.values()]
    assert judged.pool_queries.tolist() == queries.tolist()

    weights = np.arange(len(judged.grades), dtype=np.float64)
    assert judged.sum(weights).tolist() == [sum(r) for r in rows_of(weights, judged.offsets)]


@given(any_case)
def test_laying_does_not_depend_on_the_order_rows_are_given_in(
    case: tuple[RunDict, QrelsDict],
) -> None:
    run, qrels = case
    backwards = {q: dict(reversed(docs.items())) for q, docs in reversed(run.items())}
    one = JudgedRun.of(Run.of(run), Qrels.of(qrels))
    other = JudgedRun.of(Run.of(backwards), Qrels.of(qrels))
    assert one.offsets.tolist() == other.offsets.tolist()
    assert one.grades.tolist() == other.grades.tolist()

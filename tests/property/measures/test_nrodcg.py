"""N-RODCG and the ranks of relevant documents on any judgments, against plain restatements."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from irtoolkit.measures.rank import MedianRank, Rank, StdRank
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import evaluate, parse_measures
from tests.unit.measures.test_nrodcg import Grades, Scores, measure_of, value


def ordered(scores: dict[str, float]) -> list[str]:
    """trec_eval's order: score descending, then document id descending."""
    return sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)


def place(doc: str) -> tuple[str, float]:
    """The book, and the mean index of the passage's sentences."""
    book, _, where = doc.rpartition(":")
    start, length = map(int, where.split("+"))
    return book, sum(range(start, start + length)) / length


def gain(doc: str, golds: list[str], window: int) -> float:
    book, at = place(doc)
    distances = [abs(at - place(gold)[1]) for gold in golds if place(gold)[0] == book]
    nearest = min(distances, default=math.inf)
    return 1 / (nearest + 1) if nearest < window else 0.0


def rodcg(gains: list[float], k: int | None) -> float:
    return sum(value / math.log2(i + 1) for i, value in enumerate(gains[:k], 1))


def nrodcg(
    scores: dict[str, float], judged: dict[str, int], k: int | None, window: int, rel: int
) -> float:
    golds = [doc for doc, grade in judged.items() if grade >= rel]
    if not golds:
        return 0.0
    reached = [gain(doc, golds, window) for doc in ordered(scores)]
    known = sorted((gain(doc, golds, window) for doc in {*scores, *judged}), reverse=True)
    return rodcg(reached, k) / rodcg(known, k)


@dataclass(frozen=True)
class Case:
    grades: Grades
    scores: Scores
    k: int | None
    window: int
    rel: int

    def expected(self) -> dict[str, float]:
        return {
            query: nrodcg(self.scores.get(query, {}), judged, self.k, self.window, self.rel)
            for query, judged in self.grades.items()
        }

    def measure(self) -> Any:
        return measure_of(self.k, self.window, self.rel)


# Two books in which chunks overlap, and one whose name looks like an id.
DOCS = st.builds(
    lambda book, start, length: f"{book}:{start}+{length}",
    st.sampled_from(["a", "b", "c:1+1"]),
    st.integers(0, 16),
    st.integers(1, 5),
)


FAR_DOCS = DOCS | st.builds(lambda s: f"a:{s}+2", st.integers(0, 10**6))


JUDGED = st.dictionaries(FAR_DOCS, st.integers(-1, 3), min_size=1, max_size=10)


SCORED = st.dictionaries(FAR_DOCS, st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.5]), max_size=12)


QUERIES = ["q1", "q2", "q3", "q4"]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    judged = draw(st.lists(st.sampled_from(QUERIES), min_size=1, unique=True))
    asked = draw(st.lists(st.sampled_from(QUERIES), unique=True))
    grades = {query: draw(JUDGED) for query in judged}
    scores: Scores = {}
    for query in asked:
        row = draw(SCORED)
        # Rows that are judged, too, or near and far would seldom meet.
        known = draw(st.lists(st.sampled_from(sorted(grades.get(query, {"a:0+1": 0})))))
        row |= {doc: draw(st.sampled_from([0.0, 1.0, 3.0])) for doc in known}
        if row:
            scores[query] = row
    k = draw(st.none() | st.integers(1, 15))
    return Case(grades, scores, k, draw(st.integers(1, 7)), draw(st.integers(1, 3)))


@given(cases())
@example(Case({"q1": {"a:3+1": 1}}, {}, None, 5, 1))
@example(Case({"q1": {"a:3+1": 1}, "q2": {"a:9+1": 1}}, {"q1": {"a:9+1": 1.0}}, 3, 5, 1))
def test_nrodcg_is_its_definition(case: Case) -> None:
    run = Run.of(case.scores)
    name = repr(case.measure())
    evaluation = evaluate(run, Qrels.of(case.grades), parse_measures([name]))
    expected = case.expected()
    found = dict(zip(evaluation.query_ids, evaluation.per_query(name).tolist(), strict=True))
    assert found == pytest.approx(expected, abs=1e-12)
    mean = sum(expected.values()) / len(expected)
    assert evaluation.figures() == {name: pytest.approx(mean, abs=1e-12)}


@given(cases())
def test_nrodcg_by_ir_measures(case: Case) -> None:
    expected = case.expected()
    assert value(case.measure(), case.grades, case.scores) == pytest.approx(expected, abs=1e-12)
    total = ir_measures.calc_aggregate([case.measure()], case.grades, case.scores)
    mean = sum(expected.values()) / len(expected)
    assert total[case.measure()] == pytest.approx(mean, abs=1e-12)


def first_rank(scores: dict[str, float], judged: dict[str, int], rel: int) -> float:
    ranks = [i for i, doc in enumerate(ordered(scores), 1) if judged.get(doc, 0) >= rel]
    return min(ranks, default=math.inf)


def spread(values: list[float]) -> float:
    return float(np.std(values)) if all(map(math.isfinite, values)) else math.inf


AGGREGATES: list[tuple[Any, Callable[[list[float]], float]]] = [
    (Rank, lambda values: sum(values) / len(values)),
    (MedianRank, lambda values: float(np.median(values))),
    (StdRank, spread),
]


BY_AGGREGATE = pytest.mark.parametrize(
    ("measure", "whole"), AGGREGATES, ids=["Rank", "MedianRank", "StdRank"]
)


@BY_AGGREGATE
@settings(max_examples=50)
@given(case=cases())
def test_ranks_are_where_the_first_relevant_stands(
    measure: Any, whole: Callable[[list[float]], float], case: Case
) -> None:
    chosen = measure(rel=case.rel)
    expected = {
        query: first_rank(case.scores.get(query, {}), judged, case.rel)
        for query, judged in case.grades.items()
    }
    assert value(chosen, case.grades, case.scores) == expected
    total = whole(list(expected.values()))
    name = repr(chosen)
    evaluation = evaluate(Run.of(case.scores), Qrels.of(case.grades), parse_measures([name]))
    assert evaluation.per_query(name).tolist() == list(expected.values())
    assert evaluation.figures()[name] == pytest.approx(total)
    found = ir_measures.calc_aggregate([chosen], case.grades, case.scores)[chosen]
    assert found == pytest.approx(total)


@BY_AGGREGATE
@settings(max_examples=50)
@given(ranks=st.lists(st.integers(1, 6), min_size=1, max_size=9))
def test_aggregates_of_known_ranks(
    measure: Any, whole: Callable[[list[float]], float], ranks: list[int]
) -> None:
    grades = {f"q{i}": {f"d{rank}": 1} for i, rank in enumerate(ranks)}
    scores = {query: {f"d{r}": -float(r) for r in range(1, 7)} for query in grades}
    found = ir_measures.calc_aggregate([measure], grades, scores)[measure]
    assert math.isfinite(found)
    assert found == pytest.approx(whole([float(rank) for rank in ranks]))

"""N-RODCG and the ranks of the gold, against plain restatements of their definitions."""

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
from ir_measures import parse_measure

from irtoolkit.base.errors import InputError
from irtoolkit.measures.nrodcg import NRODCG
from irtoolkit.measures.rank import MedianRank, Rank, StdRank
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import evaluate, parse_measures

Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]


# ---- the definition, restated slowly -------------------------------------------------------------


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


def value(measure: Any, grades: Grades, scores: Scores) -> dict[str, float]:
    """ir_measures' value for each query; it takes a run without rows for none at all."""
    result = ir_measures.iter_calc([measure], grades, scores)
    return {metric.query_id: metric.value for metric in result}


def measure_of(k: int | None, window: int, rel: int) -> Any:
    measure = NRODCG(window=window, rel=rel)
    return measure if k is None else measure @ k


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


# ---- by hand -------------------------------------------------------------------------------------

L2 = math.log2(3)  # the discount of the second rank


@pytest.mark.parametrize(
    ("judged", "ranking", "measure", "expected"),
    [
        # The gold itself, then its neighbour one sentence on: gains 1 and 1/2.
        ({"b:10+1": 1}, ["b:10+1", "b:11+1"], "NRODCG@2", 1.0),
        ({"b:10+1": 1}, ["b:11+1", "b:10+1"], "NRODCG@2", (0.5 + 1 / L2) / (1 + 0.5 / L2)),
        ({"b:10+1": 1}, ["b:11+1", "b:10+1"], "NRODCG@1", 0.5),
        # A chunk of three about the gold: middles 11 and 11, so distance 0.
        ({"b:11+1": 1}, ["b:10+3"], "NRODCG@1", 1.0),
        # Middles 10.5 and 12: half sentences count.
        ({"b:10+2": 1}, ["b:12+1"], "NRODCG@1", 1 / 2.5),
        # 4.5 away is inside the window of 5, 5 away is not; 2 is outside a window of 2.
        ({"b:10+2": 1}, ["b:15+1"], "NRODCG@1", 1 / 5.5),
        ({"b:10+1": 1}, ["b:15+1"], "NRODCG@1", 0.0),
        ({"b:10+1": 1}, ["b:12+1"], "NRODCG(window=2)@1", 0.0),
        ({"b:10+1": 1}, ["b:12+1"], "NRODCG(window=3)@1", 1 / 3),
        # Elsewhere gains nothing, whatever its number.
        ({"b:10+1": 1}, ["c:10+1"], "NRODCG@1", 0.0),
        ({"b:10+1": 1}, ["b:1:10+1"], "NRODCG@1", 0.0),
        # The nearer of two golds counts: 10 and 16 are 2 and 4 from 12.
        ({"b:10+1": 1, "b:16+1": 1}, ["b:12+1"], "NRODCG@1", 1 / 3),
        # Golds below rel do not count.
        ({"b:10+1": 2, "b:16+1": 1}, ["b:16+1"], "NRODCG(rel=2)@1", 0.0),
        ({"b:10+1": 2, "b:13+1": 1}, ["b:13+1"], "NRODCG(rel=2)@1", 1 / 4),
        # A chunk that is judged at grade 0 gains by its place, and stands in the ideal.
        ({"b:10+1": 1, "b:11+1": 0}, ["b:11+1"], "NRODCG@1", 0.5),
        ({"b:10+1": 1, "b:11+1": 0}, ["b:10+1"], "NRODCG@2", 1 / (1 + 0.5 / L2)),
        ({"b:10+1": 1, "b:11+1": 0}, ["b:10+1"], "NRODCG", 1 / (1 + 0.5 / L2)),
        # Not known to qrels or run, it stands in no ideal.
        ({"b:10+1": 1}, ["b:10+1"], "NRODCG@2", 1.0),
        ({"b:10+1": 1}, ["b:10+1"], "NRODCG", 1.0),
        ({"b:10+1": 0}, ["b:10+1"], "NRODCG", 0.0),
        ({"b:10+1": -1}, ["b:10+1"], "NRODCG", 0.0),
    ],
)  # fmt: skip
def test_nrodcg_by_hand(
    judged: dict[str, int], ranking: list[str], measure: str, expected: float
) -> None:
    scores = {"q": {doc: float(-i) for i, doc in enumerate(ranking)}}
    assert value(parse_measure(measure), {"q": judged}, scores) == {"q": pytest.approx(expected)}


def test_ties_fall_by_document_id_descending() -> None:
    scores = {"q": {"b:10+1": 1.0, "b:9+1": 1.0}}  # "b:9+1" is the greater text
    assert value(NRODCG @ 1, {"q": {"b:10+1": 1}}, scores) == {"q": 0.5}
    assert value(NRODCG @ 1, {"q": {"b:9+1": 1}}, scores) == {"q": 1.0}


def test_the_ideal_is_the_same_at_any_depth_where_the_neighbours_are_judged() -> None:
    """Gains of ranks cannot be fewer than those of a deeper run: DCG grows, its ideal stays."""
    judged = {f"b:{s}+1": int(s == 20) for s in range(16, 25)}
    docs = ["b:3+1", "b:22+1", "b:20+1", "b:18+1", "b:50+1"]
    ideal = 1 + sum(
        g / math.log2(i + 1)
        for i, g in enumerate([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 4, 1 / 4, 1 / 5, 1 / 5], 2)
    )
    gains = [0.0, 1 / 3, 1.0, 1 / 3, 0.0]
    for depth in range(1, 6):
        scores = {"q": {doc: -float(i) for i, doc in enumerate(docs[:depth])}}
        expected = sum(g / math.log2(i + 1) for i, g in enumerate(gains[:depth], 1)) / ideal
        assert value(NRODCG, {"q": judged}, scores) == {"q": pytest.approx(expected)}


def test_queries_that_are_not_judged_do_not_count_and_missing_ones_are_zero() -> None:
    grades = {"q1": {"b:1+1": 1}, "q2": {"b:1+1": 1}}
    scores = {"q1": {"b:1+1": 1.0}, "q9": {"b:1+1": 1.0}}
    assert value(NRODCG @ 5, grades, scores) == {"q1": 1.0, "q2": 0.0}
    assert ir_measures.calc_aggregate([NRODCG @ 5], grades, scores)[NRODCG @ 5] == 0.5


@pytest.mark.parametrize(
    ("text", "k", "window", "rel", "shown"),
    [
        ("NRODCG", None, 5, 1, "NRODCG"),
        ("NRODCG@10", 10, 5, 1, "NRODCG@10"),
        ("NRODCG(window=5,rel=1)@10", 10, 5, 1, "NRODCG@10"),
        ("NRODCG(window=3)@1", 1, 3, 1, "NRODCG(window=3)@1"),
        ("NRODCG(rel=2)", None, 5, 2, "NRODCG(rel=2)"),
        ("NRODCG(rel=2, window=7)@100", 100, 7, 2, "NRODCG(window=7,rel=2)@100"),
    ],
)
def test_names(text: str, k: int | None, window: int, rel: int, shown: str) -> None:
    measure = parse_measures([text])[text]
    assert measure == parse_measure(text) == measure_of(k, window, rel)
    assert repr(measure) == shown
    assert (measure["window"], measure["rel"]) == (window, rel)
    assert measure.params.get("cutoff") == k
    assert parse_measure(repr(measure)) == measure


@pytest.mark.parametrize("text", ["NRODCG@0", "NRODCG@-1", "NRODCG(windows=5)", "NRODCG(rel=a)@5"])
def test_names_that_are_none(text: str) -> None:
    with pytest.raises(InputError):
        parse_measures([text])


@pytest.mark.parametrize(("where", "doc"), [("run", "d7"), ("qrels", "d7"), ("run", "b:1+0")])
def test_an_id_without_a_position(where: str, doc: str) -> None:
    grades, scores = {"q": {"b:1+1": 1}}, {"q": {"b:1+1": 1.0}}
    if where == "run":
        scores["q"][doc] = 0.5
    else:
        grades["q"][doc] = 0
    with pytest.raises(InputError) as caught:
        evaluate(Run.of(scores), Qrels.of(grades), parse_measures("NRODCG@5"))
    assert caught.value.found == f"document id {doc!r} has no position in a book"
    assert "emma:120+3" in str(caught.value.remedy)
    with pytest.raises(InputError, match="has no position in a book"):
        value(NRODCG @ 5, grades, scores)


# ---- ranks ---------------------------------------------------------------------------------------


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


def test_ranks_by_hand() -> None:
    grades = {
        "q1": {"a": 1, "b": 2},
        "q2": {"a": 1},
        "q3": {"x": 1},  # not in the run
        "q4": {"a": 1},  # a query that is not in the run
        "q5": {"a": 0},  # nothing relevant
    }
    run = {query: {"c": 3.0, "a": 2.0, "b": 2.0} for query in ("q1", "q2", "q3", "q5")}
    inf = math.inf
    assert value(Rank, grades, run) == {"q1": 2, "q2": 3, "q3": inf, "q4": inf, "q5": inf}
    assert value(Rank(rel=2), grades, run)["q1"] == 2
    assert value(Rank(rel=3), grades, run)["q1"] == inf
    first = {query: grades[query] for query in ("q1", "q2")}
    figures = ir_measures.calc_aggregate([Rank, MedianRank, StdRank], first, run)
    assert figures == {Rank: 2.5, MedianRank: 2.5, StdRank: 0.5}


@pytest.mark.parametrize(
    ("finite", "missing", "median"),
    [([1], 1, math.inf), ([1, 2], 1, 2.0), ([2, 1, 3], 1, 2.5), ([], 2, math.inf)],
)
def test_a_query_that_is_missing_is_infinitely_far(
    finite: list[int], missing: int, median: float
) -> None:
    grades = {f"q{i}": {"gold": 1} for i in range(len(finite) + missing)}
    scores = {
        f"q{i}": {"gold": 0.0} | {f"d{n}": 1.0 for n in range(rank - 1)}
        for i, rank in enumerate(finite)
    }
    evaluation = evaluate(
        Run.of(scores), Qrels.of(grades), parse_measures("Rank MedianRank StdRank")
    )
    assert evaluation.figures() == {"Rank": math.inf, "MedianRank": median, "StdRank": math.inf}


@pytest.mark.parametrize("text", ["Rank", "MedianRank", "StdRank", "Rank(rel=2)"])
def test_rank_names(text: str) -> None:
    measure = parse_measures([text])[text]
    assert repr(measure) == text
    assert parse_measure(text) == measure


def test_folds_are_averaged_after_their_own_aggregates() -> None:
    """Median 2 of (1, 2, 9) and median 5 of (5): their mean is 3.5."""
    ranks = {"q1": 1, "q2": 2, "q3": 9, "q4": 5}
    grades = {query: {f"d{rank}": 1} for query, rank in ranks.items()}
    scores = {query: {f"d{r}": -float(r) for r in range(1, 10)} for query in ranks}
    found = evaluate(
        Run.of(scores), Qrels.of(grades), parse_measures("MedianRank"), [["q1", "q2", "q3"], ["q4"]]
    )
    assert found.figures() == {"MedianRank": 3.5}

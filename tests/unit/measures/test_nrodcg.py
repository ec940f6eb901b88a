"""N-RODCG and the ranks of the gold, against plain restatements of their definitions."""

from __future__ import annotations

import math
from typing import Any

import ir_measures
import pytest
from ir_measures import parse_measure

from irtoolkit.base.errors import InputError
from irtoolkit.measures.nrodcg import NRODCG
from irtoolkit.measures.rank import MedianRank, Rank, StdRank
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import evaluate, parse_measures

Grades = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]


# ---- the definition, restated slowly -------------------------------------------------------------


def value(measure: Any, grades: Grades, scores: Scores) -> dict[str, float]:
    """ir_measures' value for each query; it takes a run without rows for none at all."""
    result = ir_measures.iter_calc([measure], grades, scores)
    return {metric.query_id: metric.value for metric in result}


def measure_of(k: int | None, window: int, rel: int) -> Any:
    measure = NRODCG(window=window, rel=rel)
    return measure if k is None else measure @ k


# ---- by hand -------------------------------------------------------------------------------------

L2 = math.log2(3)  # the discount of the second rank


@pytest.mark.parametrize(
    ("judged", "ranking", "measure", "expected"),
    [
        # The gold itself, then its neighbour one sentence on: gains 1 and 1/2.
        ({"b:10+1": 1}, ["b:10+1", "b:11+1"], "NRODCG@2", 1.0),
        ({"b:10+1": 1}, ["b:11+1", "b:10+1"], "NRODCG@1", 0.5),
        # A chunk of three about the gold: middles 11 and 11, so distance 0.
        ({"b:11+1": 1}, ["b:10+3"], "NRODCG@1", 1.0),
        # Middles 10.5 and 12: half sentences count.
        # 4.5 away is inside the window of 5, 5 away is not; 2 is outside a window of 2.
        ({"b:10+2": 1}, ["b:15+1"], "NRODCG@1", 1 / 5.5),
        ({"b:10+1": 1}, ["b:12+1"], "NRODCG(window=2)@1", 0.0),
        ({"b:10+1": 1}, ["b:12+1"], "NRODCG(window=3)@1", 1 / 3),
        # Elsewhere gains nothing, whatever its number.
        ({"b:10+1": 1}, ["b:1:10+1"], "NRODCG@1", 0.0),
        # The end of a book is not near the beginning of the next.
        ({"b:30+1": 1}, ["c:0+1", "b:30+1"], "NRODCG@2", 1 / L2),
        # The nearer of two golds counts: 10 and 16 are 2 and 4 from 12.
        # Golds below rel do not count.
        ({"b:10+1": 2, "b:16+1": 1}, ["b:16+1"], "NRODCG(rel=2)@1", 0.0),
        ({"b:10+1": 2, "b:13+1": 1}, ["b:13+1"], "NRODCG(rel=2)@1", 1 / 4),
        # A chunk that is judged at grade 0 gains by its place, and stands in the ideal.
        ({"b:10+1": 1, "b:11+1": 0}, ["b:10+1"], "NRODCG@2", 1 / (1 + 0.5 / L2)),
        # Not known to qrels or run, it stands in no ideal.
        ({"b:10+1": 1}, ["b:10+1"], "NRODCG@2", 1.0),
        ({"b:10+1": 1}, ["b:10+1"], "NRODCG", 1.0),
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


def test_folds_are_averaged_after_their_own_aggregates() -> None:
    """Median 2 of (1, 2, 9) and median 5 of (5, 5): their mean is 3.5, and the median of all is 5."""
    ranks = {"q1": 1, "q2": 2, "q3": 9, "q4": 5, "q5": 5}
    grades = {query: {f"d{rank}": 1} for query, rank in ranks.items()}
    scores = {query: {f"d{r}": -float(r) for r in range(1, 10)} for query in ranks}
    found = evaluate(
        Run.of(scores),
        Qrels.of(grades),
        parse_measures("MedianRank"),
        [["q1", "q2", "q3"], ["q4", "q5"]],
    )
    assert found.figures() == {"MedianRank": 3.5}

"""Fusion of any runs, against its definitions in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from irtoolkit.ranking import fusion
from irtoolkit.ranking.fusion import fuse
from irtoolkit.ranking.fusion_methods import (
    CombMNZ,
    CombSUM,
    Method,
    ReciprocalRank,
    Weighted,
)
from irtoolkit.runs import Run
from tests.unit.ranking.test_fusion import NORMALISATIONS

Rows = list[tuple[str, str, float]]


def total(values: list[float]) -> float:
    """A sum from left to right; Python's own compensates for rounding."""
    result = 0.0
    for value in values:
        result += value
    return result


def scaled(scores: list[float], how: str) -> list[float]:
    """One query's scores, normalised."""
    if how == "none":
        return scores
    if min(scores) == max(scores):
        return [0.0] * len(scores)
    above = [score - min(scores) for score in scores]
    if how == "minmax":
        return [value / max(above) for value in above]
    if how == "sum":
        return [value / total(above) for value in above]
    off = [value - total(above) / len(above) for value in above]
    deviation = math.sqrt(total([value * value for value in off]) / len(off))
    return [value / deviation for value in off]


def counted(method: Method, rows: Rows, query: str, place: int) -> dict[str, float]:
    """What each document that a run lists for a query counts."""
    mine = [(float(np.float32(score)), doc) for q, doc, score in rows if q == query]
    mine.sort(reverse=True)
    if isinstance(method, ReciprocalRank):
        return {doc: 1 / (method.k + rank) for rank, (_, doc) in enumerate(mine, 1)}
    assert isinstance(method, CombSUM | Weighted)
    weight = method.weights[place] if isinstance(method, Weighted) else 1.0
    values = scaled([score for score, _ in mine], method.normalise) if mine else []
    return {doc: weight * value for (_, doc), value in zip(mine, values, strict=True)}


def restated(runs: list[Rows], method: Method, depth: int | None) -> Rows:
    """The fused run, as its definition reads."""
    result: Rows = []
    for query in dict.fromkeys(row[0] for rows in runs for row in rows):
        lists = [counted(method, rows, query, place) for place, rows in enumerate(runs)]
        fused = {}
        for doc in {doc for listed in lists for doc in listed}:
            terms = [listed.get(doc, 0.0) for listed in lists]
            times = sum(doc in listed for listed in lists) if isinstance(method, CombMNZ) else 1
            fused[doc] = total(sorted(terms)) * times
        above: tuple[np.float32, str] | None = None
        order = sorted(((score, doc) for doc, score in fused.items()), reverse=True)
        for score, doc in order[:depth]:
            single = np.float32(score)
            if above is not None:
                # Among equals a reader puts the later id first.
                step = np.nextafter(above[0], np.float32(-np.inf)) if doc > above[1] else above[0]
                single = min(single, step)
            above = single, doc
            result.append((query, doc, float(single)))
    return result


def run_of(rows: Rows) -> Run:
    """The rows as a run whose documents stand in an order of their own."""
    return Run.from_rows(rows[::-1]) if len(rows) % 2 else Run.from_rows(rows)


def in_order(fused: Run, runs: list[Rows]) -> Rows:
    """The fused rows, queries in the order in which `runs` name them."""
    queries = dict.fromkeys(row[0] for rows in runs for row in rows)
    return [tuple(row) for query in queries for row in fused.ranking(query)]


SCORE = st.integers(-3, 3).map(float) | st.floats(-(2.0**99), 2.0**99, width=32)


NAME = st.sampled_from(["a", "b", "c", "d", "\u00e9", "\U00010000"])


ROWS = st.lists(
    st.tuples(st.sampled_from(["q1", "q2", "q3"]), NAME, SCORE),
    max_size=12,
    unique_by=lambda row: row[:2],
)


RUNS = st.lists(ROWS, min_size=2, max_size=4)


NORMALISE: Any = st.sampled_from(NORMALISATIONS)


WEIGHT = st.sampled_from([0.0, 0.5, 1.0, -1.0, 0.3, 2.5])


@st.composite
def methods(draw: st.DrawFn, count: int) -> Method:
    """Any method, for so many runs."""
    weights = st.lists(WEIGHT, min_size=count, max_size=count).map(tuple)
    return draw(
        st.builds(ReciprocalRank, st.sampled_from([0, 1, 60, 0.5]))
        | st.builds(CombSUM, NORMALISE)
        | st.builds(CombMNZ, NORMALISE)
        | st.builds(Weighted, weights, NORMALISE)
    )


@st.composite
def fusions(draw: st.DrawFn) -> tuple[list[Rows], Method]:
    runs = draw(RUNS)
    return runs, draw(methods(len(runs)))


# One query with one row each, another in one run only, ties, a single row, and equal scores.
CORNERS: list[Rows] = [
    [("q1", "a", -1.0), ("q2", "a", 2.0), ("q2", "b", 2.0), ("q3", "c", 1.0), ("q3", "d", -2.0)],
    [("q1", "b", 5.0), ("q3", "d", 3.0), ("q3", "c", 3.0), ("q3", "a", 3.0)],
    [("q3", "c", 1e-30), ("q3", "b", 2e-30)],
]


@pytest.mark.parametrize("cells", [1, 1 << 21], ids=["blocks", "one block"])
@given(given_fusion=fusions(), depth=st.none() | st.integers(1, 4))
@example((CORNERS, ReciprocalRank()), None)
@example((CORNERS, CombSUM("minmax")), 2)
@example((CORNERS, CombMNZ("zscore")), None)
@example((CORNERS, Weighted((0.5, 0.3, 0.2), "sum")), None)
@example((CORNERS, Weighted((1, -1, 0), "none")), 1)
@example(([[], []], CombSUM()), None)
def test_fusion_is_its_definition(
    monkeypatch: pytest.MonkeyPatch,
    cells: int,
    given_fusion: tuple[list[Rows], Method],
    depth: int | None,
) -> None:
    monkeypatch.setattr(fusion, "_CELLS", cells)
    rows, method = given_fusion
    runs = [run_of(part) for part in rows]
    fused = fuse(runs, method, depth=depth, progress=False)
    assert in_order(fused, rows) == restated(rows, method, depth)
    assert fused.query_ids.tolist() == list(
        dict.fromkeys(query for run in runs for query in run.query_ids)
    )
    assert list(Run.from_rows(fused)) == list(fused), "a reader of the run keeps its order"


@given(RUNS, st.randoms(use_true_random=False), st.data())
def test_the_order_of_the_runs_does_not_matter(rows: list[Rows], random: Any, data: Any) -> None:
    method = data.draw(methods(len(rows)))
    places = list(range(len(rows)))
    random.shuffle(places)
    other = method
    if isinstance(method, Weighted):
        other = Weighted(tuple(method.weights[i] for i in places), method.normalise)
    one = fuse([run_of(part) for part in rows], method, progress=False)
    two = fuse([run_of(rows[i]) for i in places], other, progress=False)
    assert one == two
    assert in_order(one, rows) == in_order(two, rows)

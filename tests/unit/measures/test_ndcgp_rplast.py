"""nDCGp and RPlast: against their definitions restated plainly, and as measures of ir_measures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from statistics import median
from typing import Any, ClassVar

import ir_measures
import numpy as np
import pytest
from ir_measures import ParamInfo
from ir_measures.measures.base import Agg, Measure

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, id_array
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.ndcgp import nDCGp
from irtoolkit.measures.rplast import RPlast
from irtoolkit.measures.traits import Traits, traits
from irtoolkit.runs.qrels import Qrels
from irtoolkit.runs.run import Run
from irtoolkit.scoring.evaluation import evaluate

RunDict = dict[str, dict[str, float]]
QrelsDict = dict[str, dict[str, int]]

# ---------------------------------------------------------------------------------------------
# The definitions, restated without arrays
# ---------------------------------------------------------------------------------------------


def listed(run: RunDict, query: str) -> list[str]:
    """Documents of a query as trec_eval orders them: single precision, then id descending."""
    scored = run.get(query, {})
    return sorted(scored, key=lambda d: (float(np.float32(scored[d])), d.encode()), reverse=True)


def listed_grades(run: RunDict, qrels: QrelsDict, query: str) -> list[int]:
    """Grades in rank order; an unjudged document has grade 0."""
    return [qrels[query].get(doc, 0) for doc in listed(run, query)]


def discount(rank: int) -> float:
    """1, 1, log2(3), log2(4), ..."""
    return 1.0 if rank <= 2 else math.log2(rank)


def plain_dcg(grades: Sequence[int], cut: int) -> float:
    """The grade is the gain; one below zero stands for no rating, and gains nothing."""
    return sum(max(g, 0) / discount(i) for i, g in enumerate(grades[:cut], 1))


def plain_ndcgp(grades: Sequence[int], pool: Sequence[int], p: int) -> float:
    """nDCG at p percent of the pool, whose best order is the ideal."""
    cut = math.floor(Fraction(p, 100) * len(pool))
    best = plain_dcg(sorted(pool, reverse=True), cut)
    return plain_dcg(grades, cut) / best if best > 0 else 0.0


def plain_rplast(grades: Sequence[int], rel: int) -> float:
    """Precision at the rank of the last relevant document."""
    relevant = [grade >= rel for grade in grades]
    while relevant and not relevant[-1]:
        relevant.pop()
    return sum(relevant) / len(relevant) if relevant else 0.0


def per_query(measure: Measure, run: Any, qrels: Any) -> dict[str, float]:
    """Each query's value, by way of ir_measures."""
    return {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}


def ranked(grades: Sequence[int | None]) -> tuple[RunDict, QrelsDict]:
    """A run and qrels of one query whose ranks have these grades; None is unjudged."""
    names = [f"d{i:03}" for i in range(len(grades))]
    run = {"q": {name: float(len(grades) - i) for i, name in enumerate(names)}}
    qrels = {"q": {n: g for n, g in zip(names, grades, strict=True) if g is not None}}
    return run, qrels


def score(measure: Measure, grades: Sequence[int | None]) -> float:
    """The measure of one ranked list."""
    run, qrels = ranked(grades)
    return per_query(measure, run, qrels)["q"]


# ---------------------------------------------------------------------------------------------
# Strategies


# ---------------------------------------------------------------------------------------------
# Worked by hand
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "grades", "expected"),
    [
        # cut 2 of 10: (0 + 3) / (3 + 2)
        (20, [0, 3, 0, 2, 1, 0, 0, 0, 0, 0], 3 / 5),
        # cut 3: (0 + 3 + 0) / (3 + 2 + 1/log2 3)
        (30, [0, 3, 0, 2, 1, 0, 0, 0, 0, 0], 3 / (5 + 0.6309297535714575)),
        # cut 4: 3 + 2/2, the fourth rank being halved
        (40, [0, 3, 0, 2, 1, 0, 0, 0, 0, 0], 4 / (5 + 0.6309297535714575)),
        # cut 5 and 10: 3 + 1 + 1/log2 5
        (50, [0, 3, 0, 2, 1, 0, 0, 0, 0, 0], 4.430676558073393 / 5.630929753571457),
        (100, [0, 3, 0, 2, 1, 0, 0, 0, 0, 0], 4.430676558073393 / 5.630929753571457),
        # 10 percent is the first rank alone
        (10, [2, 3, 0, 2, 1, 0, 0, 0, 0, 0], 2 / 3),
        (10, [0, 3, 0, 2, 1, 0, 0, 0, 0, 0], 0.0),
        # gains are grades, not 2^grade - 1: 1/3 and not 1/7
        (50, [1, 3], 1 / 3),
        # grades above 3 are grades too
        (50, [10, 40], 1 / 4),
    ],
)
def test_ndcgp_by_hand(p: int, grades: list[int], expected: float) -> None:
    assert score(nDCGp(p=p), grades) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("grades", [[0] * 10, [None, *[0] * 9], [-1] * 10, [0, -2] * 5])
@pytest.mark.parametrize("pool", ["run", "qrels"])
def test_ndcgp_without_a_positive_grade_is_zero(grades: list[int | None], pool: str) -> None:
    assert score(nDCGp(pool=pool), grades) == 0.0


def test_ndcgp_pool_qrels_cuts_and_idealises_by_what_is_judged() -> None:
    # Listed: two of the ten judged. Cut 2 of 10, ideal 3 + 2.
    run = {"q": {"d7": 2.0, "d0": 1.0}}
    qrels = {"q": {f"d{i}": {0: 3, 1: 2, 7: 1}.get(i, 0) for i in range(10)}}
    assert per_query(nDCGp(pool="qrels"), run, qrels) == {"q": pytest.approx(4 / 5)}
    # As the official scorer has it, the cut of two listed documents is 0.
    assert per_query(nDCGp, run, qrels) == {"q": 0.0}
    assert per_query(nDCGp(p=50), run, qrels) == {"q": pytest.approx(1 / 3)}


@pytest.mark.parametrize(
    ("rel", "expected"), [(1, 3 / 4), (2, 2 / 4), (3, 1 / 4), (4, 0.0), (0, 1.0)]
)
def test_rplast_by_hand(rel: int, expected: float) -> None:
    assert score(RPlast(rel=rel), [0, 2, 1, 3, 0]) == expected


# ---------------------------------------------------------------------------------------------
# Against the plain restatement


# ---------------------------------------------------------------------------------------------
# The cut
# ---------------------------------------------------------------------------------------------


def probe(sizes: Sequence[int], cuts: Sequence[int]) -> tuple[JudgedRun, list[float]]:
    """Lists that tell a cut from its neighbours, and what nDCGp gives at exactly these cuts.

    The last document inside the cut has grade 1 and the first outside it grade 2: a cut one
    shorter gains nothing, and one longer gains twice as much again.
    """
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    grades = np.zeros(offsets[-1], dtype=np.int64)
    expected = []
    for start, size, cut in zip(offsets, sizes, cuts, strict=False):
        if cut:
            grades[start + cut - 1] = 1
        if cut < size:
            grades[start + cut] = 2
        ideal = (2 if cut < size else 0) + (1 if cut >= 2 or cut == size else 0)
        expected.append(1 / discount(cut) / ideal if cut else 0.0)
    names = id_array([str(i) for i in range(len(sizes))])
    none = np.zeros(len(sizes) + 1, dtype=np.int64)
    return JudgedRun(names, offsets, grades, none, grades[:0]), expected


def test_cut_is_the_exact_floor_for_every_percentage() -> None:
    sizes = list(range(1, 131))
    for p in range(1, 101):
        judged, expected = probe(sizes, [math.floor(Fraction(p * n, 100)) for n in sizes])
        np.testing.assert_allclose(nDCGp(p=p).per_query(judged), expected, rtol=0, atol=1e-12)


# ---------------------------------------------------------------------------------------------
# Names, parameters, identity
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "measure", "shown"),
    [
        ("nDCGp", nDCGp, "nDCGp(p=20)"),
        ("nDCGp()", nDCGp, "nDCGp(p=20)"),
        ("nDCGp(p=20)", nDCGp(p=20), "nDCGp(p=20)"),
        ("nDCGp(p = 35)", nDCGp(p=35), "nDCGp(p=35)"),
        ("nDCGp(p=100,pool='qrels')", nDCGp(p=100, pool="qrels"), "nDCGp(p=100,pool='qrels')"),
        ('nDCGp(pool="qrels", p=100)', nDCGp(p=100, pool="qrels"), "nDCGp(p=100,pool='qrels')"),
        ("nDCGp(pool='qrels')", nDCGp(pool="qrels"), "nDCGp(p=20,pool='qrels')"),
        ("nDCGp(pool='run')", nDCGp, "nDCGp(p=20)"),
        ("RPlast", RPlast, "RPlast(rel=2)"),
        ("RPlast(rel=2)", RPlast(rel=2), "RPlast(rel=2)"),
        ("RPlast(rel=1)", RPlast(rel=1), "RPlast(rel=1)"),
    ],
)
def test_parsed_and_shown(text: str, measure: Measure, shown: str) -> None:
    parsed = ir_measures.parse_measure(text)
    assert parsed == measure
    assert hash(parsed) == hash(measure)
    assert str(parsed) == repr(parsed) == shown
    assert ir_measures.parse_measure(shown) == measure


@pytest.mark.parametrize(
    "measure",
    [
        nDCGp(p=0),
        nDCGp(p=-20),
        nDCGp(p="20"),
        nDCGp(pool="corpus"),
        nDCGp @ 20,
        RPlast(rel=1.5),
        RPlast @ 5,
    ],
    ids=str,
)
def test_parameters_it_does_not_take_are_refused(measure: Measure) -> None:
    """By AssertionError, which is how ir_measures itself refuses them."""
    with pytest.raises(AssertionError, match="param"):
        measure.validate_params()
    with pytest.raises(AssertionError, match="param"):
        measure.calc_aggregate({"q": {"d": 1}}, {"q": {"d": 1.0}})
    with pytest.raises(AssertionError, match="param"):
        list(measure.iter_calc({"q": {"d": 1}}, {"q": {"d": 1.0}}))


# ---------------------------------------------------------------------------------------------
# As measures of ir_measures
# ---------------------------------------------------------------------------------------------

# q2 is missing from the run, q4 from the qrels; q3's run is unjudged but for one document.
RUN: RunDict = {
    "q1": {"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0, "e": 1.0},
    "q3": {"a": 5.0, "x": 4.0, "y": 3.0, "z": 2.0, "e": 1.0},
    "q4": {"a": 1.0},
}
QRELS: QrelsDict = {
    "q1": {"a": 1, "b": 3, "c": 0, "d": 2, "e": 0},
    "q2": {"a": 3, "b": 2},
    "q3": {"e": 3, "b": 2},
}


def test_a_grade_may_be_a_fraction() -> None:
    with pytest.raises(InputError, match=r"grade '1' of a for q1 is not a finite number"):
        RPlast.calc_aggregate({"q1": {"a": "1"}}, RUN)
    assert RPlast.calc_aggregate({"q1": {"a": 2.5}}, {"q1": {"b": 2.0, "a": 1.0}}) == 0.5


# ---------------------------------------------------------------------------------------------
# What a measure of ours needs to be
# ---------------------------------------------------------------------------------------------


class _Grades(ColumnarMeasure):
    """Sum of the grades of the first k documents; the median stands for all queries."""

    __name__ = "Grades"
    NAME = __name__
    SUPPORTED_PARAMS: ClassVar[Mapping[str, ParamInfo]] = {
        "cutoff": ParamInfo(dtype=int, required=True),
        "plus": ParamInfo(dtype=int, default=0),
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        kept = judged.ranks <= self["cutoff"]
        return judged.sum((judged.grades * kept).astype(np.float64)) + self["plus"]

    def aggregator(self) -> Agg:
        class Median(Agg):
            def __init__(self) -> None:
                self.values: list[float] = []

            def add(self, value: float) -> None:
                self.values.append(value)

            def result(self) -> float:
                return median(self.values)

        return Median()


Grades = _Grades()


def test_a_measures_own_average_is_used_by_evaluate_too() -> None:
    found = evaluate(
        Run.of(RUN), Qrels.of(QRELS), {"g": Grades @ 2}, folds=[["q1", "q2", "q3"], ["q1"]]
    )
    # Medians of (4, 0, 0) and (4): the mean over folds is of what the measure makes of each fold.
    assert found.per_query("g").tolist() == [4.0, 0.0, 0.0]
    assert found.figures() == {"g": (0.0 + 4.0) / 2}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Rank(rel=2)", Traits(lower_is_better=True, exact_ranks=True)),
        ("MedianRank", Traits(lower_is_better=True, exact_ranks=True)),
        ("StdRank", Traits(lower_is_better=True, exact_ranks=True)),
        ("RCap@10", Traits(exact_ranks=True)),
        ("NRODCG@10", Traits()),
        ("RPlast", Traits(whole_pool=True)),
        ("nDCGp(p=20)", Traits(whole_pool=True)),
        ("nDCGp(p=20,pool='qrels')", Traits()),
        ("nDCG@10", Traits(exact_ranks=True)),
        ("AP", Traits(exact_ranks=True)),
        ("Bpref", Traits()),
        ("SetP", Traits()),
    ],
)
def test_the_traits_of_a_measure(name: str, expected: Traits) -> None:
    found = traits(name)
    assert found == traits(ir_measures.parse_measure(name))
    # Summaries have tests of their own, in tests/unit/scoring/test_compare.py.
    assert replace(found, summary=None) == expected


def test_a_name_without_a_measure_has_no_traits() -> None:
    with pytest.raises(NameError):
        traits("NoSuchMeasure")


# ---------------------------------------------------------------------------------------------
# A run laid against qrels
# ---------------------------------------------------------------------------------------------


def rows_of(array: Any, offsets: Any) -> list[list[Any]]:
    """A flat array cut at its offsets."""
    return [array[a:b].tolist() for a, b in pairwise(offsets)]

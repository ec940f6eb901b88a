"""nDCGp and RPlast: against their definitions restated plainly, and as measures of ir_measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from statistics import median
from typing import Any, ClassVar, NamedTuple

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from ir_measures import AP, P, ParamInfo, nDCG
from ir_measures.measures.base import Agg, Measure

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, id_array
from irtoolkit.measures.base import ColumnarMeasure, ColumnarProvider
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.ndcgp import nDCGp
from irtoolkit.measures.rplast import RPlast
from irtoolkit.measures.traits import Traits, traits
from irtoolkit.runs.qrels import Qrel, Qrels
from irtoolkit.runs.run import Run, ScoredDoc
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
        nDCGp(p=101),
        nDCGp(p=-20),
        nDCGp(p=20.0),
        nDCGp(p="20"),
        nDCGp(p=None),
        nDCGp(pool="corpus"),
        nDCGp(pool=1),
        nDCGp(rel=2),
        nDCGp @ 20,
        RPlast(rel="2"),
        RPlast(rel=1.5),
        RPlast(p=20),
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
# nDCGp: the first of five. q1: 1/3; q3: 0/3. RPlast: q1: b and d in 4; q3: e in 5.
NDCGP = {"q1": 1 / 3, "q2": 0.0, "q3": 0.0}
RPLAST = {"q1": 2 / 4, "q2": 0.0, "q3": 1 / 5}


class PlainDoc(NamedTuple):
    """A row with a field more than is asked for."""

    query_id: str
    doc_id: str
    score: float
    text: str = ""


def run_rows() -> Iterator[ScoredDoc]:
    return (ScoredDoc(q, d, s) for q, docs in RUN.items() for d, s in docs.items())


def qrel_rows() -> Iterator[Qrel]:
    return (Qrel(q, d, g) for q, docs in QRELS.items() for d, g in docs.items())


FORMS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "dict": lambda: (QRELS, RUN),
    "namedtuples": lambda: (list(qrel_rows()), list(run_rows())),
    "one-shot": lambda: (qrel_rows(), run_rows()),
    "of ir_measures": lambda: (
        [ir_measures.Qrel(*row) for row in qrel_rows()],
        [ir_measures.ScoredDoc(*row) for row in run_rows()],
    ),
    "wider": lambda: (qrel_rows(), (PlainDoc(*row) for row in run_rows())),
    "frame": lambda: (pd.DataFrame(qrel_rows()), pd.DataFrame(run_rows())),
    "ours": lambda: (Qrels.of(QRELS), Run.of(RUN)),
    "shuffled": lambda: (
        pd.DataFrame(qrel_rows()).sample(frac=1, random_state=1),
        pd.DataFrame(run_rows()).sample(frac=1, random_state=2),
    ),
    "mixed": lambda: (QRELS, run_rows()),
}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def as_dict(metrics: Any) -> dict[tuple[str, str], float]:
    """{(measure, query): value}, refusing a repetition."""
    rows = [((str(m.measure), m.query_id), m.value) for m in metrics]
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def expected_metrics() -> dict[tuple[str, str], float]:
    """Ours by hand, the built-in ones from pytrec_eval directly."""
    theirs = {
        "AP": (1, "map"),
        "AP(rel=2)": (2, "map"),
        "nDCG@5": (1, "ndcg_cut_5"),
        "P(rel=2)@20": (2, "P_20"),
    }
    expected = {("nDCGp(p=20)", q): v for q, v in NDCGP.items()}
    expected |= {("RPlast(rel=2)", q): v for q, v in RPLAST.items()}
    for name, (rel, key) in theirs.items():
        found = pytrec_eval.RelevanceEvaluator(QRELS, {key}, relevance_level=rel).evaluate(RUN)
        expected |= {(name, q): found.get(q, {key: 0.0})[key] for q in QRELS}
    return expected


MIXED = [nDCGp, AP, RPlast, AP(rel=2), nDCG @ 5, P(rel=2) @ 20]


@forms
def test_one_calc_of_ours_and_built_in_measures(form: Callable[[], tuple[Any, Any]]) -> None:
    qrels, run = form()
    aggregated, metrics = ir_measures.calc(MIXED, qrels, run)
    expected = expected_metrics()
    assert as_dict(metrics) == pytest.approx(expected, abs=1e-12)
    for measure in MIXED:
        mean = sum(v for (name, _), v in expected.items() if name == str(measure)) / len(QRELS)
        assert aggregated[measure] == pytest.approx(mean, abs=1e-12)


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


def test_a_new_measure_is_a_class_and_nothing_else() -> None:
    aggregated, metrics = ir_measures.calc([Grades @ 2, Grades(plus=5) @ 4, AP], QRELS, RUN)
    found = as_dict(metrics)
    assert {q: found["Grades@2", q] for q in QRELS} == {"q1": 4.0, "q2": 0.0, "q3": 0.0}
    assert {q: found["Grades(plus=5)@4", q] for q in QRELS} == {"q1": 11.0, "q2": 5.0, "q3": 5.0}
    assert aggregated[Grades @ 2] == 0.0
    assert aggregated[Grades(plus=5) @ 4] == 5.0


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


def test_a_measure_of_another_package_declares_its_traits() -> None:
    class Ours(ColumnarMeasure):
        TRAITS = Traits(lower_is_better=True)

    class Theirs(Measure):  # type: ignore[misc]
        NAME = "Theirs"
        traits = Traits(exact_ranks=True)

    assert traits(Ours()) == Traits(lower_is_better=True)
    assert traits(Theirs()) == Traits(exact_ranks=True)
    assert traits(Grades) == Traits()


def test_a_name_without_a_measure_has_no_traits() -> None:
    with pytest.raises(NameError):
        traits("NoSuchMeasure")


def test_a_measure_without_its_method_says_so() -> None:
    judged = JudgedRun.of(Run.of(RUN), Qrels.of(QRELS))
    with pytest.raises(NotImplementedError):
        ColumnarMeasure().per_query(judged)


def test_the_provider_takes_ours_and_leaves_the_others() -> None:
    provider = ColumnarProvider()
    assert provider.supports(nDCGp(p=3))
    assert not provider.supports(nDCG @ 3)
    assert provider.is_available()


# ---------------------------------------------------------------------------------------------
# A run laid against qrels
# ---------------------------------------------------------------------------------------------


def rows_of(array: Any, offsets: Any) -> list[list[Any]]:
    """A flat array cut at its offsets."""
    return [array[a:b].tolist() for a, b in pairwise(offsets)]


def test_laying_a_run_whose_tables_hold_more_than_its_rows() -> None:
    """After `head`, ids of queries and documents stand in the tables that no row points to."""
    run = Run.of({"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 1.0, "a": 0.5}}).head(1)
    judged = JudgedRun.of(run, Qrels.of({"q1": {"a": 1, "b": 2}, "q2": {"a": 3}}))
    assert rows_of(judged.grades, judged.offsets) == [[1], [0]]


def test_laying_against_no_judgments_at_all() -> None:
    judged = JudgedRun.of(Run.of({"q1": {"a": 1.0}}), Qrels.from_rows([]))
    assert len(judged.query_ids) == len(judged.grades) == len(judged.ideal) == 0
    assert nDCGp.per_query(judged).tolist() == RPlast.per_query(judged).tolist() == []

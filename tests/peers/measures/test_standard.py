"""The usual measures: against pytrec_eval, against ir_measures' providers, and restated plainly.

Two of trec_eval's faults are kept out of the comparisons, and stand in tests of their own: of a
query whose grades are all negative it reads memory that is not its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ir_measures import (
    AP,
    RBP,
    RR,
    Bpref,
    IPrec,
    Judged,
    NumQ,
    NumRel,
    NumRet,
    P,
    R,
    Rprec,
    SetP,
    SetR,
    SetRelP,
    Success,
    nDCG,
)
from ir_measures.measures import Measure

from irtoolkit.base.errors import InputError
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.ndcgp import nDCGp
from irtoolkit.measures.standard import STANDARD, vectorised
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import evaluate, parse_measures
from tests.judged_runs import (
    MISSING,
    RELS,
    TIED,
    QrelsDict,
    RunDict,
    any_judgments,
    judgments,
    runs,
)
from tests.plain_measures import in_order, share
from tests.plain_measures import values as plain_values

CUTS = (1, 2, 3, 5, 10, 1000)
RECALLS = (0.0, 0.1, 0.3, 0.5, 0.77, 1.0)


def judged(run: RunDict, qrels: QrelsDict) -> JudgedRun:
    return JudgedRun.of(Run.of(run), Qrels.of(qrels))


def values(measure: Measure, joined: JudgedRun, count: int) -> list[float]:
    """Ours of so many queries, which must be there."""
    compute = vectorised(measure)
    assert compute is not None, measure
    found = compute(joined)
    assert found.dtype == np.float64
    assert found.shape == (count,)
    return found.tolist()


def ours(measures: Sequence[Measure], run: RunDict, qrels: QrelsDict) -> dict[Measure, list[float]]:
    joined = judged(run, qrels)
    return {measure: values(measure, joined, len(qrels)) for measure in measures}


def separated(run: RunDict) -> RunDict:
    """The run in our order and without ties, which the providers order in ways of their own."""
    return {
        query: {row.doc_id: -float(i) for i, row in enumerate(Run.of(run).ranking(query))}
        for query, docs in run.items()
        if docs
    }


# ---------------------------------------------------------------------------------------------
# Beside pytrec_eval
# ---------------------------------------------------------------------------------------------

# Our measures by pytrec_eval's names; its relevance level is set apart.
TREC_EVAL: dict[str, Callable[[int], Measure]] = {
    "map": lambda rel: AP(rel=rel),
    "recip_rank": lambda rel: RR(rel=rel),
    "Rprec": lambda rel: Rprec(rel=rel),
    "bpref": lambda rel: Bpref(rel=rel),
    "set_P": lambda rel: SetP(rel=rel),
    "set_relative_P": lambda rel: SetRelP(rel=rel),
    "set_recall": lambda rel: SetR(rel=rel),
    "num_rel_ret": lambda rel: NumRet(rel=rel),
    "num_ret": lambda rel: NumRet,
    "ndcg": lambda rel: nDCG,
}
for k in CUTS:
    TREC_EVAL |= {
        f"map_cut_{k}": lambda rel, k=k: AP(rel=rel) @ k,
        f"P_{k}": lambda rel, k=k: P(rel=rel) @ k,
        f"recall_{k}": lambda rel, k=k: R(rel=rel) @ k,
        f"success_{k}": lambda rel, k=k: Success(rel=rel) @ k,
        f"ndcg_cut_{k}": lambda rel, k=k: nDCG @ k,
    }
for x in RECALLS:
    TREC_EVAL[f"iprec_at_recall_{x:.2f}"] = lambda rel, x=x: IPrec(rel=rel) @ x


@given(runs, judgments, st.sampled_from(RELS))
@settings(max_examples=100)
@example(*TIED, 1)
@example(*TIED, 2)
@example(*MISSING, 1)
@example({}, {"q1": {"a": 1}}, 1)
@example({"q1": {}}, {"q1": {"a": 1}}, 1)
@example({"q1": {"a": 1.0}}, {"q1": {"a": -1, "b": 0}}, 1)
def test_every_value_is_pytrec_evals(run: RunDict, qrels: QrelsDict, rel: int) -> None:
    """From the scores as they are: ties are broken as it breaks them."""
    scorer = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_EVAL), relevance_level=rel)
    theirs = scorer.evaluate({query: docs for query, docs in run.items() if docs})
    joined = judged(run, qrels)
    for name, make in TREC_EVAL.items():
        expected = [theirs[query][name] if query in theirs else 0.0 for query in qrels]
        found = values(make(rel), joined, len(qrels))
        assert found == pytest.approx(expected, rel=0, abs=1e-12), name


@pytest.mark.parametrize("seed", range(2))
def test_long_runs_are_pytrec_evals_to_the_bit(seed: int) -> None:
    """Sums are taken in its order, so nothing differs, also over a thousand rows."""
    rng = np.random.default_rng(seed)
    docs = [f"d{i}" for i in range(2000)]
    run, qrels = {}, {}
    for query in map(str, range(8)):
        listed = rng.permutation(2000)[:1000]
        scores = rng.integers(50, size=1000).tolist()
        run[query] = {docs[i]: float(s) for i, s in zip(listed, scores, strict=True)}
        qrels[query] = {docs[i]: int(rng.integers(-1, 4)) for i in rng.permutation(2000)[:300]}
    joined = judged(run, qrels)
    for rel in RELS:
        scorer = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_EVAL), relevance_level=rel)
        theirs = scorer.evaluate(run)
        for name, make in TREC_EVAL.items():
            assert values(make(rel), joined, len(qrels)) == [theirs[q][name] for q in qrels], name


@given(runs, judgments, st.sampled_from(RELS), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_rank_biased_precision_is_cwl_evals(
    run: RunDict, qrels: QrelsDict, rel: int, p: float
) -> None:
    """Where it is installed: it is what ir_measures would ask."""
    pytest.importorskip("cwl")
    measure, theirs = RBP(rel=rel, p=p), dict.fromkeys(qrels, 0.0)
    for metric in ir_measures.cwl_eval.iter_calc([measure], qrels, separated(run)):
        theirs[metric.query_id] = metric.value
    found = values(measure, judged(run, qrels), len(qrels))
    assert found == pytest.approx([theirs[q] for q in qrels], rel=0, abs=1e-12)


# ---------------------------------------------------------------------------------------------
# Restated without arrays, for every grade and also where trec_eval fails
# ---------------------------------------------------------------------------------------------

# What trec_eval does not have, of the grades in rank order.
Plain = Callable[[list[int | None]], float]


def plain_exponential(grades: list[int | None], pool: list[int]) -> float:
    """nDCG(dcg='exp-log2')@3."""

    def dcg(shown: Sequence[int | None]) -> float:
        return sum(
            (2.0**grade - 1) / math.log2(rank + 1)
            for rank, grade in enumerate(shown[:3], 1)
            if grade is not None and grade > 0
        )

    return share(dcg(grades), dcg(sorted(pool, reverse=True)))


def rbp(grades: list[int | None], rel: int, p: float) -> float:
    return (1 - p) * sum(p**i for i, grade in enumerate(grades) if (grade or 0) >= rel)


RESTATED: dict[Measure, Plain] = {
    Judged: lambda grades: share(sum(g is not None for g in grades), len(grades)),
    Judged @ 3: lambda grades: share(sum(g is not None for g in grades[:3]), min(3, len(grades))),
    NumQ: lambda grades: 1.0,
    RBP(rel=2): lambda grades: rbp(grades, 2, 0.8),
    RBP(rel=1, p=0.5): lambda grades: rbp(grades, 1, 0.5),
    RR(rel=2) @ 3: lambda grades: next(
        (1 / rank for rank, grade in enumerate(grades[:3], 1) if (grade or 0) >= 2), 0.0
    ),
}


def test_every_measure_of_the_table_is_restated() -> None:
    names = {make(1).NAME for make in TREC_EVAL.values()} | {one.NAME for one in RESTATED}
    assert names | {NumRel.NAME} == set(STANDARD)


@given(runs, any_judgments, st.sampled_from(RELS))
@settings(max_examples=100)
@example(*TIED, 1)
@example(*MISSING, 2)
@example({"q1": {"a": 1.0, "b": 0.5}}, {"q1": {"a": -3, "b": -1}, "q2": {"a": -2}}, 1)
def test_every_value_is_its_plain_restatement(run: RunDict, qrels: QrelsDict, rel: int) -> None:
    joined = judged(run, qrels)
    rankings = [in_order(run.get(query, {})) for query in qrels]
    pools = list(qrels.values())
    plain = [plain_values(docs, pool, rel) for docs, pool in zip(rankings, pools, strict=True)]
    grades = [[pool.get(doc) for doc in docs] for docs, pool in zip(rankings, pools, strict=True)]
    expected = {
        TREC_EVAL[name](rel): [row[name] for row in plain]
        for name in TREC_EVAL.keys() & plain[0].keys()
    }
    expected |= {measure: [value(row) for row in grades] for measure, value in RESTATED.items()}
    expected[NumRel] = [sum(grade >= 1 for grade in pool.values()) for pool in pools]
    expected[nDCG(dcg="exp-log2") @ 3] = [
        plain_exponential(row, list(pool.values())) for row, pool in zip(grades, pools, strict=True)
    ]
    for measure, wanted in expected.items():
        found = values(measure, joined, len(qrels))
        assert found == pytest.approx(wanted, rel=0, abs=1e-12), measure


def test_by_hand() -> None:
    """Grades in rank order 0, 2, unjudged, 1, -1, 3; a document of grade 2 is not listed."""
    run = {"q": {name: -float(i) for i, name in enumerate("abcdef")}}
    qrels = {"q": {"a": 0, "b": 2, "d": 1, "e": -1, "f": 3, "z": 2}}
    found = {
        str(m): v[0] for m, v in ours([AP, Bpref(rel=2), nDCG @ 2, Judged @ 3], run, qrels).items()
    }
    assert found == pytest.approx(
        {
            "AP": (1 / 2 + 2 / 4 + 3 / 6) / 4,
            # a stands above b, a and d above f; R is 3 and N is 2.
            "Bpref(rel=2)": ((1 - 1 / 2) + (1 - 2 / 2)) / 3,
            "nDCG@2": (2 / math.log2(3)) / (3 + 2 / math.log2(3)),
            "Judged@3": 2 / 3,
        }
    )


# ---------------------------------------------------------------------------------------------
# What is computed here, and what is left to the providers
# ---------------------------------------------------------------------------------------------


OURS = """
AP AP@5 AP(rel=2) AP(rel=2)@5 MAP MAP@3 Bpref BPref(rel=3) IPrec@0.1 IPrec(rel=2)@1.0 IPrec@0.123 Judged Judged@10 NumQ NumRel
NumRel(rel=1) NumRel(rel=2) NumRet NumRet(rel=1) P@1 P(rel=2)@20 Precision@3
P(judged_only=False)@5 R@1000 Recall(rel=3)@5 RBP(rel=1) RBP(rel=2,p=0.95) RR RR@10 MRR MRR(rel=2)@10 Rprec RPrec(rel=2) SetP
SetRelP SetP(relative=True,rel=2) SetR SetR(rel=2) Success@1 Success(rel=2)@10 nDCG nDCG@10 NDCG@1
nDCG(dcg='log2') nDCG(dcg='exp-log2')@10
"""
OTHERS = """
AP(judged_only=True) AP(rel=0) Bpref(rel=0) NumRel(rel=0) NumRet(rel=0) P(rel=0)@5
P(judged_only=True)@5 R(judged_only=True)@5 R(rel=0)@5 RBP RBP(p=0.5) RBP(rel=1)@10
RBP(rel=1,p=1.0) RBP(rel=1,p=0.0) RR(judged_only=True) RR(rel=0)@3 Rprec(judged_only=True)
SetP(judged_only=True) SetP(rel=0) SetR(rel=0) SetF SetAP Success(judged_only=True)@1
Success(rel=0)@1 infAP IPrec IPrec@1.5 IPrec(rel=0)@0.1 IPrec(judged_only=True)@0.1 ERR@10 Compat nDCG(judged_only=True)@5 nDCG(gains={1:3})@5
P P@0 alpha_nDCG@10
"""


INVALID = (
    P(cutoff=2.5), P(cutoff="3"), P(cutoff=3, rle=1), AP(rel="1"), AP(rel=-1), nDCG(dcg="ln"),
    P(rel=1), R, nDCGp,
)  # fmt: skip


def test_what_is_vectorised_and_what_is_not() -> None:
    def ours(measure: Measure) -> bool:
        return vectorised(measure) is not None

    assert [name for name in OURS.split() if not ours(ir_measures.parse_measure(name))] == []
    assert [name for name in OTHERS.split() if ours(ir_measures.parse_measure(name))] == []
    assert [measure for measure in INVALID if ours(measure)] == []


def test_a_class_that_only_bears_the_name_is_not_ours() -> None:
    class Mine(type(P)):  # type: ignore[misc]
        """Whatever it computes, it is not trec_eval's P."""

    assert Mine.NAME == "P"
    assert vectorised(Mine(cutoff=3)) is None


RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0}}
QRELS = {"q1": {"b": 1, "c": 2}, "q2": {"b": 1}}


def test_what_is_not_ours_falls_through_to_ir_measures() -> None:
    names = ["P(judged_only=True)@2", "P@2", "nDCG(gains={1: 5})", "SetF", "RPlast(rel=2)", "AP"]
    measures = parse_measures(names)
    found = evaluate(Run.of(RUN), Qrels.of(QRELS), measures)
    assert list(found.measures) == names
    seen = 0
    for metric in ir_measures.iter_calc(measures.values(), QRELS, RUN):
        row = list(measures.values()).index(metric.measure)
        value = found.values[row, list(QRELS).index(metric.query_id)]
        assert value == pytest.approx(metric.value, abs=1e-12)
        seen += 1
    assert seen == len(names) * len(QRELS)


def test_ir_measures_is_not_asked_for_what_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise RuntimeError("asked")

    monkeypatch.setattr(ir_measures, "iter_calc", refuse)
    found = evaluate(Run.of(RUN), Qrels.of(QRELS), parse_measures("AP P@2 nDCG@10 RR@10 Judged@2"))
    assert found.per_query("AP").tolist() == [(1 / 2 + 2 / 3) / 2, 0.0]
    with pytest.raises(InputError, match="asked"):
        evaluate(Run.of(RUN), Qrels.of(QRELS), parse_measures("AP SetF"))


# ---------------------------------------------------------------------------------------------
# Grades that trec_eval does not survive
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grades", [{"a": -1}, {"a": -1, "b": -3}, {"a": -2}, {"a": -900}])
def test_a_query_with_negative_grades_only_scores_zero(grades: dict[str, int]) -> None:
    """trec_eval sizes an array by the highest grade: from -2 down it crashes, at -1 it may hang."""
    qrels = Qrels.of({"q1": grades, "q2": {"b": 1}})
    found = evaluate(
        Run.of(RUN), qrels, parse_measures("AP nDCG nDCG@3 P@3 Bpref RR Rprec SetP R@3")
    )
    assert found.values[:, 0].tolist() == [0.0] * 9
    with pytest.raises(InputError, match="query q1 has only negative grades"):
        evaluate(Run.of(RUN), qrels, parse_measures("AP SetF"))


def test_grades_that_a_measure_cannot_take_are_refused() -> None:
    for name, grade in (("nDCG(dcg='exp-log2')", 1001), ("SetF", 10_001), ("SetF", -10_001)):
        qrels = Qrels.of({"q1": {"a": grade, "b": 1}})
        with pytest.raises(InputError, match=r"power of the grade|square"):
            evaluate(Run.of(RUN), qrels, parse_measures(name))


@pytest.mark.parametrize("grade", [1001, 5000, 20_000])
def test_high_grades_give_what_trec_eval_gives(grade: int) -> None:
    judged = {"q1": {"a": grade, "b": 1, "c": 3}}
    rows = Run.of({"q1": {"b": 3.0, "a": 2.0, "c": 1.0}})
    names = {"AP": "map", "nDCG": "ndcg", "RR": "recip_rank"}
    found = evaluate(rows, Qrels.of(judged), parse_measures(list(names)))
    theirs = pytrec_eval.RelevanceEvaluator(judged, {*names.values()}).evaluate(rows.as_dict())
    for name, trec in names.items():
        assert found.figures()[name] == pytest.approx(theirs["q1"][trec], abs=1e-12)


def test_the_highest_grade_has_a_finite_exponential_gain() -> None:
    qrels = Qrels.of({"q1": {"a": 1000, "b": 1000, "c": 1, "d": 1000}})
    found = evaluate(Run.of(RUN), qrels, parse_measures("nDCG(dcg='exp-log2')@2"))
    assert found.values.tolist() == [[1.0]]

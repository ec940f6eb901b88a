"""Evaluation: names of measures, missing queries, and the benchmark's figure."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import ir_measures
import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, id_array
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers.engine import rank
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import Evaluation, evaluate, parse_measures

RunDict = dict[str, dict[str, float]]
QrelsDict = dict[str, dict[str, int]]


def scored(run: RunDict, qrels: QrelsDict, names: str | list[str], **kwargs: Any) -> Evaluation:
    return evaluate(Run.of(run), Qrels.of(qrels), parse_measures(names), **kwargs)


# ---------------------------------------------------------------------------------------------
# Names of measures
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("AP", ["AP"]),
        ("nDCG@10 AP", ["nDCG@10", "AP"]),
        ("  RR \n AP\tP@5  ", ["RR", "AP", "P@5"]),
        ("P(rel=2)@20 R(rel=2)@20", ["P(rel=2)@20", "R(rel=2)@20"]),
        ("P(rel = 2)@20 AP", ["P(rel = 2)@20", "AP"]),
        (
            "nDCGp(p=100, pool='qrels') nDCGp(p=20) RPlast",
            ["nDCGp(p=100, pool='qrels')", "nDCGp(p=20)", "RPlast"],
        ),
        ("nDCG(gains={0: 1, 1: 2})@5 RR", ["nDCG(gains={0: 1, 1: 2})@5", "RR"]),
        ("P(\nrel=2,\tjudged_only=True )@5", ["P(\nrel=2,\tjudged_only=True )@5"]),
        (["nDCG@10", "AP"], ["nDCG@10", "AP"]),
        (("RPlast(rel=2)", "P( rel=2 )@20"), ["RPlast(rel=2)", "P( rel=2 )@20"]),
        ("AP RR AP", ["AP", "RR"]),
        ("MAP AP", ["MAP", "AP"]),
    ],
)
def test_measures_keep_their_order_and_spelling(text: str | list[str], names: list[str]) -> None:
    parsed = parse_measures(text)
    assert list(parsed) == names
    assert parsed == {name: ir_measures.parse_measure(name) for name in names}


# ---------------------------------------------------------------------------------------------
# Per query, beside pytrec_eval
# ---------------------------------------------------------------------------------------------


def test_missing_queries_count_as_zero_and_unjudged_ones_do_not_count() -> None:
    run = {"q1": {"a": 1.0}, "q9": {"a": 1.0}}
    found = scored(run, {"q1": {"a": 2}, "q2": {"a": 2}}, "AP RPlast nDCGp(p=100) P@1")
    assert found.query_ids.tolist() == ["q1", "q2"]
    assert found.values.tolist() == [[1.0, 0.0]] * 4
    assert found.figures() == {"AP": 0.5, "RPlast": 0.5, "nDCGp(p=100)": 0.5, "P@1": 0.5}


@pytest.mark.parametrize(
    "run",
    [Run.from_rows([]), Run.of({"q1": {"a": 1.0}}).head(0), Run.of({"q9": {"a": 1.0}})],
    ids=["empty", "no rows", "other queries"],
)
def test_a_run_without_rows_for_the_judged_queries_scores_zero(run: Run) -> None:
    found = evaluate(run, Qrels.of({"q1": {"a": 1}}), parse_measures("AP nDCG P@5 nDCGp RPlast RR"))
    assert found.values.tolist() == [[0.0]] * 6


# ---------------------------------------------------------------------------------------------
# The benchmark's figure
# ---------------------------------------------------------------------------------------------

# One relevant document at rank 1, 2, 4, 5 and 10: reciprocal ranks 1, .5, .25, .2, .1
RECIPROCAL = {"q1": 1, "q2": 2, "q3": 4, "q4": 5, "q5": 10}
TEN = {q: {f"d{i}": -float(i) for i in range(1, 11)} for q in RECIPROCAL}
ONE = {q: {f"d{rank}": 1} for q, rank in RECIPROCAL.items()}


@pytest.mark.parametrize(
    ("folds", "expected"),
    [
        ((), 2.05 / 5),
        ([["q1", "q2", "q3", "q4", "q5"]], 2.05 / 5),
        # Means .75 and .55/3: what counts is the fold, whatever its size.
        ([["q1", "q2"], ["q3", "q4", "q5"]], (0.75 + 0.55 / 3) / 2),
        ([["q1"], ["q2", "q3", "q4", "q5"]], (1 + 1.05 / 4) / 2),
        ([["q1"], ["q2"], ["q5", "q4", "q3"]], (1 + 0.5 + 0.55 / 3) / 3),
        # A protocol may leave queries out, or share them.
        ([["q5"], ["q1"]], 0.55),
        ([["q1", "q5"], ["q5"]], (0.55 + 0.1) / 2),
    ],
)
def test_figure_is_the_mean_of_the_means_of_folds(folds: list[list[str]], expected: float) -> None:
    found = scored(TEN, ONE, "RR", folds=folds)
    assert found.figures()["RR"] == pytest.approx(expected, abs=1e-15)
    assert found.per_query("RR").tolist() == pytest.approx([1, 0.5, 0.25, 0.2, 0.1])


def test_a_measure_that_is_summed_is_summed_within_a_fold() -> None:
    run = {"q1": {"a": 1.0}, "q2": {"a": 1.0, "b": 0.5}, "q3": {"a": 1.0, "b": 1.0, "c": 1.0}}
    qrels = {q: {"a": 1} for q in run}
    folds = [["q1", "q3"], ["q2"]]
    assert scored(run, qrels, "NumRet NumQ").figures() == {"NumRet": 6.0, "NumQ": 3.0}
    assert scored(run, qrels, "NumRet", folds=folds).figures() == {"NumRet": (4 + 2) / 2}


@pytest.mark.parametrize("folds", [[["q1"], ["q7"]], [["q7", "q1"]], [["q1", "q7"], ["q8"]]])
def test_a_fold_with_a_query_that_is_not_judged_is_refused(folds: list[list[str]]) -> None:
    with pytest.raises(InputError, match="query q7 of the protocol's folds has no judgments"):
        scored(TEN, ONE, "RR RPlast", folds=folds)


@pytest.mark.parametrize("name", ["RBP", "AP RBP", "RPlast RBP(p=0.5) RR"])
def test_a_measure_that_nothing_computes_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"Unsupported measures .*RBP"):
        scored(TEN, ONE, name)


def plain_err(docs: dict[str, float], grades: dict[str, int], cut: int) -> float:
    """Expected reciprocal rank (Chapelle et al. 2009, equations 4 and 5), with a highest grade of 4."""
    found, unsatisfied = 0.0, 1.0
    for place, doc in enumerate(sorted(docs, key=lambda d: -docs[d])[:cut], 1):
        satisfied = (2 ** max(grades.get(doc, 0), 0) - 1) / 2**4
        found += unsatisfied * satisfied / place
        unsatisfied *= 1 - satisfied
    return found


@pytest.mark.parametrize("cut", [1, 3, 20])
def test_err_takes_any_query_ids(cut: int) -> None:
    """gdeval, which alone computes ERR, takes numbers only, and tells neither wt-1 from trec-1 nor 01
    from 1; it prints five decimals."""
    rng = np.random.default_rng(cut)
    queries = ["wt-1", "trec-1", "01", "1", "abc_def", "q 2", "\u00e9", "lacking", "0"]
    docs = [f"d{i}" for i in range(12)]
    qrels = {q: dict(zip(docs, rng.integers(-1, 5, 12).tolist(), strict=True)) for q in queries}
    run = {
        q: dict(zip(docs, rng.permutation(12).astype(float).tolist(), strict=True)) for q in queries
    }
    del run["lacking"]
    name = f"ERR@{cut}"
    found = scored(run, qrels, name)
    expected = [plain_err(run.get(q, {}), qrels[q], cut) for q in found.query_ids]
    assert found.per_query(name) == pytest.approx(expected, abs=5.1e-6)
    assert len(set(expected)) > 2


def test_grades_that_gdeval_does_not_take_are_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"ERR@10 is defined for grades up to 4, and .* have 5"):
        scored({"q": {"a": 1.0}}, {"q": {"a": 5}}, "ERR@10")


def test_gains_on_which_trec_eval_hangs_are_refused() -> None:
    with pytest.raises(InputError, match="has a gain of 1,000,000,000, and trec_eval's time"):
        scored({"q": {"a": 1.0}}, {"q": {"a": 1}}, "nDCG(gains={1:1000000000})@5")


# ---------------------------------------------------------------------------------------------
# CSFCube: four evaluators, one run
# ---------------------------------------------------------------------------------------------


def paper_bm25(dataset_id: str) -> Run:
    """The paper's BM25 over every query's whole pool."""
    system = find_system("fabs_bm25", {})
    task = system.load(dataset_id)
    return rank(task, system.retriever, ties=system.task.ties, progress=False)


@pytest.fixture(scope="module", params=["csfcube/sample", "csfcube"])
def csfcube(request: pytest.FixtureRequest) -> tuple[Run, Qrels, Any]:
    """A run of the whole pool, the judgments, and the dataset: always the sample's."""
    if request.param == "csfcube":
        request.getfixturevalue("real_csfcube")
    dataset = Dataset.of(request.param)
    qrels = dataset.qrels
    return paper_bm25(request.param), qrels, dataset


def test_figure_is_the_mean_of_the_means_of_the_release_s_folds(
    csfcube: tuple[Run, Qrels, Any],
) -> None:
    run, qrels, dataset = csfcube
    plan = dataset.protocol
    found = evaluate(run, qrels, parse_measures(plan.measures), plan.folds)
    assert len(plan.folds) == 2
    for name in plan.measures:
        values = dict(zip(qrels.query_ids, found.per_query(name).tolist(), strict=True))
        means = [fmean(values[q] for q in fold) for fold in plan.folds]
        assert found.figures()[name] == pytest.approx(fmean(means), abs=1e-12)


# Mysore et al. 2021, Table 4: RP, P@20, R@20, NDCG%100, NDCG%20, in percent.
PRINTED = {
    "csfcube": [13.50, 19.69, 42.73, 68.97, 46.06],
    "csfcube/background": [20.12, 27.81, 49.85, 79.02, 59.39],
    "csfcube/method": [9.37, 11.63, 38.29, 60.68, 34.59],
    "csfcube/result": [11.31, 20.00, 40.40, 67.87, 45.07],
}


@pytest.mark.usefixtures("real_csfcube")
@pytest.mark.parametrize("dataset_id", PRINTED)
def test_the_papers_bm25_has_the_papers_figures(dataset_id: str) -> None:
    dataset = Dataset.of(dataset_id)
    qrels = dataset.qrels
    plan = dataset.protocol
    names = ["RPlast(rel=2)", "P(rel=2)@20", "RListed(rel=2)@20", "nDCGp(p=100)", "nDCGp(p=20)"]
    found = evaluate(paper_bm25(dataset_id), qrels, parse_measures(names), plan.folds)
    # The paper prints two places; one figure ends in a five that it cuts off.
    assert [100 * found.figures()[name] for name in names] == pytest.approx(
        PRINTED[dataset_id], abs=0.0075
    )


# ---------------------------------------------------------------------------------------------
# ranx's statistical tests beside ours
# ---------------------------------------------------------------------------------------------


def test_neighbours_of_a_huge_run_do_not_tie() -> None:
    """pytrec_eval keeps scores in single precision, in which 2**24 + 1 is 2**24."""
    queries, depth = 4100, 4100
    docs = np.tile(np.arange(depth, dtype=np.int32), queries)
    scores = np.tile(np.arange(depth, 0, -1, dtype=np.float32), queries)
    names, doc_ids = ids(queries, "q"), ids(depth, "d")
    run = Run.ordered(names, np.arange(queries + 1) * depth, doc_ids, docs, scores)
    assert len(run) > 1 << 24
    # The second document is relevant, and would win the tie with the first.
    found = evaluate(run, Qrels.from_rows([("q7", "d1", 1)]), parse_measures("RR IPrec@0.1 infAP"))
    assert found.figures() == {"RR": 0.5, "IPrec@0.1": 0.5, "infAP": 0.5}


def test_ids_that_trec_eval_would_cut_are_refused() -> None:
    run = Run.of({"q": {"d\0a": 2.0, "d\0b": 1.0}})
    with pytest.raises(InputError, match="zero byte"):
        evaluate(run, Qrels.from_rows([("q", "d\0b", 1)]), parse_measures("infAP"))


def ids(count: int, letter: str) -> Ids:
    return id_array([f"{letter}{i}" for i in range(count)])

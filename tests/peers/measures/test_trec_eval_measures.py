"""trec_eval's measures that ir_measures has not: against pytrec_eval and restated plainly."""

from __future__ import annotations

import ir_measures
import pytest
import pytrec_eval
from hypothesis import example, given, settings
from hypothesis import strategies as st

from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import Evaluation, evaluate
from irtoolkit.scoring.measure_names import trec_measures
from tests.conftest import ALL
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
from tests.plain_measures import as_trec_eval, in_order, values

NAMES = (
    "11pt_avg", "G", "Rndcg", "Rprec_mult", "binG", "gm_bpref", "gm_map", "ndcg_rel",
    "num_nonrel_judged_ret", "relative_P", "utility",
)  # fmt: skip
MEASURES = {key: one for name in NAMES for key, one in (trec_measures(name) or {}).items()}
# The gains of grades; none of grade 0 or of a negative one, which unjudged documents have too.
GAINS = {1: 4, 2: 3, 3: 9, 12: 5}


def ours(run: RunDict, qrels: QrelsDict, measures: dict[str, ir_measures.Measure]) -> Evaluation:
    return evaluate(Run.of(run), Qrels.of(qrels), measures)


def with_rel(rel: int) -> dict[str, ir_measures.Measure]:
    return {
        name: one(rel=rel) if "rel" in one.SUPPORTED_PARAMS else one
        for name, one in MEASURES.items()
    }


@given(runs, judgments, st.sampled_from(RELS))
@settings(max_examples=200 if ALL else 80)
@example(*TIED, 1)
@example(*TIED, 2)
@example(*MISSING, 1)
@example({}, {"q1": {"a": 1}}, 1)
@example({"q1": {"a": 1.0}}, {"q1": {"a": -1, "b": 0}}, 1)
def test_every_value_and_figure_is_pytrec_evals(run: RunDict, qrels: QrelsDict, rel: int) -> None:
    """A query that the run lacks counts as for trec_eval -c: as one that lists nothing."""
    scorer = pytrec_eval.RelevanceEvaluator(qrels, set(NAMES), relevance_level=rel)
    theirs = scorer.evaluate({query: docs for query, docs in run.items() if docs})
    found = ours(run, qrels, with_rel(rel))
    figures = found.figures()
    for name in MEASURES:
        nothing = values([], {"a": 0})[name]
        expected = [theirs[query][name] if query in theirs else nothing for query in qrels]
        mine = [as_trec_eval(name, value) for value in found.per_query(name)]
        assert mine == pytest.approx(expected, rel=0, abs=1e-12), name
        figure = pytrec_eval.compute_aggregated_measure(name, expected)
        assert figures[name] == pytest.approx(figure, rel=0, abs=1e-12), name


@given(runs, any_judgments, st.sampled_from(RELS))
@settings(max_examples=200 if ALL else 80)
@example(*TIED, 1)
@example(*MISSING, 2)
@example({"q1": {"a": 1.0, "b": 0.5}}, {"q1": {"a": -3, "b": -1}, "q2": {"a": -2}}, 1)
def test_every_value_is_its_plain_restatement(run: RunDict, qrels: QrelsDict, rel: int) -> None:
    found = ours(run, qrels, with_rel(rel))
    plain = [values(in_order(run.get(query, {})), qrels[query], rel) for query in qrels]
    for name in MEASURES:
        mine = [as_trec_eval(name, value) for value in found.per_query(name)]
        assert mine == pytest.approx([row[name] for row in plain], rel=0, abs=1e-12), name


@given(runs, any_judgments)
@example(*TIED)
def test_gains_are_those_of_judgments_with_these_grades(run: RunDict, qrels: QrelsDict) -> None:
    regraded = {
        query: {doc: GAINS.get(grade, grade) for doc, grade in docs.items()}
        for query, docs in qrels.items()
    }
    graded = {name: MEASURES[name] for name in ("G", "Rndcg", "ndcg_rel")}
    given = ours(run, qrels, {name: one(gains=GAINS) for name, one in graded.items()})
    assert given.values == pytest.approx(ours(run, regraded, graded).values, abs=1e-12)


@given(runs, any_judgments, st.sampled_from([0.01, 0.7, 1e6]))
@example(*TIED, 0.7)
def test_ratios_of_dcg_do_not_depend_on_the_size_of_gains(
    run: RunDict, qrels: QrelsDict, factor: float
) -> None:
    graded = {name: MEASURES[name] for name in ("Rndcg", "ndcg_rel")}
    scaled = {
        name: one(gains={grade: factor * grade for grade in range(1, 13)})
        for name, one in graded.items()
    }
    assert ours(run, qrels, scaled).values == pytest.approx(ours(run, qrels, graded).values)


@pytest.mark.parametrize("name", ["G", "ndcg_rel", "Rndcg", "binG", "11pt_avg"])
def test_a_query_has_its_value_whatever_others_there_are(name: str) -> None:
    """Also to the last digit, among many: sums over all queries would leave their rounding in it."""
    run = {
        f"q{i}": {f"d{k}": 1 / (1 + (7 * i + 3 * k) % 40) for k in range(40)} for i in range(300)
    }
    qrels = {
        f"q{i}": {f"d{k}": (i * k) % 5 - 1 for k in range(0, 60, 1 + i % 3)} for i in range(300)
    }
    together = ours(run, qrels, {name: MEASURES[name]}).per_query(name)
    alone = ours({"q299": run["q299"]}, {"q299": qrels["q299"]}, {name: MEASURES[name]})
    assert 0 < together[299] == alone.per_query(name)[0]

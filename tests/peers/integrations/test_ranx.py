"""ranx: runs and qrels there and back, its fusion and its report, without its traps."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.ranking import fusion, fusion_methods
from irtoolkit.runs import Qrels, Run
from irtoolkit.scoring.evaluation import evaluate as ours
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.scoring.significance import correct, paired_test

ranx = pytest.importorskip("ranx", reason="ranx is not installed")

from irtoolkit.integrations.ranx import (  # noqa: E402
    NAMES,
    compare_with_ranx,
    evaluate_with_ranx,
    from_ranx,
    fuse_with_ranx,
    ranx_name,
    to_ranx,
)


def coarse(tag: str, seed: int, queries: range = range(12)) -> Run:
    """Sixty documents a query, with a few distinct scores: ties longer than any sort keeps."""
    rng = np.random.default_rng(seed)
    return Run.from_rows(
        [
            (f"q{query}", f"é{doc}", float(rng.choice([-1, 0, 0, 1, 1, 1, 2.5])))
            for query in queries
            for doc in rng.permutation(100)[:60]
        ],
        tag,
    )


def judgments(queries: range = range(12)) -> Qrels:
    rng = np.random.default_rng(9)
    return Qrels.from_rows(
        (f"q{query}", f"é{doc}", int(rng.choice([0, 0, 1, 2, 3])))
        for query in queries
        for doc in rng.permutation(100)[:40]
    )


def order(run: Run) -> dict[str, list[str]]:
    return {query: [row.doc_id for row in run.ranking(query)] for query in run.query_ids}


# -- there and back ------------------------------------------------------------------------------


def test_ranx_ranks_as_we_do_where_scores_tie() -> None:
    run = coarse("mine", 1)
    theirs = to_ranx(run)
    assert isinstance(theirs, ranx.Run)
    assert theirs.name == "mine"
    assert {query: list(docs) for query, docs in theirs.to_dict().items()} == order(run)
    # Its own sort again changes nothing.
    theirs.sort()
    assert {query: list(docs) for query, docs in theirs.to_dict().items()} == order(run)


ROWS = st.dictionaries(
    st.tuples(st.sampled_from(["1", "2", "é"]), st.text("abc語", min_size=1, max_size=3)),
    st.one_of(
        st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 3.4028234663852886e38, 2.0**-126]),
        st.floats(width=32, allow_nan=False, allow_infinity=False),
    ),
    min_size=1,
    max_size=60,
)


@given(ROWS)
@settings(max_examples=60)
def test_a_run_comes_back_as_it_was(rows: dict[tuple[str, str], float]) -> None:
    run = Run.from_rows((query, doc, score) for (query, doc), score in rows.items())
    theirs = to_ranx(run)
    assert {query: list(docs) for query, docs in theirs.to_dict().items()} == order(run)
    again = from_ranx(theirs)
    assert again == run
    assert order(again) == order(run)
    assert again.tag == run.tag


def test_a_run_is_held_to_the_queries_asked_for() -> None:
    run, qrels = coarse("mine", 1, range(3, 8)), judgments(range(5))
    theirs = to_ranx(run, qrels.query_ids)
    assert theirs.keys() == to_ranx(qrels).keys()
    assert {query: len(docs) for query, docs in theirs.to_dict().items()} == {
        "q0": 0, "q1": 0, "q2": 0, "q3": 60, "q4": 60,
    }  # fmt: skip
    assert len(from_ranx(theirs)) == 120
    assert to_ranx(qrels, ["q1"]).to_dict().keys() == {"q1"}
    with pytest.raises(InputError, match="query q9 has no judgments"):
        to_ranx(qrels, ["q1", "q9"])


def test_a_run_of_ranx_keeps_its_order_and_name() -> None:
    """Ascending ids, which trec_eval would turn around, and scores that float32 cannot tell apart."""
    theirs = ranx.Run({"q": {"a": 1.0, "b": 1.0, "c": 1.0 - 1e-12, "d": 0.5}}, name="made")
    run = from_ranx(theirs)
    assert order(run) == {"q": ["a", "b", "c", "d"]}
    assert [row.score for row in run] == sorted({row.score for row in run}, reverse=True)
    assert run.tag == "made"
    assert from_ranx(theirs, "other").tag == "other"
    theirs.name = None
    assert from_ranx(theirs).tag == "irtoolkit"


def test_what_is_no_run_is_refused() -> None:
    with pytest.raises(InputError, match="dict is neither"):
        from_ranx({"q": {"d": 1.0}})
    with pytest.raises(InputError, match="score inf of document d for query q is not a finite"):
        from_ranx(ranx.Run({"q": {"c": 1.0, "d": float("inf")}}))
    with pytest.raises(InputError, match="not one word"):
        from_ranx(ranx.Run({"q": {"c": 1.0}}, name="two words"))


# -- measures ------------------------------------------------------------------------------------

SHARED = {
    "AP": "map",
    "AP(rel=2)@10": "map@10-l2",
    "P@5": "precision@5",
    "P(rel=2)@50": "precision@50-l2",
    "R@10": "recall@10",
    "RR": "mrr",
    "RR(rel=2)@5": "mrr@5-l2",
    "Rprec": "r-precision",
    "SetR": "recall",
    "Success@5": "hit_rate@5",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg@10",
    "nDCG(dcg='exp-log2')@10": "ndcg_burges@10",
}


def test_all_shared_measures_are_tried() -> None:
    assert {parsed.NAME for parsed in parse_measures(list(SHARED)).values()} == set(NAMES)
    assert {name: ranx_name(name) for name in SHARED} == SHARED


def test_ranx_computes_what_we_do() -> None:
    """Ties, a query that the run lacks, and one that nobody judged included."""
    run, qrels = coarse("mine", 1, range(1, 14)), judgments()
    found = evaluate_with_ranx(qrels, run, list(SHARED))
    mine = ours(run, qrels, parse_measures(list(SHARED)))
    for name, theirs in SHARED.items():
        np.testing.assert_allclose(found[theirs], mine.per_query(name), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["RBP(rel=1)", "nDCGp(p=20)"])
def test_measures_that_ranx_lacks_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="ranx does not have"):
        ranx_name(name)
    with pytest.raises(InputError, match="no measure"):
        ranx_name("ndgc@10")


# -- comparing -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compared() -> tuple[Qrels, dict[str, Run]]:
    return judgments(), {
        name: coarse("same", seed) for name, seed in (("a", 1), ("b", 2), ("c", 3))
    }


@pytest.mark.parametrize(("test", "correction"), [("student", "holm"), ("fisher", "none")])
def test_p_values_are_ours(
    compared: tuple[Qrels, dict[str, Run]], test: str, correction: str
) -> None:
    qrels, runs = compared
    report = compare_with_ranx(
        qrels,
        runs,
        ["nDCG@10", "map"],
        test=test,
        correction=correction,
        max_p=0.5,  # type: ignore[arg-type]
    ).to_dict()
    assert report["model_names"] == ["a", "b", "c"]
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    for name, theirs in (("nDCG@10", "ndcg@10"), ("AP", "map")):
        values = {
            system: ours(run, qrels, parse_measures([name])).per_query(name)
            for system, run in runs.items()
        }
        raw = [paired_test(values[one], values[two], test) for one, two in pairs]  # type: ignore[arg-type]
        for (one, two), p in zip(pairs, correct(raw, correction), strict=True):  # type: ignore[arg-type]
            assert report[one]["comparisons"][two][theirs] == pytest.approx(p, abs=1e-12)
            assert report[two]["comparisons"][one][theirs] == pytest.approx(p, abs=1e-12)
            wins = int((values[one] > values[two]).sum())
            assert report[one]["win_tie_loss"][two][theirs]["W"] == wins
            assert report[two]["win_tie_loss"][one][theirs]["L"] == wins
        for system in runs:
            assert report[system]["scores"][theirs] == pytest.approx(values[system].mean())


def test_runs_of_one_name_stay_apart(compared: tuple[Qrels, dict[str, Run]]) -> None:
    qrels, runs = compared
    report = compare_with_ranx(qrels, list(runs.values()), ["nDCG@10"])
    assert report.model_names == ["same-1", "same-2", "same-3"]
    assert "same-3" in str(report)
    assert "same-3" in report.to_latex()
    with pytest.raises(InputError, match="two runs have one name"):
        compare_with_ranx(qrels, [coarse("x", 1), coarse("x", 2), coarse("x-2", 3)], ["map"])


def test_queries_need_not_be_the_same() -> None:
    qrels = judgments()
    runs = {"short": coarse("s", 1, range(2, 6)), "long": coarse("l", 2, range(20))}
    report = compare_with_ranx(qrels, runs, ["nDCG@10"]).to_dict()
    for name, run in runs.items():
        mean = ours(run, qrels, parse_measures(["nDCG@10"])).per_query("nDCG@10").mean()
        assert report[name]["scores"]["ndcg@10"] == pytest.approx(mean, abs=1e-12)


def test_what_cannot_be_compared_is_refused(compared: tuple[Qrels, dict[str, Run]]) -> None:
    qrels, runs = compared
    with pytest.raises(InputError, match="1 run to compare"):
        compare_with_ranx(qrels, [runs["a"]], ["map"])
    with pytest.raises(InputError, match="27 runs"):
        compare_with_ranx(qrels, {str(i): runs["a"] for i in range(27)}, ["map"])
    with pytest.raises(InputError, match="no test 'tukey'"):
        compare_with_ranx(qrels, runs, ["map"], test="tukey")  # type: ignore[arg-type]


def test_numba_keeps_its_threads(compared: tuple[Qrels, dict[str, Run]]) -> None:
    """ranx leaves one thread after fewer than ten queries."""
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("numba has one thread here")
    before = numba.get_num_threads()
    numba.set_num_threads(2)
    try:
        evaluate_with_ranx(judgments(range(3)), coarse("x", 1), ["map"])
        compare_with_ranx(judgments(range(3)), compared[1], ["map"])
        assert numba.get_num_threads() == 2
    finally:
        numba.set_num_threads(before)


# -- fusing --------------------------------------------------------------------------------------


def test_fusion_of_ranx_is_a_run_of_ours() -> None:
    """And the same as our own, where both have a method; runs of different queries included."""
    one, two = coarse("one", 1, range(6)), coarse("two", 2, range(3, 9))
    for method, norm, mine in (
        ("rrf", None, fusion_methods.ReciprocalRank(60)),
        ("sum", "min-max", fusion_methods.CombSUM("minmax")),
        ("mnz", "min-max", fusion_methods.CombMNZ("minmax")),
    ):
        fused = fuse_with_ranx([one, two], method, norm)
        expected = fusion.fuse([one, two], mine, progress=False)
        assert fused.tag == method
        assert fused.query_ids.tolist() == expected.query_ids.tolist()
        scores = {(row.query_id, row.doc_id): row.score for row in expected}
        assert {(row.query_id, row.doc_id) for row in fused} == scores.keys()
        for row in fused:
            assert row.score == pytest.approx(scores[row.query_id, row.doc_id], abs=2e-5)


def test_what_cannot_be_fused_is_refused() -> None:
    one, two = coarse("one", 1, range(2)), coarse("two", 2, range(2))
    with pytest.raises(InputError, match="1 run to fuse"):
        fuse_with_ranx([one])
    with pytest.raises(InputError, match="ranx cannot fuse by borda-bingo"):
        fuse_with_ranx([one, two], "borda-bingo")
    with pytest.raises(InputError, match="ranx's condorcet orders documents otherwise in each"):
        fuse_with_ranx([one, two], "condorcet")
    with pytest.raises(InputError, match="after no-norm"):
        fuse_with_ranx([one, two], "sum", "no-norm")

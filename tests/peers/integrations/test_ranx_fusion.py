"""ranx's methods of fusion: what ranx itself computes, with settings that are checked."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.ranking.fusion import fuse
from irtoolkit.ranking.fusion_methods import METHODS
from irtoolkit.runs import Qrels, Run
from irtoolkit.runs.provenance import read_metadata
from tests.conftest import Answer

ranx = pytest.importorskip("ranx", reason="ranx is not installed")

from irtoolkit.integrations.ranx import fuse_with_ranx, to_ranx  # noqa: E402
from irtoolkit.integrations.ranx_fusion import RanxMethod, fusion_method  # noqa: E402


def run(tag: str, seed: int, queries: range = range(6), docs: int = 20) -> Run:
    draw = np.random.default_rng(seed)
    return Run.from_rows(
        [
            (f"q{query}", f"d{doc}", float(draw.normal()))
            for query in queries
            for doc in draw.permutation(40)[:docs]
        ],
        tag,
    )


ONE, TWO = run("one", 1), run("two", 2)
QRELS = Qrels.from_rows((f"q{q}", f"d{d}", (q + d) % 3) for q in range(6) for d in range(30))


def values(found: Any, query: str) -> dict[str, float]:
    return {str(doc): float(score) for doc, score in found.run[query].items()}


def near(run: Run, expected: Any) -> bool:
    return all(
        {row.doc_id: row.score for row in run.ranking(query)}
        == pytest.approx(values(expected, query), rel=1e-5, abs=1e-30)
        for query in run.query_ids
    )


@pytest.mark.parametrize(
    ("method", "norm", "given", "params"),
    [
        ("rbc", None, {"phi": 0.8}, {"phi": 0.8}),
        ("wsum", "zmuv", {"weights": [0.3, 0.7], "normalise": "zscore"}, {"weights": [0.3, 0.7]}),
        ("bayesfuse", None, {"train": QRELS}, None),
    ],
    ids=["rbc", "wsum", "bayesfuse"],
)
def test_scores_are_ranxs(method: str, norm: str | None, given: Any, params: Any) -> None:
    fused = fuse([ONE, TWO], fusion_method(method, given), progress=False)
    theirs = [to_ranx(ONE), to_ranx(TWO)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if params is None:
            params = {"log_odds": ranx.fusion.bayesfuse_train(to_ranx(QRELS), theirs)}
        expected = ranx.fuse(theirs, norm=norm, method=method, params=params)
    assert fused.tag == method
    assert near(fused, expected)


def test_a_method_of_both_is_ours_unless_ranx_is_asked() -> None:
    ours, theirs = fusion_method("rrf", {"k": 10}), fusion_method("ranx:rrf", {"k": 10})
    assert isinstance(ours, METHODS["rrf"])
    assert isinstance(theirs, RanxMethod)
    one = fuse([ONE, TWO], ours, depth=5, progress=False)
    assert one == fuse([ONE, TWO], theirs, depth=5, progress=False)


@pytest.mark.parametrize("normalise", ["minmax", "zscore"])
def test_queries_that_a_run_lacks_change_no_other(normalise: str) -> None:
    """ranx's own zmuv loses documents of other queries then."""
    late, method = run("late", 3, range(3, 8)), fusion_method("ranx:sum", {"normalise": normalise})
    fused = fuse([ONE, late], method, progress=False)
    both = [
        Run.from_rows(
            [(r.query_id, r.doc_id, r.score) for r in one if r.query_id in ("q3", "q4", "q5")]
        )
        for one in (ONE, late)
    ]
    alone = fuse(both, method, progress=False)
    assert [list(fused.ranking(q)) for q in alone.query_ids] == [
        list(alone.ranking(q)) for q in alone.query_ids
    ]
    norm = {"minmax": "min-max", "zscore": "zmuv"}[normalise]
    assert len(fuse_with_ranx([ONE, late], "sum", norm)) == len(fused)


def test_training_runs_may_be_others() -> None:
    """Their judgments are of other queries than those that are fused."""
    train = [run("one", 4, range(6)), run("two", 5, range(6))]
    later = [run("one", 6, range(6, 9)), run("two", 7, range(6, 9))]
    method = fusion_method("bayesfuse", {"train": QRELS, "train_runs": train})
    assert isinstance(method, RanxMethod)
    assert method.seen(later[0].query_ids.tolist()) == 0
    assert len(fuse(later, method, progress=False).query_ids) == 3
    with pytest.raises(InputError, match="have no query that judgments judges"):
        fuse(later, fusion_method("bayesfuse", {"train": QRELS}), progress=False)


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("rbc", {}, r"method rbc needs phi \(a number between 0 and 1\)"),
        ("rbc", {"phi": 0.8, "k": 60}, r"method rbc takes no k \(it takes phi\)"),
        ("isr", {"normalise": "sum"}, r"method isr takes no normalise \(it takes no settings\)"),
        ("probfuse", {"train": QRELS, "n_segments": 0}, "n_segments=0 is not a whole number"),
        ("wmnz", {}, "method wmnz needs weights"),
        ("mixed", {"weights": [1, "x"]}, r"weights\[1\] 'x' is not a number"),
        ("sum", {"normalise": "zmuv"}, "no normalisation 'zmuv'"),
        ("posfuse", {}, "method posfuse is trained on judgments"),
        ("bingo", {}, "no fusion method 'bingo' .*w_condorcet, and those of ranx"),
        ("ranx:condorcet", {}, "in each process .*--method condorcet"),
        ("ranx:w_condorcet", {"weights": [1, 2]}, "in each process .*--method w_condorcet"),
    ],
)
def test_settings_are_checked(method: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fusion_method(method, given)


def test_ranks_beyond_those_that_bayesfuse_knows_are_refused() -> None:
    """ranx reads beyond the end of its table, and says nothing."""
    deep = Run.from_rows([("q1", f"d{i}", float(-i)) for i in range(1001)], "deep")
    method = fusion_method("bayesfuse", {"train": QRELS})
    with pytest.raises(InputError, match="knows 1000 ranks, and deep lists up to 1001"):
        fuse([deep, ONE], method, progress=False)


# -- the command -----------------------------------------------------------------------------------


def test_the_command_fuses_by_ranx(tmp_path: Path, irtoolkit: Callable[..., Answer]) -> None:
    paths = [tmp_path / "one.run", tmp_path / "two.run"]
    for one, path in zip((ONE, TWO), paths, strict=True):
        one.write(path)
    qrels, out = tmp_path / "judged.qrels", tmp_path / "out.run"
    QRELS.write(qrels)
    done = irtoolkit("fuse", *paths, "-o", out, "--method", "rbc", "--set", "phi=0.8")
    assert done.status == 0
    assert done.err.endswith(f"{out}: 6 queries, 178 rows; rbc phi=0.8\n"), done.err
    record = read_metadata(out)
    assert record is not None
    made = record["irtoolkit"]
    assert (made["retriever"], made["settings"]) == ("ranx", {"method": "rbc", "phi": 0.8})
    done = irtoolkit("fuse", *paths, "-o", out, "--method", "bayesfuse", "--train", qrels)
    assert "trained on the judgments of 6 of the 6 fused queries" in done.err
    twice = irtoolkit("fuse", *paths, "-o", out, "--k", "60", "--set", "k=6")
    assert (twice.status, twice.err) == (2, "irtoolkit: setting k is given twice\n")


def test_without_ranx_the_extra_is_named(
    tmp_path: Path, irtoolkit: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ranx", None)
    ONE.write(tmp_path / "one.run")
    TWO.write(tmp_path / "two.run")
    paths = tmp_path / "one.run", tmp_path / "two.run"
    expected = (
        "irtoolkit: ranx is not installed (pip install '.[ranx]' in the folder of irtoolkit)\n"
    )
    fused = irtoolkit("fuse", *paths, "-o", tmp_path / "x.run", "--method", "isr")
    assert (fused.status, fused.err) == (2, expected)
    assert not (tmp_path / "x.run").exists()
    QRELS.write(tmp_path / "q.qrels")
    compared = irtoolkit(
        "compare", tmp_path / "q.qrels", *paths, "--measure", "AP", "--engine", "ranx"
    )
    assert (compared.status, compared.err) == (2, expected)
    assert irtoolkit("fuse", *paths, "-o", tmp_path / "x.run").status == 0


def test_the_command_prints_ranxs_report(tmp_path: Path, irtoolkit: Callable[..., Answer]) -> None:
    paths = [tmp_path / "a" / "x.run", tmp_path / "b" / "y.run"]
    for one, path in zip((ONE, TWO), paths, strict=True):
        path.parent.mkdir()
        one.write(path)
    QRELS.write(tmp_path / "q.qrels")
    options = ("--measure", "AP nDCG@10", "--engine", "ranx")
    done = irtoolkit("compare", tmp_path / "q.qrels", *paths, *options, "--max-p", "1")
    assert done.status == 0, done.err
    assert "NDCG@10" in done.out
    assert "x.run" in done.out
    assert "p <= 1.0 (student, holm)" in done.out
    for extra, message in (
        (("--format", "csv"), "ranx has no report as CSV"),
        (("--max-p", "7"), "--max-p 7.0 is not a probability"),
        (("--test", "wilcoxon"), "no test 'wilcoxon'"),
    ):
        refused = irtoolkit("compare", tmp_path / "q.qrels", *paths, *options, *extra)
        assert (refused.status, message in refused.err) == (2, True), refused.err
    latex = irtoolkit("compare", tmp_path / "q.qrels", *paths, *options, "--format", "latex")
    assert r"\begin{table" in latex.out

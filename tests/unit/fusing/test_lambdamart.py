"""LambdaMART over the features of all runs."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.fusing.lambdamart import LambdaMART, features, trees
from irtoolkit.ranking.fusion import fuse
from irtoolkit.runs import Qrels, Run

ONE = Run.of({"q1": {"a": 9, "b": 5, "c": 1}, "q2": {"a": 1}}, tag="one")
TWO = Run.of({"q1": {"c": 0.3, "d": 0.1}, "q3": {"a": -2}}, tag="two")


def test_features_by_hand() -> None:
    found = features([ONE, TWO], "minmax")
    assert found.query_ids.tolist() == ["q1", "q2", "q3"]
    assert found.offsets.tolist() == [0, 4, 5, 6]
    assert found.doc_ids[found.docs].tolist() == ["a", "b", "c", "d", "a", "a"]
    nan = float("nan")
    expected = [
        [9, 1, 1, 1, nan, 0, 0, 0], [5, 0.5, 1 / 2, 1, nan, 0, 0, 0],
        [1, 0, 1 / 3, 1, np.float32(0.3), 1, 1, 1], [nan, 0, 0, 0, np.float32(0.1), 0, 1 / 2, 1],
        [1, 0, 1, 1, nan, 0, 0, 0], [nan, 0, 0, 0, -2, 0, 1, 1],
    ]  # fmt: skip
    np.testing.assert_allclose(found.values, expected)
    assert found.sums.tolist() == [1, 0.5, 1, 0, 0, 0]
    top = found.head(1)
    assert top.doc_ids[top.docs].tolist() == ["a", "c", "a", "a"]
    assert top.offsets.tolist() == [0, 2, 3, 4]


def planted(seed: int, count: int = 30) -> tuple[list[Run], dict[str, dict[str, int]]]:
    """Runs of which only both together tell what is relevant: where one is high and one is low."""
    draw = np.random.default_rng(seed)
    first, second, qrels = {}, {}, {}
    for query in range(count):
        one, two = draw.integers(0, 4, size=(2, 40))
        docs = [f"d{place:02d}" for place in draw.permutation(40)]
        first[f"q{query}"] = dict(zip(docs, map(float, one + 1), strict=True))
        second[f"q{query}"] = dict(zip(docs, map(float, two + 1), strict=True))
        qrels[f"q{query}"] = {
            doc: int(a + b == 3) for doc, a, b in zip(docs, one, two, strict=True)
        }
    return [Run.of(first, tag="one"), Run.of(second, tag="two")], qrels


def test_what_no_sum_of_scores_can_say_is_learned() -> None:
    runs, qrels = planted(0)
    learned = LambdaMART(leaves=15, trees=60).trained(runs, Qrels.of(qrels))
    others, judged = planted(1)
    fused = {
        "trees": fuse(others, learned), "sum": fuse(others, "combsum")
    }  # fmt: skip
    figures = ir.evaluate(judged, fused, measures="P@5").figures()
    assert figures["trees"]["P@5"] > 0.9 > 0.6 > figures["sum"]["P@5"]


def test_training_is_deterministic() -> None:
    runs, qrels = planted(2, 8)
    made = [LambdaMART(trees=10).trained(runs, Qrels.of(qrels), 5) for _ in range(2)]
    assert made[0].model == made[1].model
    assert made[0].settings() == {"normalise": "minmax", "leaves": 4, "trees": 10, "rate": 0.1}


def test_equal_scores_are_ordered_by_the_sum_of_scores() -> None:
    """Few documents leave trees without a split, and all scores equal."""
    qrels = Qrels.of({"q1": {"c": 1, "a": 0}})
    learned = LambdaMART().trained([ONE, TWO], qrels)
    fused = fuse([ONE, TWO], learned)
    assert [row.doc_id for row in fused.ranking("q1")] == ["c", "a", "b", "d"]
    assert fused.query_ids.tolist() == ["q1", "q2", "q3"]


WRONG: dict[str, tuple[Any, str]] = {
    "nothing to learn": ({"q1": {"a": 1, "b": 1, "c": 1, "d": 1}}, "nothing to learn from"),
    "judgments of other queries": ({"q7": {"a": 1}}, "nothing to learn from"),
    "a grade too high": ({"q1": {"a": 31}}, "grade of 31"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_learned_from_is_refused(name: str) -> None:
    qrels, said = WRONG[name]
    with pytest.raises(InputError, match=said):
        LambdaMART().trained([ONE, TWO], Qrels.of(qrels))


def test_another_number_of_runs_is_refused() -> None:
    learned = LambdaMART().trained([ONE, TWO], Qrels.of({"q1": {"c": 1, "a": 0}}))
    with pytest.raises(InputError, match="3 runs for a fusion that was trained on 2"):
        fuse([ONE, TWO, ONE], learned)
    with pytest.raises(InputError, match="not trained"):
        fuse([ONE, TWO], replace(learned, model=""))


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(InputError, match=r"pip install '\.\[ltr\]' in the folder of irtoolkit"):
        ir.tune_fusion({"q1": {"c": 1}}, ONE, TWO, methods="lambdamart")


@pytest.mark.parametrize("model", ["", "tree\nnonsense", "tree\nversion=v4\nnum_class=1\n"])
def test_damaged_trees_are_one_error_and_nothing_is_printed(
    model: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="LightGBM cannot read the trees: Model file doesn't"):
        trees(model)
    assert capfd.readouterr() == ("", "")

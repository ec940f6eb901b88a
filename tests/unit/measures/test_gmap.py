"""Geometric means: of the average precision and of the binary preference."""

from __future__ import annotations

import pytest

from irtoolkit.scoring.score import score

QRELS = {"q1": {"a": 1}, "q2": {"a": 2}, "q3": {"a": 1}}
RUN = {"q1": {"a": 2.0}, "q2": {"b": 4.0, "c": 3.0, "d": 2.0, "a": 1.0}, "q3": {"b": 1.0}}


def test_by_hand() -> None:
    """AP is 1, 1/4 and 0, which counts 0.00001."""
    scores = score(QRELS, RUN, "GMAP AP")
    assert scores.values("run", "GMAP").tolist() == [1.0, 0.25, 0.0]
    assert scores.figures()["run"]["GMAP"] == pytest.approx((0.25 * 0.00001) ** (1 / 3))


def test_bpref_by_hand() -> None:
    """In q2 the one document that is judged not relevant is above the relevant one."""
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2, "c": 0, "z": 1}, "q3": {"a": 1}}
    scores = score(qrels, RUN | {"q2": {"a": 2.0, "c": 1.0}}, "GMBpref Bpref")
    assert scores.values("run", "GMBpref").tolist() == [1.0, 0.5, 0.0]
    assert scores.values("run", "Bpref").tolist() == [1.0, 0.5, 0.0]
    assert scores.figures()["run"]["GMBpref"] == pytest.approx((0.5 * 0.00001) ** (1 / 3))

"""How the differences of two runs are measured."""

from __future__ import annotations

import pytest

from tests.faults.determinism import differences

ONE = {"q": {"a": 4.0, "b": 2.0, "c": 1.9, "d": 1.0}}


def test_equal_runs_do_not_differ() -> None:
    assert differences(ONE, ONE) == {"score": 0, "moved": 0, "gap": 0, "other": 0}


def test_a_pair_in_another_order_has_a_gap() -> None:
    found = differences(ONE, {"q": {"a": 4.0, "c": 1.95, "b": 1.9, "d": 1.0}})
    assert found == pytest.approx({"score": 0.1 / 4, "moved": 2, "gap": 0.1 / 4, "other": 0})


def test_the_gap_is_that_of_any_pair() -> None:
    found = differences(ONE, {"q": {"d": 5.0, "a": 4.0, "b": 2.0, "c": 1.9}})
    assert found == pytest.approx({"score": 1.0, "moved": 4, "gap": 3.0 / 4, "other": 0})


def test_other_documents_are_counted() -> None:
    assert differences(ONE, {"q": {"a": 4.0, "x": 2.0}})["other"] == 4

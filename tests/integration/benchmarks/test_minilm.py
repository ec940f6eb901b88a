"""Rows of the table of trained encoders that were measured at different times."""

from __future__ import annotations

import json
import runpy
from copy import deepcopy
from typing import Any

import pytest

from irtoolkit.scoring.significance import correct
from tests.conftest import ROOT

FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def minilm() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "minilm.py"), run_name="minilm")


def row(figure: float, *p: float) -> dict[str, Any]:
    """A row of an untrained system, or of an arm with its p-values."""
    made: dict[str, Any] = {"figures": {"RR": figure}}
    if p:
        made |= {"recipe": "minilm", "p": {"ab"[i]: {"raw": x, "Holm": x} for i, x in enumerate(p)}}
    return made


def test_rows_of_other_arms_stay_and_are_corrected_together(minilm: dict[str, Any]) -> None:
    known = {"rows": {"a": row(0.3), "b": row(0.4), "one": row(0.5, 0.01, 0.2)}}
    found = {"rows": {"a": row(0.3), "b": row(0.4 + 1e-9), "two": row(0.6, 0.02, 0.04)}}
    made = minilm["beside"](deepcopy(found), deepcopy(known))["rows"]
    assert list(made) == ["a", "b", "one", "two"]
    told = [made[arm]["p"][other]["Holm"] for arm in ("one", "two") for other in "ab"]
    assert told == list(correct([0.01, 0.2, 0.02, 0.04]))
    assert told[0] == pytest.approx(0.04)


def test_rows_of_other_data_do_not_stay(minilm: dict[str, Any]) -> None:
    known = {"rows": {"a": row(0.3), "one": row(0.5, 0.01)}}
    for was in (known, {}):
        found = {"rows": {"a": row(0.31), "two": row(0.6, 0.02)}}
        assert minilm["beside"](deepcopy(found), deepcopy(was)) == found


def test_what_is_kept_was_corrected_together() -> None:
    kept = json.loads((FOLDER / "results/minilm.json").read_text("utf-8"))["benchmarks"]
    for found in kept.values():
        tests = [test for each in found["rows"].values() for test in each.get("p", {}).values()]
        assert [test["Holm"] for test in tests] == pytest.approx(
            list(correct([test["raw"] for test in tests]))
        )

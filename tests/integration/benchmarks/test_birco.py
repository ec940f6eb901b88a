"""What benchmarks/birco.py keeps of earlier results where runs or rankings are missing."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

from tests.conftest import ROOT

BIRCO = runpy.run_path(str(ROOT / "benchmarks" / "birco.py"), run_name="birco")


def test_published_figures_of_other_tasks_stay() -> None:
    old = {"A": {"relic": {"R@5": 0.1}, "wtb": {"R@5": 0.2}}, "B": {"relic": {"R@5": 0.3}}}
    found = {"a2": {"relic": {"R@5": 0.4}}, "A": {"relic": {"R@5": 0.5}}}
    assert BIRCO["merged"](found, old, {"relic"}) == {
        "A": {"relic": {"R@5": 0.5}, "wtb": {"R@5": 0.2}},
        "a2": {"relic": {"R@5": 0.4}},
    }
    assert BIRCO["merged"]({}, old, set()) == old


@pytest.mark.parametrize(
    ("rows", "tried", "stays"),
    [
        ({"A": 1, "B": 2, "C": 3}, {"A + B": 4}, False),
        ({"A": 1}, {"A + B": 4}, True),
        ({"A": 1, "B": 2}, {}, True),
    ],
)
def test_a_task_stays_as_it_was_where_a_row_is_missing(
    rows: dict[str, int], tried: dict[str, int], stays: bool
) -> None:
    old: dict[str, Any] = {"rows": {"A": 5, "B": 6}, "tried": {"A + B": 7}}
    found = {"rows": rows, "tried": tried}
    assert BIRCO["complete"]("wtb", found, old) == (old if stays else found)
    assert BIRCO["complete"]("wtb", found, None) == found

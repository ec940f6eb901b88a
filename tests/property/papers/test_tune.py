"""Any grid has each combination once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.papers.tune import parse_grid


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@given(first=st.integers(-50, 50), steps=st.integers(0, 40), step=st.integers(1, 30))
def test_a_range_holds_its_ends_and_has_no_rounding(first: int, steps: int, step: int) -> None:
    last = first + steps * step
    values = parse_grid({"x": f"{first / 100}:{last / 100}:{step / 100}"})["x"]
    assert [float(value) for value in values] == [
        (first + i * step) / 100 for i in range(steps + 1)
    ]

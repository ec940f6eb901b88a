"""Golden runs of the samples: nothing moves unless a commit says so."""

from __future__ import annotations

import pytest

from tests.golden.__main__ import differences
from tests.golden.cases import CASES, SAMPLES
from tests.golden.record import golden

# The rest takes minutes.
QUICK = ("quoter/sample/en/val", "quoter/sample/zh/val")


@pytest.mark.parametrize(
    "dataset_id",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.nightly) for name in SAMPLES],
)
def test_runs_are_those_that_were_kept(dataset_id: str) -> None:
    assert differences(dataset_id, golden(dataset_id), CASES) == []

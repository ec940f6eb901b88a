"""Golden runs of the samples: nothing moves unless a commit says so."""

from __future__ import annotations

import copy

import pytest

from tests.golden.__main__ import differences, moved
from tests.golden.cases import CASES, SAMPLES, Case
from tests.golden.record import golden

# The rest takes minutes.
QUICK = ("quoter/sample/en/val", "quoter/sample/zh/val")


@pytest.mark.parametrize(
    "dataset_id",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.nightly) for name in SAMPLES],
)
def test_runs_are_those_that_were_kept(dataset_id: str) -> None:
    assert differences(dataset_id, golden(dataset_id), CASES) == []


def test_a_setting_that_moves_scores_is_found() -> None:
    name = "quoter/sample/zh/val"
    known = golden(name, [Case("bm25")])["bm25"]
    other = golden(name, [Case("bm25", {"k1": 1.0})])["bm25 k1=1.0"]
    lines = moved("bm25", known, other)
    assert [line for line in lines if "memory: run" in line]
    assert moved("bm25", known, copy.deepcopy(known)) == []

"""Inputs that once failed, and a few thousand new ones; `make fuzz` tries millions."""

from __future__ import annotations

import json

import pytest

from tests.conftest import ROOT
from tests.fuzz.mutate import Mutator
from tests.fuzz.target import FOUND, attempt, found_cases
from tests.fuzz.targets import TARGETS

CASES = [(target.name, path.name) for target in TARGETS.values() for path in found_cases(target)]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_what_once_failed_is_refused_or_read(name: str, case: str) -> None:
    attempt(TARGETS[name], (FOUND / name / case).read_bytes())


def test_cases_are_those_of_targets() -> None:
    folders = {path.name for path in FOUND.iterdir() if path.is_dir()}
    assert folders <= set(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_that_are_nearly_valid_are_refused_or_read(name: str) -> None:
    target = TARGETS[name]
    read = [attempt(target, seed) for seed in target.seeds]
    assert any(read), "no seed is read"
    mutator = Mutator(target, 0)
    for _ in range(30 if target.dear else 100):
        attempt(target, mutator.made())


def test_the_kept_figures_are_of_targets_and_nothing_failed() -> None:
    path = ROOT / "benchmarks" / "results" / "fuzz.json"
    known = {one["target"]: one for one in json.loads(path.read_text("utf-8"))["targets"]}
    assert known
    assert set(known) == set(TARGETS)
    for name, one in known.items():
        assert one["failures"] == {}
        failed = one["executions"] - one["refused"] - one["accepted"]
        assert failed >= 0
        # Of what failed before it was mended, examples are kept.
        assert failed == 0 or found_cases(TARGETS[name])

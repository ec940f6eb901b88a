"""Inputs that once failed, and a few thousand new ones; `make fuzz` tries millions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from tests.conftest import ROOT
from tests.fuzz.mutate import Mutator
from tests.fuzz.run import fuzzed
from tests.fuzz.target import FOUND, FailureError, Target, attempt, found_cases
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


def planted(data: bytes) -> None:
    """A parser with a defect."""
    if data.startswith(b"{"):
        raise InputError("no brace may begin it", remedy="leave it out")
    {b"a": 1}[data[:1]]


def test_a_defect_is_found_and_named_by_its_place() -> None:
    broken = Target("broken", planted, (b"a\n", b"{}"))
    assert [attempt(broken, seed) for seed in broken.seeds] == [True, False]
    mutator = Mutator(broken, 0)
    keys = set()
    for _ in range(100):
        try:
            attempt(broken, mutator.made())
        except FailureError as error:
            keys.add(error.key)
    (only,) = keys
    assert only.startswith("KeyError at test_fuzz.py:")


@pytest.mark.parametrize("said", ["", "KeyError: 'a'", "Traceback (most recent call last)"])
def test_an_error_that_helps_nobody_is_a_failure(said: str) -> None:
    def parse(_: bytes) -> None:
        raise InputError(said)

    with pytest.raises(FailureError, match="AssertionError"):
        attempt(Target("mute", parse, (b"",)), b"")


def test_a_run_counts_what_became_of_its_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.run.PLACE", tmp_path)
    found = fuzzed("quoter", 60, 50, 1, plain=True)
    assert found["executions"] == found["refused"] + found["accepted"] == 50
    assert found["failures"] == {}
    assert found["accepted"] >= 3  # the seeds


def test_a_process_that_dies_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.run.PLACE", tmp_path)
    found = fuzzed("no-such-target", 1, 1, 1, plain=True)
    assert [one["said"] for one in found["failures"].values()] == ["KeyError: 'no-such-target'"]


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

"""The table of bad and odd inputs: each is refused with the right words, or accepted with the right answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irtoolkit.base.errors import InputError
from tests.conftest import ROOT
from tests.inputs.case import OUTCOMES, Case, tried
from tests.inputs.cases import all_cases

CASES = list(all_cases())
KINDS = sorted({case.kind for case in CASES})
RESULTS = ROOT / "benchmarks" / "results" / "inputs.json"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No release, and a cache of the test's own."""
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))


def test_there_are_three_hundred_and_each_once() -> None:
    names = [(case.kind, case.name) for case in CASES]
    assert len(names) >= 300
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_refused_well_or_accepted_rightly(kind: str, tmp_path: Path) -> None:
    for number, case in enumerate(case for case in CASES if case.kind == kind):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome, said = tried(case, folder)
        assert outcome in OUTCOMES[:2], f"{case.name}: {outcome}: {said}"


def fail(_: Path) -> None:
    raise KeyError("a")


def refuse(_: Path) -> None:
    raise InputError("not that", remedy="this")


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        (Case("k", "n", refuse, refused="that"), "refused well"),
        (Case("k", "n", refuse, refused="other"), "refused badly"),
        (Case("k", "n", refuse), "refused badly"),
        (Case("k", "n", fail, refused="a"), "traceback"),
        (Case("k", "n", lambda _: 1, refused="a"), "silent wrong"),
        (Case("k", "n", lambda _: 1, right=lambda found, _: found == 1), "accepted rightly"),
        (Case("k", "n", lambda _: 1, right=lambda found, _: found == 2), "silent wrong"),
        (Case("k", "n", ("check", "nowhere.run"), refused="no such file"), "refused well"),
        (Case("k", "n", ("--version",), refused="a"), "silent wrong"),
    ],
    ids=range(9),
)
def test_what_comes_of_an_input_is_told_apart(case: Case, wanted: str, tmp_path: Path) -> None:
    assert tried(case, tmp_path)[0] == wanted


def test_the_kept_table_is_of_all_inputs_and_nothing_is_wrong() -> None:
    kept = json.loads(RESULTS.read_text("utf-8"))
    assert kept["wrong"] == []
    tried_of = {kind: sum(found.values()) for kind, found in kept["kinds"].items()}
    assert tried_of == {kind: sum(case.kind == kind for case in CASES) for kind in KINDS}

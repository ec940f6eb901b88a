"""Processes at once, and other surroundings, give the same bytes: some of what the scripts measure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.determinism import VARIATIONS, Variation, compared, measure
from tests.faults.together import Crew

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measured on Linux"),
]


AT_ONCE = 3


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """Processes that have imported what commands need."""
    with Crew(tmp_path_factory.mktemp("crew"), AT_ONCE) as made:
        yield made


@pytest.mark.parametrize("kind", ["output", "versions"])
def test_processes_at_once_leave_what_one_alone_leaves(kind: str, crew: Crew) -> None:
    found = crew.together(kind, AT_ONCE)
    assert found["problems"] == []
    assert found["identical"] == AT_ONCE
    assert found["left"] == []


def test_surroundings_change_no_byte(tmp_path: Path) -> None:
    everything = Variation(
        "all at once", shuffled=True, shards=3,
        env={key: value for each in VARIATIONS.values() for key, value in each.env.items()},
    )  # fmt: skip
    plain = measure(VARIATIONS["again"], tmp_path / "plain", neural=False)
    other = measure(everything, tmp_path / "other", neural=False)
    assert plain.keys() == other.keys() >= {"bm25", "index", "benchmark", "values"}
    assert {name: compared(plain[name], other[name]) for name in plain} == {
        name: {"same": True} for name in plain
    }

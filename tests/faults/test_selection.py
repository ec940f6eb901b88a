"""Some of the disturbances of `python -m tests.faults`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import harness, points
from tests.faults.harness import Bench
from tests.faults.zygote import Zygote

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks and limits"),
]

# Command: kind to how many moments.
SELECTED = {
    "retrieve": {"kill": 3, "interrupt": 1, "no-space": 2, "torn": 1},
    "index": {"kill": 3, "term": 1, "io-error": 2, "file-size": 1},
    "retrieve-again": {"torn": 1},
    "eval": {"kill": 2, "interrupt": 1, "no-space": 2},
    "eval-again": {"torn": 1},
}


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """One process that imports what all commands need and forks for each."""
    with harness.zygote(tmp_path_factory.mktemp("home")) as made:
        yield made


@pytest.mark.parametrize("name", SELECTED)
def test_a_disturbed_command_ends_as_if_nothing_had_been(
    name: str, tmp_path: Path, zygote: Zygote
) -> None:
    bench = Bench(name, tmp_path, zygote)
    for kind, count in SELECTED[name].items():
        sized = kind in ("torn", "file-size")
        for at in [bench.largest // 2] if sized else points.spread(bench.changes, count):
            bench.fresh()
            found = bench.disturb(kind, at)
            assert found.happened
            assert found.problems == [], found
            # A cache that cannot be written is done without.
            assert found.status or kind in ("no-space", "io-error")

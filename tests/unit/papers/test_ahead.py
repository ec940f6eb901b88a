"""Runs made ahead: one that workers die of does not end the others."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.engines.engine import using
from irtoolkit.engines.processes import ProcessEngine
from irtoolkit.papers import ahead
from irtoolkit.ranking.systems import find_system


@pytest.fixture(scope="module")
def two() -> Iterator[ProcessEngine]:
    engine = ProcessEngine(2)
    yield engine
    engine.close()


# The first and one in between; one alone, the last.
@pytest.mark.parametrize(
    "fatal",
    ["ab", pytest.param("d", marks=pytest.mark.nightly)],
)
def test_the_other_rows_are_made(
    fatal: str, two: ProcessEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(job: ahead.RunJob) -> Any:
        if job.path.name in fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"ranking of {job.path.name}", 0.0

    monkeypatch.setattr(ahead, "make", make)
    data, system = Dataset.load("csfcube/sample"), find_system("bm25", {}, "csfcube/sample")
    found, errors = {}, []
    with using(two):
        made = ahead.RunsAhead([ahead.RunJob(Path(name), data, system, None) for name in "abcd"])
        for name in "abcd":
            ranked = made.of(Path(name))
            assert ranked is not None
            try:
                found[name] = ranked()[0]
            except InputError as error:
                errors.append(str(error))
    assert found == {name: f"ranking of {name}" for name in "abcd" if name not in fatal}
    assert [f"{system.name} on {data.id}" in error for error in errors] == [True] * len(fatal)

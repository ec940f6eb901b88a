"""How many workers train, and when this process does it."""

from __future__ import annotations

import pytest

from irtoolkit.engines.choose import WORKERS
from irtoolkit.engines.processes import ProcessEngine
from irtoolkit.training.ranks import in_this_process, ranks_of


@pytest.mark.parametrize(
    ("variable", "given", "gpus", "ranks", "here"),
    [
        ("", None, "", 1, True),
        ("", None, "0,1", 2, False),
        ("", None, "0", 1, False),
        ("3", None, "", 3, False),
        ("3", 2, "", 2, False),
        ("1", None, "", 1, True),
    ],
)
def test_workers_that_train(
    variable: str, given: int | None, gpus: str, ranks: int, here: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpus)
    monkeypatch.setenv(WORKERS, variable)
    engine = ProcessEngine(2)
    assert (ranks_of(engine, given), in_this_process(engine, given)) == (ranks, here)
    engine.close()

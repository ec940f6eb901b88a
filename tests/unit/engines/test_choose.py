"""Engines by name, flags and environment."""

from __future__ import annotations

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.engines.choose import engine


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IRTOOLKIT_ENGINE", "IRTOOLKIT_WORKERS", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


def test_without_anything_work_stays_in_this_process() -> None:
    with engine() as made:
        assert (made.name, made.workers) == ("local", 1)


def test_this_process_alone_has_no_several_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(InputError, match="4 workers for the engine local, which is this process"),
        engine("local", workers=4),
    ):
        pass
    # What a shell's profile says does not refuse a command that names the engine.
    monkeypatch.setenv("IRTOOLKIT_WORKERS", "4")
    with engine("local") as made:
        assert made.name == "local"

"""What a record says of the machine."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from irtoolkit.runs import provenance


def torch_of(*cards: str, used: bool) -> Any:
    """What stands for torch on a machine with some cards."""
    cuda = SimpleNamespace(
        is_initialized=lambda: used, device_count=lambda: len(cards), get_device_name=cards.__getitem__
    )  # fmt: skip
    return SimpleNamespace(cuda=cuda)


def hardware() -> dict[str, Any]:
    found: dict[str, Any] = provenance.circumstances(1.0)["platform"]["hardware"]
    return found


def test_the_cards_of_a_process_that_used_one_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_of("H100", "H100", used=True))
    assert hardware()["gpus"] == ["H100", "H100"]


def test_a_card_that_was_not_used_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_of("H100", used=False))
    assert "gpus" not in hardware()
    monkeypatch.delitem(sys.modules, "torch")
    assert "gpus" not in hardware()
    assert "torch" not in sys.modules

"""The memory that a process takes, and its unit on each system."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from irtoolkit.base.cores import peak_memory


def test_on_windows_psutil_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(memory_info=lambda: SimpleNamespace(peak_wset=7000))
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setitem(sys.modules, "psutil", SimpleNamespace(Process=lambda: found))
    assert peak_memory() == 7000

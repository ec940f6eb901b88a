"""The memory that a process takes, and its unit on each system."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from irtoolkit.base.cores import peak_memory


@pytest.mark.skipif(sys.platform == "win32", reason="resource is Unix's")
@pytest.mark.parametrize(("platform", "unit"), [("linux", 1024), ("darwin", 1)])
def test_the_unit_is_the_systems(monkeypatch: pytest.MonkeyPatch, platform: str, unit: int) -> None:
    import resource

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=5000))
    assert peak_memory() == 5000 * unit


def test_on_windows_psutil_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(memory_info=lambda: SimpleNamespace(peak_wset=7000))
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setitem(sys.modules, "psutil", SimpleNamespace(Process=lambda: found))
    assert peak_memory() == 7000

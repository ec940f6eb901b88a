"""A file system in memory, and a cache of its own, for what reads and writes URLs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """fsspec's file system in memory, which is emptied after each test."""
    fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]

"""A server that ranks by what documents are worth, and first stages that it can improve."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm_server import KEY, Stub, serving


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    # Faults that pass are waited out at once.
    monkeypatch.setattr("irtoolkit.models.llm.chat_client.LONGEST_PAUSE", 0.001)
    return tmp_path / "cache" / "answers"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving() as server:
        yield server

"""A process that is killed while it writes an index, and the same command again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ALL

pytestmark = pytest.mark.nightly

SCRIPT = Path(__file__).with_name("killed.py")


# How often each kind of work is killed, of many times and of few.
WORK = {"add": 10, "merge": 10, "delete": 6, "replace": 6, "build": 8, "merge-weights": 3}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """One process for all kinds of work: it has imported and compiled what they need once."""
    given = [f"{work}:{times if ALL else 3}" for work, times in WORK.items()]
    return subprocess.run(
        [sys.executable, SCRIPT, tmp_path_factory.mktemp("killed"), "14", *given],
        capture_output=True, text=True, timeout=3600, check=False,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize("work", WORK)
def test_the_same_command_continues_to_the_same_bytes(
    work: str, done: subprocess.CompletedProcess[str]
) -> None:
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^{work}: \d+ changes$", done.stderr, re.MULTILINE)
    assert [line for line in done.stdout.splitlines() if line.startswith(f"{work} ")] == []

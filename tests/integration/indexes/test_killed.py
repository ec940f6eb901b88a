"""A process that is killed while it writes an index, and the same command again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ALL

SCRIPT = Path(__file__).with_name("killed.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize(
    ("work", "times"),
    [
        ("build", 8), ("add", 10), ("merge", 10), ("delete", 6), ("replace", 6),
        ("merge-weights", 3),
    ],
)  # fmt: skip
def test_the_same_command_continues_to_the_same_bytes(
    work: str, times: int, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path, work, str(times if ALL else 3), "14"],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("", 0), done.stderr

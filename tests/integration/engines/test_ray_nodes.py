"""Nodes without the driver's files: tests in a process that has joined no cluster before.

In a process that had joined another cluster earlier, Ray took the driver for dead (OwnerDiedError)
when a node in name spaces of its own asked it for an object. A command joins one cluster.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed")


def test_nodes_without_the_data_are_one_line() -> None:
    tests = Path(__file__).with_name("nodes_without_data.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-rs", str(tests)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]

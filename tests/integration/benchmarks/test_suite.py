"""All tests in another order and beside other work."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(40))
def test_passes(number):
    print(f"<{number}>")

def test_fails():
    assert False

def test_is_skipped():
    pytest.skip("so")
"""


def test_counts_and_the_order(tmp_path: Path) -> None:
    tests, out = tmp_path / "test_some.py", tmp_path / "suite.json"
    tests.write_text(TESTS)
    words = ["benchmarks/suite.py", str(tests), "--busy", "1", "-o", str(out)]
    for more in ([], ["--seed", "3"]):
        done = subprocess.run(
            [sys.executable, *words, *more], cwd=ROOT, capture_output=True, text=True,
            env={**os.environ, "PYTEST_ADDOPTS": "-n 0 -s"},
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        shown = [int(number) for number in re.findall(r"<(\d+)>", done.stdout)]
        assert sorted(shown) == list(range(40))
        assert (sorted(shown) == shown) is not bool(more)
    plain, shuffled = json.loads(out.read_text())
    for found in (plain, shuffled):
        assert found["passed"] == 40
        assert found["skipped"] == 1
        assert [name.rpartition("::")[2] for name in found["failed"]] == ["test_fails"]
        assert len(found["slowest"]) == 20
    assert (plain["order"], shuffled["order"]) == ("of files", "random, seed 3")


def test_memory_is_that_of_children() -> None:
    suite = runpy.run_path(str(ROOT / "benchmarks" / "suite.py"), run_name="suite")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert max(suite["memory_of_children"](os.getpid())) > 0
        assert suite["memory_of_children"](child.pid) == [0]
        child.communicate(b"\n")
    assert suite["memory_of_children"](child.pid) == [0]

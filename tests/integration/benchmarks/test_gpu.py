"""The checks for a GPU at their smallest, on a CPU: they pass, and no file of a GPU is written."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests import planted
from tests.conftest import ROOT

SCRIPT = ROOT / "benchmarks" / "gpu.sh"


def run(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(SCRIPT), *map(str, words)], capture_output=True, text=True, check=False,
        env={**os.environ, **variables},
    )  # fmt: skip


@pytest.mark.nightly
def test_all_checks_pass_without_a_card(tmp_path: Path, python: str) -> None:
    output, model = tmp_path / "gpu.json", planted.start(tmp_path / "model")
    done = run("--device", "cpu", "--model", model, "--output", output, PYTHON=python)
    assert done.returncode == 0, done.stderr + done.stdout
    made = json.loads(output.read_text())
    assert json.loads(done.stdout) == made
    assert (made["device"], made["card"], made["complete"]) == ("cpu", None, True)
    assert {one["name"]: one["result"] for one in made["checks"]} == dict.fromkeys(
        ["matrix", "bf16", "bf16: nDCG", "encode", "cross-encoder", "faiss", "search",
         "search: larger than memory", "maxsim", "halving: encoding", "halving: products", "halving: maxsim",
         "two processes", "training", "training: agreement", "recipes"],
        "passed",
    )  # fmt: skip
    recipes = made["checks"][-1]["recipes"]
    assert [name.partition(",")[0] for name in recipes] == [
        "minilm", *["minilm-examples"] * 2, *["minilm-surroundings"] * 2
    ]  # fmt: skip


@pytest.fixture
def python() -> str:
    import sys

    return sys.executable

"""The checks for a GPU at their smallest, on a CPU: they pass, and no file of a GPU is written."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

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


def test_the_file_of_a_card_is_written_by_none_else(python: str) -> None:
    results = ROOT / "benchmarks" / "results" / "gpu.json"
    before = results.read_bytes() if results.exists() else None
    for words in ([], ["--output", results]):
        done = run("--device", "cpu", *words, PYTHON=python)
        assert done.returncode == 2
        assert "is of a GPU" in done.stderr
    assert (results.read_bytes() if results.exists() else None) == before


def test_a_python_without_torch_is_named(tmp_path: Path) -> None:
    copy = tmp_path / "benchmarks" / "gpu.sh"
    copy.parent.mkdir()
    copy.write_text(SCRIPT.read_text())
    for name in ("python3", "python"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHON": ""}
    done = subprocess.run(
        ["sh", str(copy)], capture_output=True, text=True, check=False, env=env
    )  # fmt: skip
    assert done.returncode == 2
    assert "no Python here has torch" in done.stderr


def test_a_check_that_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import gpu_setting

    setting: Any = gpu_setting.Setting("cpu", tmp_path, None)

    def fail(_: Any) -> dict[str, Any]:
        raise AssertionError("the vectors differ")

    def lack(_: Any) -> dict[str, Any]:
        raise gpu_setting.MissingError("no weights")

    made = [
        gpu_setting.run_check(check, setting, left)
        for check, left in (
            (gpu_setting.Check("a", fail), 9.0),
            (gpu_setting.Check("b", lack), 9.0),
            (gpu_setting.Check("c", lambda _: {"rate": 1}, needs=("no_such_module",)), 9.0),
            (gpu_setting.Check("d", lambda _: {"rate": 1}), 9.0),
            (gpu_setting.Check("e", lambda _: {"rate": 1}), -1.0),
        )
    ]
    assert [one["result"] for one in made] == ["failed", "missing", "missing", "passed", "skipped"]
    assert "the vectors differ" in made[0]["reason"]
    assert "no_such_module" in made[2]["reason"]
    assert made[3]["rate"] == 1


@pytest.fixture
def python() -> str:
    import sys

    return sys.executable

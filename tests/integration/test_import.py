"""What importing irtoolkit does: registers, once, in any order, and costs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import irtoolkit.datasets
from irtoolkit.base.temporary_home import instead_of_home
from tests.conftest import ROOT

SAMPLES = Path(irtoolkit.datasets.__file__).parent / "samples"
HEAVY = (
    "torch", "numpy", "scipy", "pandas", "ir_datasets", "ir_measures", "transformers", "sklearn",
    "pyarrow", "sentence_transformers", "gensim", "faiss", "matplotlib", "ranx", "yaml", "tqdm", "numba",
    "nltk", "pyterrier", "jnius",
)  # fmt: skip
IDS = sorted(
    f"csfcube{sample}{part}"
    for sample in ("", "/sample")
    for part in ("", "/background", "/method", "/result")
)


def csfcube(ids: list[str]) -> list[str]:
    """Those of CSFCube among the ids of all collections, sorted."""
    return sorted(name for name in ids if name.split("/")[0] == "csfcube")


def python(code: str, **environment: str) -> Any:
    """Runs code in a new Python; gives what it prints as JSON."""
    variables = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


# ---- the cost ------------------------------------------------------------------------------------


def test_importing_imports_nothing_heavy() -> None:
    code = f"""
import sys
before = set(sys.modules)
import irtoolkit
import json
print(json.dumps([[m for m in {HEAVY} if m in sys.modules],
                  sorted(m for m in set(sys.modules) - before if m.startswith("irtoolkit"))]))
"""
    heavy, ours = python(code)
    assert heavy == []
    assert ours == ["irtoolkit", "irtoolkit.version"]


def test_the_command_imports_nothing_heavy() -> None:
    """So that `irtoolkit --help` answers at once."""
    code = f"""
import json, sys
import irtoolkit.cli, irtoolkit.commands.eval
print(json.dumps([m for m in {HEAVY} if m in sys.modules]))
"""
    assert python(code) == []


def test_one_query_of_an_index_loads_no_compiler(tmp_path: Path) -> None:
    """So that the first result of a new process is there at once."""
    irtoolkit.index(["a whale at sea", "a ship"], "bm25", tmp_path / "kept", progress=False)
    code = f"""
import json, sys
import irtoolkit
hits = irtoolkit.open_index({str(tmp_path / "kept")!r}).search("whales")
heavy = ("numba", "scipy", "ir_datasets", "pandas", "torch")
print(json.dumps([[hit.doc_id for hit in hits], [m for m in heavy if m in sys.modules]]))
"""
    assert python(code) == [["0"], []]


def test_registering_imports_no_neural_library() -> None:
    code = """
import json, sys
import irtoolkit.datasets, irtoolkit.measures
heavy = ("torch", "transformers", "sentence_transformers", "gensim", "faiss", "matplotlib")
print(json.dumps([m for m in heavy if m in sys.modules]))
"""
    assert python(code) == []


def test_registering_and_loading_open_no_data_and_no_connection(tmp_path: Path) -> None:
    """Files of the samples, of $IRTOOLKIT_DATA and of ir_datasets' home; and sockets."""
    (tmp_path / "data" / "csfcube").mkdir(parents=True)
    code = f"""
import json, os, sys
samples, elsewhere = {str(SAMPLES)!r}, {str(tmp_path)!r}
seen = []
def watch(event, args):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(args[0], (str, bytes, os.PathLike)):
        path = os.path.abspath(os.fsdecode(args[0]))
        # The samples' folder may be seen while modules are looked for, but not what is in it.
        if path.startswith(elsewhere) or path.startswith(samples + os.sep):
            seen.append(path)
    elif event.startswith("socket.connect"):
        seen.append(str(args[-1]))
sys.addaudithook(watch)
import irtoolkit.datasets, irtoolkit.measures, ir_datasets
from irtoolkit.datasets import dataset_ids
for name in dataset_ids():
    dataset = ir_datasets.load(name)
    dataset.docs_handler(), dataset.documentation(), dataset.docs_cls(), dataset.has_qrels()
    ir_datasets.docs_parent_id(name)
quiet = list(seen)
ir_datasets.load("csfcube/sample").docs_count()
print(json.dumps([quiet, len(seen)]))
"""
    quiet, loud = python(
        code, IRTOOLKIT_DATA=str(tmp_path / "data"), IR_DATASETS_HOME=str(tmp_path / "home")
    )
    assert quiet == []
    assert loud >= 7  # the watch does see the files that reading opens


# ---- registration --------------------------------------------------------------------------------

CHECK = """
import json
import ir_datasets, ir_measures
import irtoolkit.measures
from irtoolkit.datasets import dataset_ids
from irtoolkit.measures.base import ColumnarProvider
known = list(ir_datasets.registry)
providers = [p for p in ir_measures.DefaultPipeline.providers if isinstance(p, ColumnarProvider)]
registered = [p for p in ir_measures.providers.registry.values() if isinstance(p, ColumnarProvider)]
print(json.dumps({
    "ids": dataset_ids(),
    "unknown": [name for name in dataset_ids() if name not in known],
    "providers": len(providers),
    "registered": len(registered),
    "same": providers == registered,
    "queries": ir_datasets.load("csfcube/sample").queries_count(),
    "measures": [str(ir_measures.parse_measure(m)) for m in ("nDCGp(p=20)", "RPlast(rel=2)")],
}))
"""


@pytest.mark.parametrize(
    "first",
    [
        "import ir_measures, irtoolkit, ir_datasets",
        "import irtoolkit, importlib; importlib.reload(irtoolkit)",
    ],
)
def test_everything_is_registered_once_in_any_order(first: str) -> None:
    found = python(first + "\n" + CHECK)
    assert found["unknown"] == []
    assert len(set(found["ids"])) == len(found["ids"])
    assert csfcube(found["ids"]) == IDS
    assert (found["providers"], found["registered"], found["same"]) == (1, 1, True)
    assert found["queries"] == 6
    assert found["measures"] == ["nDCGp(p=20)", "RPlast(rel=2)"]


def test_nothing_is_registered_unless_it_is_imported() -> None:
    """Nor by `import irtoolkit` alone, which hooks into no import of others."""
    code = """
import json, ir_datasets, ir_measures, irtoolkit, sys
assert not any(type(finder).__module__.startswith("irtoolkit") for finder in sys.meta_path)
print(json.dumps(["csfcube" in ir_datasets.registry._registered, "RPlast" in ir_measures.measures.registry]))
"""
    assert python(code) == [False, False]


def test_threads_that_import_one_thing_at_once() -> None:
    code = """
import importlib, threading
import irtoolkit
started = threading.Barrier(4)
def work():
    started.wait()
    importlib.import_module("irtoolkit.datasets")
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    found = python(code + CHECK)
    assert found["unknown"] == []
    assert csfcube(found["ids"]) == IDS
    assert found["providers"] == 1


# ---- a home that cannot be written ---------------------------------------------------------------


def test_samples_need_no_home(tmp_path: Path) -> None:
    """As in a container whose user owns nothing: ir_datasets makes folders when it is imported."""
    code = """
import irtoolkit, os
print(len(irtoolkit.retrieve("csfcube/sample", "random", progress=False)), os.environ["IR_DATASETS_HOME"])
"""
    variables = {"IR_DATASETS_HOME": "/dev/null/home", "IRTOOLKIT_CACHE": "/dev/null/cache"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **variables}, cwd=ROOT,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "/dev/null/home cannot be written: what ir_datasets downloads is lost" in done.stderr
    rows, folder = done.stdout.split()
    assert int(rows) == 120
    assert not Path(folder).exists()


def test_what_is_in_a_home_is_seen_where_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vaswani").mkdir()
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    monkeypatch.delitem(sys.modules, "ir_datasets")
    instead_of_home()
    assert os.environ["IR_DATASETS_HOME"] == str(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    instead_of_home()
    assert os.environ["IR_DATASETS_HOME"] != str(tmp_path)
    assert (Path(os.environ["IR_DATASETS_HOME"]) / "vaswani").samefile(tmp_path / "vaswani")


def test_numba_compiles_where_nothing_can_be_written(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    code = """
import json, os
os.access = lambda *_: False
import irtoolkit
import irtoolkit.indexes._compiled_sums
print(json.dumps(os.path.isdir(os.environ["NUMBA_CACHE_DIR"])))
"""
    assert python(code, XDG_CACHE_HOME="/dev/null/cache") is True


def test_pyterrier_is_found_after_irtoolkit() -> None:
    """PyTerrier loads our entry points while it is imported itself."""
    pytest.importorskip("pyterrier", reason="pyterrier is not installed")
    found = python(
        """
import json, irtoolkit.pyterrier
import pyterrier as pt
from irtoolkit.pyterrier import Retriever
print(json.dumps([pt.irtoolkit.Retriever is Retriever, len(pt.get_dataset("irtoolkit:csfcube/sample").get_topics())]))
"""
    )
    assert found == [True, 6]

"""What importing irtoolkit does: registers, once, in any order, and costs nothing."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import irtoolkit.datasets
from irtoolkit.base.hooks import after_import
from irtoolkit.base.temporary_home import instead_of_cache, instead_of_home
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
    names = ("hooks",)
    below = [f"irtoolkit.base.{name}" for name in names]
    assert ours == ["irtoolkit", "irtoolkit.base", *below, "irtoolkit.version"]


@pytest.mark.parametrize("module", ["irtoolkit.cli", "irtoolkit.commands.eval"])
def test_the_command_imports_nothing_heavy(module: str) -> None:
    """So that `irtoolkit --help` answers at once."""
    code = f"""
import json, sys
import {module}
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


@pytest.mark.parametrize("imports", ["import ir_datasets", "import ir_measures"])
def test_registering_imports_no_neural_library(imports: str) -> None:
    code = f"""
import json, sys
import irtoolkit
{imports}
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
import irtoolkit, ir_datasets, ir_measures
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
import irtoolkit
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


def test_the_version_is_looked_up_when_it_is_asked_for() -> None:
    """Nobody heeds an interrupt before the package is imported, so that takes little."""
    found = python(
        """
import json, sys
before = set(sys.modules)
import irtoolkit
early = "importlib.metadata" in set(sys.modules) - before
print(json.dumps([early, irtoolkit.__version__[0].isdigit(), "__version__" in dir(irtoolkit)]))
"""
    )
    assert found == [False, True, True]


# Orders that import what one of the others does, by way of another module.
ALIKE = (
    "import irtoolkit.datasets.csfcube",
    "import irtoolkit.measures.ndcgp",
    "import irtoolkit.scoring.evaluation",
    "import irtoolkit, importlib.util as u; u.find_spec('ir_datasets.formats')",
)


@pytest.mark.parametrize(
    "first",
    [
        "import irtoolkit, ir_datasets, ir_measures",
        "import ir_datasets, ir_measures, irtoolkit",
        "import ir_datasets; import irtoolkit; import ir_measures",
        "import ir_measures; import irtoolkit; import ir_datasets",
        "import irtoolkit.datasets.handlers",
        "import irtoolkit.measures.base, irtoolkit.datasets.csfcube_release",
        "import irtoolkit; import ir_datasets.formats; from ir_measures import nDCG",
        "import irtoolkit, importlib.util as u; u.find_spec('ir_datasets'), u.find_spec('ir_measures')",
        "import irtoolkit; del irtoolkit; import irtoolkit, ir_datasets, irtoolkit.datasets",
        "import irtoolkit, importlib, ir_datasets, ir_measures; importlib.reload(irtoolkit)",
        *(pytest.param(order, marks=pytest.mark.nightly) for order in ALIKE),
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


def test_looking_for_a_package_does_not_import_it() -> None:
    code = """
import importlib.util, json, sys
import irtoolkit
spec = importlib.util.find_spec("ir_datasets")
print(json.dumps([spec.name, "ir_datasets" in sys.modules, len(sys.meta_path)]))
"""
    name, imported, finders = python(code)
    assert (name, imported) == ("ir_datasets", False)
    assert finders >= 3


def test_without_irtoolkit_nothing_is_registered() -> None:
    """What the tests above see is the import's doing."""
    code = """
import json, ir_datasets, ir_measures
print(json.dumps(["csfcube" in ir_datasets.registry._registered, "RPlast" in ir_measures.measures.registry]))
"""
    assert python(code) == [False, False]


@pytest.mark.parametrize("name", ["ir_datasets", "irtoolkit.datasets"])
def test_threads_that_import_one_thing_at_once(name: str) -> None:
    code = f"""
import importlib, threading
import irtoolkit
started = threading.Barrier(4)
def work():
    started.wait()
    importlib.import_module("{name}")
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    found = python(code + CHECK)
    assert found["unknown"] == []
    assert csfcube(found["ids"]) == IDS
    assert found["providers"] == 1


def test_dataset_ids_is_a_copy() -> None:
    irtoolkit.datasets.dataset_ids().clear()
    assert csfcube(irtoolkit.datasets.dataset_ids()) == IDS


def test_the_package_says_its_version_and_its_error() -> None:
    code = """
import json, irtoolkit
print(json.dumps([irtoolkit.__version__, issubclass(irtoolkit.InputError, Exception)]))
"""
    version, is_error = python(code)
    assert version[0].isdigit()
    assert is_error


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
    assert not instead_of_home()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert instead_of_home()
    assert (Path(os.environ["IR_DATASETS_HOME"]) / "vaswani").samefile(tmp_path / "vaswani")


def test_numba_compiles_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    instead_of_cache()
    assert numba.config.CACHE_DIR == ""
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    instead_of_cache()
    assert Path(numba.config.CACHE_DIR).is_dir()


# ---- after_import --------------------------------------------------------------------------------


class Packages:
    """A place for packages to be imported from, forgotten after the test."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch

    def add(self, name: str, code: str, *, path: str | None = None) -> None:
        file = self.folder / (path or f"{name}.py")
        file.parent.mkdir(exist_ok=True)
        file.write_text(code)
        # Set, then deleted: so that leaving the test deletes whatever was imported.
        self._monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
        del sys.modules[name]
        importlib.invalidate_caches()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packages:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    return Packages(tmp_path, monkeypatch)


def test_the_action_waits_for_the_import_and_sees_it_whole(packages: Packages) -> None:
    packages.add("irtk_late", "first = 1\nlast = 2\n")
    seen: list[Any] = []
    finders = list(sys.meta_path)
    after_import("irtk_late", lambda: seen.append(vars(sys.modules["irtk_late"]).get("last")))
    assert seen == []
    assert "irtk_late" not in sys.modules
    module = importlib.import_module("irtk_late")
    assert seen == [2]
    assert module.__spec__ is not None
    assert module.__spec__.name == "irtk_late"
    assert module.__file__ == str(packages.folder / "irtk_late.py")
    assert sys.meta_path == finders


def test_the_action_runs_at_once_for_what_is_imported_already() -> None:
    finders, seen = list(sys.meta_path), []
    after_import("json", lambda: seen.append("now"))
    assert seen == ["now"]
    assert sys.meta_path == finders


def test_the_action_runs_once(packages: Packages) -> None:
    packages.add("irtk_once", "")
    seen: list[int] = []
    after_import("irtk_once", lambda: seen.append(1))
    module = importlib.import_module("irtk_once")
    importlib.import_module("irtk_once")
    importlib.reload(module)
    del sys.modules["irtk_once"]
    importlib.import_module("irtk_once")
    assert seen == [1]


def test_every_action_of_one_package_runs(packages: Packages) -> None:
    packages.add("irtk_many", "")
    seen: list[str] = []
    for name in "abc":
        after_import("irtk_many", lambda name=name: seen.append(name))
    importlib.import_module("irtk_many")
    assert sorted(seen) == ["a", "b", "c"]


def test_other_packages_are_left_alone(packages: Packages) -> None:
    packages.add("irtk_one", "")
    packages.add("irtk_one_more", "")
    seen: list[int] = []
    after_import("irtk_one", lambda: seen.append(1))
    importlib.import_module("irtk_one_more")
    assert seen == []
    importlib.import_module("irtk_one")
    assert seen == [1]


def test_a_submodule_imports_its_package_first(packages: Packages) -> None:
    packages.add("irtk_package", "from irtk_package import part\n", path="irtk_package/__init__.py")
    packages.add("irtk_package.part", "value = 3\n", path="irtk_package/part.py")
    seen: list[Any] = []
    after_import("irtk_package", lambda: seen.append(sys.modules["irtk_package"].part.value))
    importlib.import_module("irtk_package.part")
    assert seen == [3]


def test_an_action_may_import_the_package(packages: Packages) -> None:
    packages.add("irtk_again", "value = 4\n")
    seen: list[Any] = []
    after_import("irtk_again", lambda: seen.append(importlib.import_module("irtk_again").value))
    importlib.import_module("irtk_again")
    assert seen == [4]


def test_looking_for_the_package_runs_nothing_and_loses_nothing(packages: Packages) -> None:
    packages.add("irtk_sought", "")
    seen: list[int] = []
    after_import("irtk_sought", lambda: seen.append(1))
    for _ in range(2):
        spec = importlib.util.find_spec("irtk_sought")
        assert spec is not None
        assert spec.origin == str(packages.folder / "irtk_sought.py")
    assert seen == []
    importlib.import_module("irtk_sought")
    assert seen == [1]


def test_a_package_that_is_not_there(packages: Packages) -> None:
    seen: list[int] = []
    after_import("irtk_absent", lambda: seen.append(1))
    for _ in range(2):
        assert importlib.util.find_spec("irtk_absent") is None
        with pytest.raises(ModuleNotFoundError, match="irtk_absent"):
            importlib.import_module("irtk_absent")
    packages.add("irtk_absent", "")  # installed meanwhile
    importlib.import_module("irtk_absent")
    assert seen == [1]


def test_an_import_that_fails_and_then_does_not(packages: Packages) -> None:
    packages.add("irtk_broken", "raise RuntimeError('not yet')\n")
    seen: list[int] = []
    after_import("irtk_broken", lambda: seen.append(1))
    with pytest.raises(RuntimeError, match="not yet"):
        importlib.import_module("irtk_broken")
    assert seen == []
    assert "irtk_broken" not in sys.modules
    packages.add("irtk_broken", "value = 'well'\n")
    assert importlib.import_module("irtk_broken").value == "well"
    assert seen == [1]


def test_a_loader_that_loads_other_modules_too(
    packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a zip file's does: the action waits for its own package, not for the next module."""
    archive = packages.folder / "irtk.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("irtk_zipped.py", "import irtk_zipped_too\ndone = True\n")
        out.writestr("irtk_zipped_too.py", "")
    monkeypatch.syspath_prepend(archive)
    for name in ("irtk_zipped", "irtk_zipped_too"):
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
        del sys.modules[name]
    seen: list[bool] = []
    after_import("irtk_zipped", lambda: seen.append(hasattr(sys.modules["irtk_zipped"], "done")))
    importlib.import_module("irtk_zipped")
    assert seen == [True]


@pytest.mark.parametrize(
    "first",
    ["irtoolkit.integrations.pyterrier", "irtoolkit.pyterrier", "pyterrier"],
)
def test_pyterrier_is_found_whatever_is_imported_first(first: str) -> None:
    """PyTerrier loads our entry points while it is imported itself."""
    pytest.importorskip("pyterrier", reason="pyterrier is not installed")
    found = python(
        f"""
import json, {first}
import pyterrier as pt
from irtoolkit.pyterrier import Retriever
print(json.dumps([pt.irtoolkit.Retriever is Retriever, len(pt.get_dataset("irtoolkit:csfcube/sample").get_topics())]))
"""
    )
    assert found == [True, 6]

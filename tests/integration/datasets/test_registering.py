"""Registered collections across processes and commands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from irtoolkit.datasets import dataset_ids
from irtoolkit.datasets.local import registered, registry
from irtoolkit.datasets.local.registering import register_collection
from tests.unit.datasets.local.test_registering import CLOSED, DOCS, QRELS, Command, Files, python
from tests.waiting import PATIENCE


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Every test has a list of collections and a cache of its own, and takes back its ids."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
    before = dataset_ids()
    yield tmp_path / "home"
    for name in set(dataset_ids()) - set(before):
        registered.drop_from_ir_datasets(name)
    assert dataset_ids() == before


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder of files: folder({"docs.trec": "..."}, name="mine")."""

    def make(files: Files, name: str = "mine") -> Path:
        for file, content in files.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return make


@pytest.fixture
def small(folder: Callable[..., Path]) -> Path:
    """A sound collection."""
    return folder({"docs.trec": DOCS, "topics.txt": CLOSED, "qrels": QRELS})


@pytest.mark.parametrize("first", ["irtoolkit", "ir_datasets"])
def test_a_new_process_remembers_and_parses_nothing(small: Path, first: str) -> None:
    register_collection("t/x", small)
    done = python(
        f"import {first}, irtoolkit, ir_datasets\nfrom irtoolkit.datasets.local import collection\n"
        "collection.write_docs = lambda *args: 1 / 0\ndataset = ir_datasets.load('t/x')\n"
        "print(dataset.docs_count(), dataset.queries_count(), ir_datasets.docs_parent_id('t/x'))"
    )
    assert done.stdout == "2 1 t/x\n"


# Of a kind that a new process warns of like the first ones: it reads the list as commands do.
ALIKE = [
    "{",
    '{"version": 1}',
    '{"version": "1", "collections": {}}',
    '{"version": 1, "version": 1}',
]
DAMAGES = ["", f'{{"version": {registry.VERSION + 1}, "collections": {{}}}}', "\ud800"]


def damaged(small: Path, damage: str) -> Path:
    """The list of collections, with a collection in it and then damaged."""
    register_collection("t/x", small)
    path = registry.registry_path()
    path.write_bytes(damage.encode("utf-8", "surrogatepass"))
    return path


@pytest.mark.parametrize(
    "damage", [*DAMAGES, *(pytest.param(d, marks=pytest.mark.nightly) for d in ALIKE)]
)
def test_a_new_process_warns_of_a_damaged_list(small: Path, damage: str) -> None:
    path = damaged(small, damage)
    done = python(
        "import irtoolkit.datasets, ir_datasets\nprint('t/x' in list(ir_datasets.registry))"
    )
    assert done.stdout == "False\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"[WARNING] irtoolkit: {path}")


@pytest.mark.parametrize("damage", [*DAMAGES, *ALIKE])
def test_a_damaged_list_is_refused_and_stays(small: Path, irtoolkit: Command, damage: str) -> None:
    path = damaged(small, damage)
    for args in ((), ("t/z", small), ("--remove", "t/x")):
        answer = irtoolkit("register", *args)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.startswith(f"irtoolkit: {path}")
        assert answer.err.rstrip().endswith(")")
    assert path.read_bytes() == damage.encode("utf-8", "surrogatepass")


def test_a_moved_folder(small: Path, irtoolkit: Command) -> None:
    register_collection("t/x", small)
    small.rename(small.with_name("moved"))
    commands = ("datasets t/x", "retrieve t/x bm25 -o x.run", "export t/x docs", "export t/x qrels")
    # In a process that has not seen the folder where it was.
    done = python(
        f"import irtoolkit.cli\nprint([irtoolkit.cli.main(words.split()) for words in {commands}])"
    )
    assert done.stdout == f"{[2] * len(commands)}\n"
    lines = done.stderr.splitlines()
    assert len(lines) == len(commands)
    for line in lines:
        assert "this file of the registered collection t/x is gone" in line
        assert "irtoolkit register --remove t/x" in line
    listed = json.loads(irtoolkit("datasets", "--format", "json").out)
    (record,) = (r for r in listed if r["id"] == "t/x")
    assert record["where"] is None
    assert "is gone" in record["how to get it"]


def test_two_processes_lose_nothing(small: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\nfrom irtoolkit.datasets.local import registry\n"
        "entry = registry.read_registry()['t/x']\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "for i in range(25): registry.add_record(f't/{sys.argv[1]}-{i}', entry)\n"
        "registry.drop_record(f't/{sys.argv[1]}-0')\n"
    )
    register_collection("t/x", small)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for name in "ab"
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    assert [process.wait(PATIENCE) for process in both] == [0, 0]
    for process in both:
        process.communicate()
    wanted = {"t/x", *(f"t/{name}-{i}" for name in "ab" for i in range(1, 25))}
    assert set(registry.read_registry()) == wanted


def test_two_commands_at_once(small: Path) -> None:
    script = "import irtoolkit.cli, sys; sys.exit(irtoolkit.cli.main(sys.argv[1:]))"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script, "register", f"t/{name}", str(small)],
            stderr=subprocess.PIPE,
        )
        for name in "ab"
    ]
    assert [process.wait(PATIENCE) for process in both] == [0, 0], [p.communicate() for p in both]
    for process in both:
        process.communicate()
    assert set(registry.read_registry()) == {"t/a", "t/b"}


MEASURED = """
import resource
from pathlib import Path
import irtoolkit.datasets, ir_datasets
from irtoolkit.datasets.local.registering import register_collection

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

def private():
    lines = open("/proc/self/status").read().splitlines()
    return max(int(line.split()[1]) // 1024 for line in lines if line.startswith("RssAnon"))

before = peak()
register_collection("t/big", Path("big"))
print(peak() - before)
before, most, count = private(), 0, 0
for count, doc in enumerate(ir_datasets.load("t/big").docs_iter(), 1):
    if count % 2500 == 0:
        most = max(most, private())
print(count)
print(most - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_documents_are_not_held_in_memory(folder: Callable[..., Path]) -> None:
    """210 MB of text: checking it takes 120 MB at most, and going through it 40 MB."""
    path = folder({"docs.trec": ""}, "big")
    with open(path / "docs.trec", "w") as out:
        for i in range(100_000):
            out.write(f"<DOC>\n<DOCNO>D-{i}</DOCNO>\n{'some words of a text ' * 100}\n</DOC>\n")
    checking, count, reading = map(int, python(MEASURED).stdout.split())
    assert count == 100_000
    assert checking < 120
    assert reading < 40


@pytest.fixture(scope="session")
def real_vaswani(real_data: Path) -> Path:
    """The real collection in TREC's format, by a path that holds in any folder."""
    if not (real_data / "vaswani").is_dir():
        pytest.skip(f"{real_data} has no vaswani collection")
    return (real_data / "vaswani").resolve()


def test_vaswani(real_vaswani: Path, irtoolkit: Command) -> None:
    answer = irtoolkit("register", "vaswani", real_vaswani, "--topics", "query-text.trec")
    assert "the id vaswani is ir_datasets' own (choose another name)" in answer.err
    answer = irtoolkit("register", "npl", real_vaswani)
    assert answer.status == 2
    assert "several files may be its topics: query-text.trec or query_light.trec" in answer.err
    answer = irtoolkit("register", "npl", real_vaswani, "--topics", "query-text.trec")
    assert "npl registered: 11429 docs, 93 topics, 2083 qrels" in answer.err
    assert irtoolkit("datasets", "npl").status == 0
    assert irtoolkit("retrieve", "npl", "bm25", "-o", "v.run", "--depth", "1000").status == 0
    assert irtoolkit("check", "v.run", "--dataset", "npl").status == 0
    answer = irtoolkit("eval", "npl", "v.run", "--measures", "AP nDCG", "--format", "json")
    figures = json.loads(answer.out)["v.run"]
    # Topics or documents that were misread would move it much further.
    assert figures["AP"] == pytest.approx(0.287, abs=0.01)
    done = python(
        "import irtoolkit.datasets, ir_datasets; d = ir_datasets.load('npl')\n"
        "print(d.docs_count(), d.queries_count(), sum(1 for _ in d.qrels_iter()))"
    )
    assert done.stdout == "11429 93 2083\n"

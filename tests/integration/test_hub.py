"""Runs, indexes and datasets to and from the Hugging Face hub, which a local server stands in for.

The hub's client reads its address when it is imported, so the commands run in a process of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.runs import Run
from tests.conftest import ROOT
from tests.hub import Hub, Repository, hub
from tests.unit.datasets.hub.folders import MTEB, written
from tests.waiting import PATIENCE

pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
pytest.importorskip("fsspec", reason="the extra remote is not installed")

# Runs several commands; prints the status, the output and the messages of each.
COMMANDS = """
import contextlib, io, json, sys
from irtoolkit.cli import main
answers = []
for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(command)
    answers.append((status, out.getvalue(), err.getvalue()))
print(json.dumps(answers))
"""
ARTIFACT = """
import sys
import pyterrier as pt
url, folder = sys.argv[1:]
pt.Artifact.load(folder).to_hf("someone/papers")
read = pt.Artifact.from_url(f"{url}/datasets/someone/papers/resolve/main/artifact.tar.lz4")
print(type(read).__module__, *read.retriever(num_results=3).search("parsing trees").docno)
"""


@pytest.fixture
def server() -> Iterator[Hub]:
    with hub() as running:
        yield running


def python(server: Hub, tmp_path: Path, code: str, *args: object, **more: str) -> str:
    """Runs Python against the hub."""
    places = {"IRTOOLKIT_CACHE": tmp_path / "cache", "HF_HOME": tmp_path / "hf"}
    places["PYTERRIER_HOME"] = tmp_path / "pt"
    own = {name: str(path) for name, path in places.items()}
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, **server.environment(), **own, **more}, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def irtoolkit(server: Hub, tmp_path: Path, *commands: str, **more: str) -> list[list[str]]:
    """Status, output and messages of each command."""
    given = json.dumps([command.split() for command in commands])
    answers: list[list[str]] = json.loads(python(server, tmp_path, COMMANDS, given, **more))
    return answers


def test_a_dataset_is_published_as_it_is_on_disk(server: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    command = f"export csfcube/sample hf {folder} --private --push hf://datasets/someone"
    first, again = irtoolkit(server, tmp_path, f"{command}/new", f"{command}/new")
    assert first[0] == 0, first[2]
    assert f"published: {server.url}/datasets/someone/new" in first[2]
    there = server.repositories["someone/new"]
    files = {path for path in folder.rglob("*") if path.is_file()}
    assert there.private
    assert there.files == {str(path.relative_to(folder)): path.read_bytes() for path in files}
    assert again[0] == 2
    assert "has 4 files already" in again[2]


def test_what_the_hub_or_a_licence_refuses_is_one_line(server: Hub, tmp_path: Path) -> None:
    push = "--push hf://datasets/someone/new"
    (closed, refused) = irtoolkit(
        server, tmp_path,
        f"export relic/val hf {tmp_path / 'closed'} {push}",
        f"export csfcube/sample hf {tmp_path / 'out'} {push}",
        HF_TOKEN="hf_of_nobody",
    )  # fmt: skip
    assert (closed[0], closed[2].count("\n"), refused[0]) == (2, 1, 2)
    assert "no licence is known that allows to publish relic/val" in closed[2]
    assert "401 Unauthorized" in refused[2]
    assert not server.repositories
    assert not (tmp_path / "closed").exists()


def test_a_dataset_that_was_read_once_is_read_offline(server: Hub, tmp_path: Path) -> None:
    folder = written(tmp_path / "data", MTEB)
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip
    server.repositories["someone/data"] = Repository(files=files, commits=1)
    command = f"retrieve hf:someone/data bm25 -o {tmp_path}"
    (online,) = irtoolkit(server, tmp_path, f"{command}/online.run")
    assert online[0] == 0, online[2]
    asked = len(server.asked)
    (offline,) = irtoolkit(server, tmp_path, f"{command}/offline.run", HF_HUB_OFFLINE="1")
    assert offline[0] == 0, offline[2]
    assert server.asked[asked:] == []
    runs = [(tmp_path / f"{name}.run").read_bytes() for name in ("online", "offline")]
    assert runs[0] == runs[1]
    (never,) = irtoolkit(server, tmp_path, "datasets hf:someone/other", HF_HUB_OFFLINE="1")
    assert never[0] == 2
    assert "someone/other is not in its cache: HF_HUB_OFFLINE is set" in never[2]


def test_a_run_and_an_index_on_the_hub_are_those_on_disk(server: Hub, tmp_path: Path) -> None:
    server.repositories["someone/work"] = Repository()
    place = "hf://datasets/someone/work"
    made, scored, indexed, found, checked, missing = irtoolkit(
        server, tmp_path,
        f"retrieve csfcube/sample bm25 -o {place}/bm25.run",
        f"eval csfcube/sample {place}/bm25.run --format json",
        f"index csfcube/sample bm25 -o {place}/papers",
        f"search {place}/papers parsing --format json -k 3",
        f"index {place}/papers --verify",
        "retrieve csfcube/sample bm25 -o hf://datasets/someone/none/bm25.run",
    )  # fmt: skip
    for status, _, err in (made, scored, indexed, found, checked):
        assert status == 0, err
    run = tmp_path / "bm25.run"
    run.write_bytes(server.repositories["someone/work"].files["bm25.run"])
    ours = ir.retrieve("csfcube/sample", "bm25", progress=False)
    assert Run.read(run) == ours
    figures = ir.evaluate("csfcube/sample", ours).figures()
    assert list(json.loads(scored[1]).values()) == list(figures.values())
    local = ir.index("csfcube/sample", "bm25", progress=False).search("parsing", k=3)
    assert all(hit.doc_id in found[1] for hit in local)
    # Nothing is ranked before the repository is known to be there.
    assert missing[0] == 2
    assert "hf repos create" in missing[2]
    assert "candidates" not in missing[2]


def test_an_index_is_shared_as_a_pyterrier_artifact(server: Hub, tmp_path: Path) -> None:
    pytest.importorskip("pyterrier", reason="pyterrier is not installed")
    pytest.importorskip("lz4", reason="lz4 is not installed")
    index = ir.index("csfcube/sample", "bm25", tmp_path / "papers", progress=False)
    out = python(server, tmp_path, ARTIFACT, server.url, tmp_path / "papers")
    kind, *ids = out.splitlines()[-1].split()
    assert kind.startswith("irtoolkit.")
    assert ids == [hit.doc_id for hit in index.search("parsing trees", k=3)]
    assert "artifact.tar.lz4" in server.repositories["someone/papers"].files

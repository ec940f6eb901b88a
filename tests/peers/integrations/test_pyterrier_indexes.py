"""Kept indexes as PyTerrier artifacts: the rows of `irtoolkit retrieve`, and nothing prepared twice."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.indexes import writer
from irtoolkit.ranking.session import SystemSession
from irtoolkit.runs import Run
from tests.conftest import ROOT
from tests.tiny import save

pt = pytest.importorskip("pyterrier", reason="pyterrier is not installed")

from irtoolkit.pyterrier import Dataset, Index, Reranker  # noqa: E402

CORPUS = "plotretrieval/sample/val"
ENTRY_POINTS = """\
[pyterrier.artifact]
sparse_index.irtoolkit = irtoolkit.integrations.pyterrier:Index
dense_index.irtoolkit = irtoolkit.integrations.pyterrier:Index
[pyterrier.artifact.metadata_adapter]
irtoolkit = irtoolkit.integrations.pyterrier:artifact_metadata
"""


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRTOOLKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("indexes") / "bm25"
    ir.index(CORPUS, "bm25", place, progress=False)
    return place


@pytest.fixture
def sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing may be prepared."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("documents were prepared")

    monkeypatch.setattr(writer, "put", refuse)
    monkeypatch.setattr(SystemSession, "prepare", refuse)


def topics() -> pd.DataFrame:
    return Dataset(CORPUS).get_topics()


def rows(found: pd.DataFrame) -> list[Any]:
    columns = (found[name].tolist() for name in ("qid", "docno", "score", "rank"))
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("given", [{}, {"k1": 1.6, "b": 0.9}])
def test_rows_are_those_of_retrieve(
    given: dict[str, float], folder: Path, tmp_path: Path, irtoolkit: Callable[..., Any],
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    path = tmp_path / "x.run"
    args = [part for key, value in given.items() for part in (f"--{key}", value)]
    done = irtoolkit(
        "retrieve", CORPUS, "bm25", "-o", path, "--depth", 7, "--candidates", "corpus", *args
    )
    assert done.status == 0
    request.getfixturevalue("sealed")
    run = Run.read(path)
    ranked = zip(run, run.ranks.tolist(), strict=True)
    # A search lists what shares a term with the query; retrieve ranks all documents.
    expected = [(*row, rank - 1) for row, rank in ranked if row[2] > 0]
    bm25 = Index(folder).retriever(num_results=7, **given)
    assert rows(bm25(topics())) == expected
    parts = pd.concat([*bm25.transform_gen(topics().iloc[::-1])])
    assert sorted(rows(parts)) == sorted(expected)
    assert len(expected) > 7


def test_a_query_is_searched_by_text(folder: Path, sealed: None) -> None:
    query = topics()["query"].iloc[0]
    hits = ir.open_index(folder, k1=1.4).search(query, k=4)
    found = Index(folder).retriever(num_results=4, include_text=True, k1=1.4).search(query)
    assert found["docno"].tolist() == hits.doc_ids
    assert found["score"].tolist() == hits.scores
    assert found["text"].tolist() == hits.texts
    assert all(hits.texts)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank", "text"]


def test_ties_and_documents_without_a_term(tmp_path: Path) -> None:
    docs = [{"id": name, "text": "a cat"} for name in ("a", "c", "b")] + [
        {"id": "d", "text": "dog"}
    ]
    kept = ir.index(docs, "bm25", tmp_path / "ix", progress=False)
    found = Index(kept).retriever()(pd.DataFrame({"qid": ["1", "2"], "query": ["cat", "bird"]}))
    assert found["docno"].tolist() == ["c", "b", "a"]
    assert found["rank"].tolist() == [0, 1, 2]
    assert found["score"].is_monotonic_decreasing
    assert found["score"].nunique() == 3


def test_what_is_indexed_in_memory_is_searched_too() -> None:
    index = ir.index(["a cat", "a dog", "two cats"], "bm25", progress=False)
    found = Index(index).retriever(include_text=True).search("dog")
    assert (found["docno"].iloc[0], found["text"].iloc[0]) == ("1", "a dog")
    with pytest.raises(InputError, match="other settings than k1=2"):
        Index(index).retriever(k1=2)


def test_vectors_are_searched(tmp_path: Path) -> None:
    model = save(tmp_path / "model", seed=1)
    kept = ir.index(
        CORPUS, "dense", tmp_path / "ix", progress=False, model=str(model), pooling="mean"
    )
    dense = Index(tmp_path / "ix").retriever(num_results=5)
    expected = kept.search_many(dict(zip(topics()["qid"], topics()["query"], strict=True)), 5)
    assert [row[:3] for row in rows(dense(topics()))] == [tuple(row) for row in expected]
    assert pt.inspect.artifact_type_format(Index(kept)) == ("dense_index", "irtoolkit")


def test_pipelines(folder: Path) -> None:
    bm25 = Index(folder).retriever()
    loader = Index(folder).text_loader()
    found = (bm25 % 5 >> loader >> Reranker(None, "tfidf"))(topics())
    assert found.groupby("qid").size().max() == 5
    assert found["text"].str.len().gt(0).all()
    assert (bm25 % 5).compile() == Index(folder).retriever(num_results=5) != bm25
    assert rows((bm25 % 5).compile()(topics())) == rows((bm25 % 5)(topics()))
    outputs = pt.inspect.transformer_outputs(bm25, ["qid", "query"])
    assert outputs == ["qid", "query", "docno", "score", "rank"]
    asked, qrels = Dataset(CORPUS).get_topicsqrels()
    before = bm25.get_parameter("k1")
    pt.GridScan(bm25, {bm25: {"k1": [0.1, 4.0]}}, asked, qrels, ["map"])
    bm25.set_parameter("k1", 4.0)
    assert bm25.get_parameter("k1") == 4.0 != before
    assert bm25 == Index(folder).retriever(k1="4.0")
    with pytest.raises(InputError, match="k1=-1"):
        bm25.set_parameter("k1", -1)
    assert bm25.get_parameter("k1") == 4.0
    copy = pickle.loads(pickle.dumps(bm25))
    assert copy == bm25
    assert rows(copy(topics())) == rows(bm25(topics()))


def test_pyterrier_loads_the_folder(folder: Path, tmp_path: Path) -> None:
    """And what it packages of it, where irtoolkit is installed."""
    declared = {entry.name for entry in metadata.entry_points(group="pyterrier.artifact")}
    if "sparse_index.irtoolkit" not in declared:  # a source tree: what an installation would write
        entries = tmp_path / "irtoolkit_entries-0.dist-info"
        entries.mkdir()
        (entries / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: irtoolkit-entries\nVersion: 0\n"
        )
        (entries / "entry_points.txt").write_text(ENTRY_POINTS)
    code = f"""
import json, tarfile, pyterrier as pt
from lz4.frame import LZ4FrameFile
index = pt.Artifact.load({str(folder)!r})
package = index.build_package({str(tmp_path / "index.tar.lz4")!r}, verbose=False)
with LZ4FrameFile(package) as file, tarfile.open(fileobj=file, mode="r|") as members:
    members.extractall({str(tmp_path / "again")!r}, filter="data")
again = pt.Artifact.load({str(tmp_path / "again")!r})
found = [one.retriever(num_results=3).search("captain")["docno"].tolist() for one in (index, again)]
print(json.dumps([type(index).__name__, type(again).__name__, *found]))
"""
    home = {"PYTERRIER_HOME": str(tmp_path / "home")}
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **home, "PYTHONPATH": path}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    one, other, first, second = json.loads(done.stdout.splitlines()[-1])
    assert (one, other) == ("Index", "Index")
    assert first == second
    assert len(first) > 0

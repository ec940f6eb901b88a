"""Lucene indexes that others made: own ones, prebuilt ones by name, and indexes of impacts."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers.lucene import given
from irtoolkit.retrievers.lucene.retriever import Lucene
from irtoolkit.retrievers.task import load_task
from irtoolkit.runs import Run
from tests.datasets import register, scores_of
from tests.lucene import import_pyserini, with_java

DOCS = {
    "d1": "cat cat dog and a fish",
    "d2": "dog bird",
    "d3": " \t\n",
    "d4": "fish fish fish newt bird cats",
    "鲁": "cat",
}
WEIGHTS = {
    "d1": {"cat": 120, "dog": 33, "##s": 4},
    "d2": {"dog": 90, "bird": 17},
    "d4": {"fish": 200, "bird": 45, "cat": 8},
}


def build(folder: Path, docs: list[dict[str, str]], *arguments: str) -> str:
    """An index as Pyserini makes it."""
    base = ["-input", "", "-collection", "JsonCollection", "-index", str(folder), "-threads", "1"]
    indexer = import_pyserini().LuceneIndexer(args=[*base, *arguments])
    indexer.add_batch_dict(docs)
    indexer.close()
    return str(folder)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("indexes") / "own"
    docs = [{"id": name, "contents": text} for name, text in DOCS.items()]
    return build(folder, docs, "-storeDocvectors")


@pytest.fixture(scope="module")
def impacts(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("indexes") / "impacts"
    # What Anserini's JsonVectorCollection makes of a vector.
    docs = [
        {"id": name, "contents": " ".join(t for t, w in vector.items() for _ in range(w))}
        for name, vector in WEIGHTS.items()
    ]
    return build(folder, docs, "-impact", "-pretokenized")


@with_java
def test_the_command_searches_an_own_index(
    own: str, tmp_path: Path, irtoolkit: Callable[..., Any]
) -> None:
    docs = tmp_path / "docs.jsonl"
    lines = [json.dumps({"id": name, "contents": text}) for name, text in DOCS.items()]
    docs.write_text("\n".join(lines) + "\n")
    topics = tmp_path / "topics.tsv"
    topics.write_text("q1\tcat and dog\n")
    runs = {}
    for name, args in {
        "own": ["--index", own], "built": [], "rm3": ["--index", own, "--rm3", "true"],
        "rocchio": ["--index", own, "--rocchio", "true", "--fb_terms", "2"],
    }.items():  # fmt: skip
        out = tmp_path / f"{name}.run"
        done = irtoolkit("retrieve", docs, "lucene", "--topics", topics, "-o", out, *args)
        assert done.status == 0, done.err
        runs[name] = [row[1:3] for row in Run.read(out)]
    assert runs["own"] == runs["built"]
    assert len({tuple(run) for run in runs.values()}) == 3


@with_java
def test_a_pool_and_a_larger_index(own: str) -> None:
    pools = {"q": ["d4", "d3", "d2"]}
    found = scores_of(register(DOCS, {"q": "cat bird"}, pools), Lucene(index=own))["q"]
    whole = scores_of(register(DOCS, {"q": "cat bird"}), Lucene(index=own))["q"]
    assert found == {name: whole[name] for name in pools["q"]}
    assert found["d4"] > 0 == found["d3"]
    some = {name: DOCS[name] for name in ("d1", "d2")}
    part = scores_of(register(some, {"q": "cat bird"}), Lucene(index=own))["q"]
    assert part == {name: whole[name] for name in some}


@with_java
def test_impacts_are_those_of_pyserini(impacts: str) -> None:
    queries = {"q1": {"cat": 3, "bird": 7}, "q2": {"##s": 100, "unknown": 2}, "q3": {"fish": 2}}

    class Encoder:
        def encode(self, query: str) -> dict[str, int]:
            return queries[query]

    theirs = import_pyserini().LuceneImpactSearcher(impacts, Encoder(), min_idf=-1)
    texts = {name: json.dumps(weights) for name, weights in queries.items()}
    repeated = {
        name: " ".join(term for term, weight in weights.items() for _ in range(weight))
        for name, weights in queries.items()
    }
    docs = dict.fromkeys(WEIGHTS, "a text")
    retriever = Lucene(index=impacts, model="impact")
    ours = scores_of(register(docs, texts), retriever)
    assert scores_of(register(docs, repeated), retriever) == ours
    for name, weights in queries.items():
        expected = {
            doc: float(sum(weight * vector.get(term, 0) for term, weight in weights.items()))
            for doc, vector in WEIGHTS.items()
        }
        assert ours[name] == expected
        hits = {hit.docid: hit.score for hit in theirs.search(name, k=10)}
        assert {doc: score for doc, score in expected.items() if score} == pytest.approx(hits)


@with_java
def test_feedback_needs_document_vectors(tmp_path: Path) -> None:
    docs = [{"id": name, "contents": text} for name, text in DOCS.items()]
    folder = build(tmp_path / "bare", docs)
    task = load_task(register(DOCS, {"q": "cat"}))
    assert Lucene(index=folder).scorer(task)
    for settings in ({"rm3": True}, {"rocchio": True}):
        with pytest.raises(InputError, match="has no document vectors") as caught:
            Lucene(index=folder, **settings).scorer(task)
        assert "-storeDocvectors" in str(caught.value)


@with_java
def test_what_is_no_index_of_the_collection(own: str, tmp_path: Path) -> None:
    task = load_task(register({**DOCS, "new": "cat"}, {"q": "cat"}))
    with pytest.raises(InputError, match=r"document new of test-.* is not in the index"):
        Lucene(index=own).scorer(task)
    with pytest.raises(InputError, match="there is no folder indexes/none"):
        Lucene(index="indexes/none").scorer(task)
    with pytest.raises(InputError, match="holds no Lucene index"):
        Lucene(index=str(tmp_path)).scorer(task)
    broken = shutil.copytree(own, tmp_path / "broken")
    for path in broken.glob("segments_*"):
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="Lucene cannot read the index"):
        Lucene(index=str(broken)).scorer(task)


# -- prebuilt indexes ------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pyserini's folder of downloaded indexes."""
    monkeypatch.setenv("PYSERINI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "indexes"


@with_java
@pytest.mark.parametrize(
    "folder", ["docs-v1", "lucene-inverted.docs-v1.20260101.abc123.0123456789abcdef"]
)
def test_an_index_that_is_downloaded_is_found_without_a_network(
    folder: str, own: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(own, home / folder)
    (home / "lucene-inverted.docs-v1.d2q.20260101.abc123.0").mkdir()
    monkeypatch.setattr(given, "_download", None)
    name = register(DOCS, {"q": "cat"})
    assert scores_of(name, Lucene(index="docs-v1")) == scores_of(name, Lucene(index=own))


@pytest.fixture
def util(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Pyserini's module of downloads, with a list of one index."""
    pyserini = pytest.importorskip("pyserini")
    module = ModuleType("pyserini.util")
    vars(module).update(TF_INDEX_INFO={"docs-v1": {}}, IMPACT_INDEX_INFO={})
    monkeypatch.setitem(sys.modules, "pyserini.util", module)
    monkeypatch.setattr(pyserini, "util", module, raising=False)
    return module


@with_java
def test_a_name_is_downloaded_by_pyserini(util: ModuleType, own: str, home: Path) -> None:
    asked: list[str] = []

    def download(name: str, verbose: bool) -> str:
        asked.append(name)
        print("downloading")
        return own

    vars(util)["download_prebuilt_index"] = download
    name = register(DOCS, {"q": "cat"})
    assert scores_of(name, Lucene(index="docs-v1")) == scores_of(name, Lucene(index=own))
    assert set(asked) == {"docs-v1"}


@with_java
def test_one_error_says_what_to_do(util: ModuleType, home: Path) -> None:
    def download(name: str, verbose: bool) -> str:
        raise OSError("no network")

    vars(util)["download_prebuilt_index"] = download
    with pytest.raises(
        InputError, match="cannot download a prebuilt index here: no network"
    ) as caught:
        given.index_folder("docs-v1")
    assert str(home) in str(caught.value)
    with pytest.raises(InputError, match=r"docs-v2 is neither a folder nor one of .*did you mean docs-v1"):  # fmt: skip
        given.index_folder("docs-v2")

"""Documents in any number of shards, in any order, deleted and added again: one ranking."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.ranking import build_index
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import index_sources
from irtoolkit.retrievers.stored_index import StoredIndex
from tests.conftest import Answer
from tests.integration.indexes.killed import WORDS, texts

DOCS = texts(0, 340)
QUERIES = {f"q{n}": (" ".join(random.Random(n).choices(WORDS, k=1 + n % 4)),) for n in range(40)}
RELEVANT = {query: [f"d{n}", "d7", "d339", "missing"] for n, query in enumerate(QUERIES)}


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(index_sources, "_READ_DOCS", 20)
    monkeypatch.setattr(index_sources, "BLOCK_DOCS", 20)


def ranking(index: StoredIndex) -> Any:
    names, segments = list(QUERIES), list(QUERIES.values())
    run = index.run(names, segments, 50)
    docs = [str(run.doc_ids[doc]) for doc in run.docs]
    ranks = index.exact_ranks(names, segments, RELEVANT)
    return run.offsets.tolist(), docs, run.scores.tolist(), ranks


def built(folder: Path, docs: dict[str, str], memory: int, system: str = "bm25") -> StoredIndex:
    data = ir.load(docs, name="first")
    return build_index.build(data, find_system(system, {}), folder, memory=memory, progress=False)


@pytest.mark.parametrize("system", ["bm25", "tfidf"])
def test_one_ranking_however_documents_came(system: str, tmp_path: Path) -> None:
    one = built(tmp_path / "one", DOCS, 1 << 30, system)
    many = built(tmp_path / "many", DOCS, 1, system)
    assert [len(index.manifest.shards) for index in (one, many)] == [1, 17]
    wanted = ranking(one)
    assert ranking(many) == wanted

    names = list(DOCS)
    random.Random(3).shuffle(names)
    parts = [names[:100], names[100:101], names[101:]]
    three = built(tmp_path / "three", {name: DOCS[name] for name in parts[0]}, 1 << 30, system)
    for part in parts[1:]:
        three = three.add({name: DOCS[name] for name in part})
    assert len(three.manifest.shards) == 3
    assert ranking(three) == wanted

    gone = random.Random(4).sample(names, 90)
    three = three.delete(gone)
    left = {name: text for name, text in DOCS.items() if name not in gone}
    assert ranking(three) == ranking(built(tmp_path / "left", left, 1, system))
    again = three.add({name: DOCS[name] for name in gone}, memory=1)
    assert ranking(again) == wanted
    merged = again.merge()
    assert len(merged.manifest.shards) == 1
    assert ranking(merged) == wanted
    assert merged.verify() > 10


def test_postings_serve_all_retrievers_that_match_terms(
    tmp_path: Path, irtoolkit: Callable[..., Answer]
) -> None:
    index = built(tmp_path / "index", DOCS, 1 << 30)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*")}
    for system in ("ql", "tfidf", "bm25"):
        other = built(tmp_path / "index", DOCS, 1 << 30, system)
        assert other.searched_by == system
        assert ranking(other) == ranking(built(tmp_path / system, DOCS, 1, system))
        assert pickle.loads(pickle.dumps(other)).searched_by == system
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*")}
    assert ranking(index.with_settings(k1=2.0)) != ranking(index)
    opened = ir.open_index(tmp_path / "index", "tfidf", smooth=False)
    assert (opened.searched_by, opened.settings()["smooth"]) == ("tfidf", False)
    found = irtoolkit("search", tmp_path / "index", "captain", "--system", "ql", "--mu", "5", "-k1")
    best = built(tmp_path / "ql", DOCS, 1, "ql").with_settings(mu=5.0).search("captain", k=1)[0]
    assert found.out.splitlines()[0] == f"  1  {best.score:.4f}  {best.doc_id}"


def test_everything_deleted_and_merged(tmp_path: Path) -> None:
    index = built(tmp_path / "index", DOCS, 1)
    empty = index.delete(list(DOCS)).merge()
    assert (len(empty), len(empty.search("whale"))) == (0, 0)
    assert len(empty.search_many(["whale"])) == 0
    assert ranking(empty.add(DOCS)) == ranking(built(tmp_path / "other", DOCS, 1))


STRANGE = {
    "an id with spaces": "a whale",
    "nul\0nul": "a whale",
    "nul": "a whale",
    "x" * 5000: "a whale",
    "鲸鱼": "a whale",
    "\x1b[2J": "a whale \x1b]0;title\x07",
    "empty": "",
    "blank": " \n\t ",
    "bytes": "ÿþ \xff\xfe a whale",
}


def test_strange_documents(tmp_path: Path, irtoolkit: Callable[..., Answer]) -> None:
    index = built(tmp_path / "index", STRANGE, 1)
    found = index.search("whale")
    assert set(found.doc_ids) == STRANGE.keys() - {"empty", "blank"}
    assert all(STRANGE[hit.doc_id] == hit.text for hit in found)
    assert "\x1b" not in repr(found)
    for form in ("text", "json"):
        answer = irtoolkit("search", tmp_path / "index", "whale", "--format", form)
        assert answer.status == 0
        assert not {"\x1b", "\x07", "\0"} & set(answer.out)
    assert len(index.delete(["nul\0nul"]).search("whale")) == len(found) - 1
    # No terminal is cleared by an error.
    assert "\x1b" not in irtoolkit("index", tmp_path / "index", "--delete", "\x1b[2J no").err


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="document a: half a surrogate pair at character 3"):
        built(tmp_path / "index", {"b": "a whale", "a": "x \ud800"}, 1)


def test_queries_at_the_edges(tmp_path: Path) -> None:
    index = built(tmp_path / "index", DOCS, 1)
    assert list(index.search("zebra")) == []
    assert len(index.search("whale", k=10**9)) <= len(DOCS)
    for bad in (0, -1):
        with pytest.raises(InputError, match="not at least 1"):
            index.search("whale", k=bad)

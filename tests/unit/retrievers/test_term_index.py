"""Terms of a task's documents: an index in the cache, or one in memory; the scores are the same."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import term_index as indexing
from irtoolkit.retrievers.base import scores_of
from irtoolkit.retrievers.build_index import build
from irtoolkit.retrievers.lexical import BM25, Lexical
from irtoolkit.retrievers.listing import Listing
from irtoolkit.retrievers.query_likelihood import QueryLikelihood
from irtoolkit.retrievers.task import load_task
from irtoolkit.retrievers.term_index import SearchedByTerms, term_index
from irtoolkit.retrievers.tfidf import TFIDF


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of indexes, in a cache of its own."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "indexes"


def built(cache: Path) -> int:
    return len([path for path in cache.iterdir() if path.is_dir()]) if cache.is_dir() else 0


def test_retrievers_with_the_same_terms_share_an_index(cache: Path) -> None:
    task = load_task("csfcube/sample")
    fed = (find_system(name, {}).retriever for name in ("rm3", "rm3-ql", "rocchio"))
    for retriever in (BM25(), QueryLikelihood(), TFIDF(), *fed):
        assert isinstance(retriever, Lexical)
        term_index(retriever.on("en"), task)
    assert built(cache) == 1
    term_index(BM25(analyzer="words"), task)
    assert built(cache) == 2


def test_an_index_in_the_cache_is_opened_once_and_again_where_it_is_gone(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []

    def counted(*args: Any, **more: Any) -> Any:
        opened.append(args)
        return build(*args, **more)

    monkeypatch.setattr(indexing, "build", counted)
    task = load_task("csfcube/sample")
    for retriever in (BM25(), BM25(k1=1.2), QueryLikelihood()):
        term_index(retriever.on("en"), task)
    assert len(opened) == 1
    shutil.rmtree(cache)
    term_index(BM25().on("en"), task)
    assert len(opened) == 2
    assert built(cache) == 1


def test_without_a_cache_the_index_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "file"))
    index = term_index(BM25(analyzer="words"), load_task("csfcube/sample"))
    assert index.searcher.shards.size == len(index.numbers)


def test_few_candidates_of_many_documents_are_indexed_in_memory(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_LARGE", 10)
    monkeypatch.setattr(indexing, "_SHARE", 2.0)
    task = load_task("csfcube/sample")
    term_index(BM25(statistics="candidates", analyzer="words"), task)
    assert built(cache) == 0
    term_index(BM25(analyzer="words"), task)
    assert built(cache) == 1


@pytest.mark.parametrize("name", ["csfcube/sample", "relic/sample/val"])
def test_a_candidate_without_a_text_is_named(name: str) -> None:
    task = load_task(name)
    task.doc_ids[0] = id_array(["nobody"])[0]
    with pytest.raises(InputError, match=f"candidate nobody has no text in {name}"):
        term_index(BM25(analyzer="words"), task)


def test_a_term_that_weighs_nothing_makes_a_match() -> None:
    """The inverse document frequency of a term that half of the documents have is 0 in okapi."""
    docs = {"a": "cat fish", "b": "cat", "c": "dog", "d": "bird"}
    index = ir.index(docs, "bm25", form="okapi", analyzer="words")
    found = index.search_many({"q": "cat fish"})
    assert [row.doc_id for row in found.ranking("q")] == ["a", "b"]
    assert index.search("cat").scores == pytest.approx([0.0, 0.0], abs=1e-40)


def test_documents_that_tie_share_terms_that_weigh_nothing() -> None:
    """They tie: a term that weighs nothing adds nothing."""
    docs = {"a": "cat dog", "b": "cat fish", "c": "dog bird", "d": "bird fish"}
    for queries in (["cat"], ["cat", "dog bird"]):
        task = load_task(ir.load(docs, queries=dict(zip("qr", queries, strict=False))))
        score = BM25(form="okapi", analyzer="words").scorer(task)(np.arange(4))
        assert scores_of(score(np.array([0]))).tolist() == [[0.0] * 4]


@pytest.mark.parametrize(
    "system", ["bm25", "ql", "tfidf", "bm25-anserini", "rm3", "rm3-ql", "rocchio"]
)
@pytest.mark.parametrize("fill", [False, True])
def test_the_best_of_a_corpus_are_those_of_all_scores(
    system: str, fill: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("whale", "sea", "ship", "captain", "the", "storm", "harbour")
    draw = np.random.default_rng(7)
    texts = {f"d{n}": " ".join(draw.choice(words, draw.integers(1, 9))) for n in range(120)}
    queries = {"a": "whale storm", "b": "ship ship the", "c": "unheard", "d": "captain of the sea"}
    qrels = {"a": {"d3": 1, "d7": 2}, "b": {"d119": 1}, "c": {"d5": 1}}
    data = ir.load(texts, queries=queries, qrels=qrels)
    calls: list[int] = []
    best = SearchedByTerms.best
    monkeypatch.setattr(SearchedByTerms, "best", lambda *own: calls.append(1) or best(*own))
    listed = ir.retrieve(data, system, depth=10, progress=False, fill=fill)
    assert calls
    monkeypatch.setattr(Listing, "may_search", lambda *_: False)
    scored = ir.retrieve(data, system, depth=10, progress=False, fill=fill)
    assert len(calls) == 1
    assert listed.as_dict() == scored.as_dict()
    assert listed.exact_ranks == scored.exact_ranks
    for query in queries:
        assert listed.ranking(query) == scored.ranking(query)

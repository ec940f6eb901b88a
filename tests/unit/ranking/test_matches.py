"""A match is a shared term, whatever it scores; rankings of a corpus list matches unless they fill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.bm25_forms import FORMS
from tests.lucene import with_java

CATS = {"a": "cat one", "b": "cat two"}
ZOO = {"a": "cat one", "b": "cat two", "c": "dog", "d": "bird song"}
QUERIES = {"q1": "cat", "q2": "unicorn", "q3": "dog song"}
TERMS = ["bm25", "ql", "tfidf", "rm3", "rocchio"]


def index(docs: Any, system: str, place: Path | None, **settings: Any) -> Any:
    """An index in memory, or in a folder."""
    path = None if place is None else place / "index"
    return ir.index(ir.load(docs), system, path, progress=False, **settings)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(
    ("form", "query", "scores"),
    [
        ("okapi", "cat one", {"a": -0.1341, "b": -0.1341}),
        ("okapi", "cat", {"a": -0.1341, "b": -0.1341}),
        ("atire", "cat", {"a": 0.0, "b": 0.0}),
    ],
)
def test_matches_with_a_score_of_0_or_less_are_found(
    form: str, query: str, scores: dict[str, float], kept: bool, tmp_path: Path
) -> None:
    found = index(CATS, "bm25", tmp_path if kept else None, form=form).search(query)
    assert dict(zip(found.doc_ids, found.scores, strict=True)) == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("fill", [False, True])
def test_few_rows_are_the_first_of_many_where_matches_score_less_than_0(
    fill: bool, tmp_path: Path
) -> None:
    """Some of these are beyond the last row; the term that half of the documents have weighs nothing."""
    docs = {"a": "dog", "b": "dog", "c": "cat eel", "d": "cat eel cow", "e": "cat cow eel"}
    kept = index(docs | {"f": "eel cow cat"}, "bm25", tmp_path, form="okapi")
    queries = {"q1": "cat", "q2": "cat cow", "q3": "dog"}
    texts = [(text,) for text in queries.values()]
    runs = [kept.run(list(queries), texts, depth, fill=fill) for depth in range(1, 7)]
    assert any(row.score < 0 for row in runs[-1].ranking("q1"))
    for depth, run in enumerate(runs, 1):
        for query in queries:
            rows, whole = ([row.doc_id for row in r.ranking(query)] for r in (run, runs[-1]))
            assert rows == whole[:depth]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_finds_what_shares_a_term(form: str, kept: bool, tmp_path: Path) -> None:
    """Also a term in half of the documents, whose idf is 0 in okapi."""
    found = index(ZOO, "bm25", tmp_path if kept else None, form=form)
    assert set(found.search("cat").doc_ids) == {"a", "b"}
    assert found.search("song").doc_ids == ["d"]
    assert not found.search("unicorn")


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("system", TERMS)
def test_a_search_lists_matches_alone(system: str, kept: bool, tmp_path: Path) -> None:
    found = index(ZOO, system, tmp_path if kept else None)
    assert set(found.search("cat").doc_ids) == {"a", "b"}
    assert not found.search("unicorn")


@pytest.mark.parametrize("system", TERMS)
def test_a_run_of_a_corpus_lists_matches_unless_it_fills(system: str) -> None:
    data = ir.load(ZOO, queries=QUERIES, qrels={"q1": {"a": 1, "d": 1}, "q2": {"c": 1}})
    matches, filled = ir.retrieve(data, system), ir.retrieve(data, system, fill=True)
    rows = {query: [row.doc_id for row in matches.ranking(query)] for query in QUERIES}
    assert {query: set(docs) for query, docs in rows.items()} == {
        "q1": {"a", "b"}, "q2": set(), "q3": {"c", "d"}
    }  # fmt: skip
    assert len(filled.docs) == len(ZOO) * len(QUERIES)
    # They are over all documents.
    assert matches.exact_ranks == filled.exact_ranks
    assert set(matches.exact_ranks["q1"]) == {"a", "d"}


@pytest.mark.parametrize("form", ["okapi", "atire", "lucene", "bm25+"])
def test_a_kept_index_fills_as_memory_does(form: str, tmp_path: Path) -> None:
    """Other documents stand among matches where these score less than 0."""
    (tmp_path / "docs.jsonl").write_text(
        "".join(f'{{"id": "{i}", "text": "cat w{i % 5}"}}\n' for i in range(40))
        + '{"id": "x", "text": "dog"}\n{"id": "y", "text": "dog bird"}\n'
    )
    (tmp_path / "topics.tsv").write_text("q1\tcat\nq2\tcat w1\nq3\tdog\n")
    settings = {"form": form, "fill": True}
    docs = str(tmp_path / "docs.jsonl")
    data = ir.load(docs, queries=str(tmp_path / "topics.tsv"))
    for depth in (3, 30, 50):
        kept = ir.retrieve(data, "bm25", depth=depth, **settings)
        memory = ir.retrieve(data, "bm25", depth=depth, ties="best", **settings)
        for query in ("q1", "q2", "q3"):
            one, other = kept.ranking(query), memory.ranking(query)
            assert len(one) == len(other) == min(depth, 42)
            assert np.allclose([r.score for r in one], [r.score for r in other], atol=1e-6)


def test_pools_are_ranked_whole() -> None:
    data = ir.load(ZOO, queries={"q": "cat"}, candidates={"q": list(ZOO)})
    assert len(ir.retrieve(data, "bm25").ranking("q")) == len(ZOO)
    data = ir.load(ZOO, queries={"q": "cat"})
    among = ir.retrieve(data, "bm25", fill=True)
    assert len(ir.rerank(data, among, "tfidf").ranking("q")) == len(ZOO)


def test_fill_is_true_or_false() -> None:
    assert System.make("s", "bm25", {"fill": "true"}).task.fill
    assert not System.make("s", "bm25", {}).task.fill
    with pytest.raises(InputError, match="fill=perhaps is not true or false"):
        System.make("s", "bm25", {"fill": "perhaps"})


def listed(run: Any) -> dict[str, list[str]]:
    return {query: [row.doc_id for row in run.ranking(query)] for query in run.query_ids}


@with_java
@pytest.mark.parametrize("settings", [{}, {"model": "qld"}, {"rm3": True}, {"rocchio": True}])
def test_lucene_lists_matches_unless_it_fills(settings: dict[str, Any]) -> None:
    data = ir.load(ZOO, queries=QUERIES)
    matches = listed(ir.retrieve(data, "lucene", progress=False, **settings))
    assert {query: set(docs) for query, docs in matches.items()} == {
        "q1": {"a", "b"}, "q2": set(), "q3": {"c", "d"}
    }  # fmt: skip
    filled = listed(ir.retrieve(data, "lucene", fill=True, progress=False, **settings))
    assert {len(docs) for docs in filled.values()} == {len(ZOO)}
    for query, docs in matches.items():
        assert filled[query][: len(docs)] == docs


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        ("they have been wet", ["wet"]),
        ("having walked", ["walked"]),
        ("they have", ["have"]),
    ],
)
def test_function_words_are_marked_only_where_nothing_else_matches(
    query: str, marked: list[str]
) -> None:
    index = ir.index(
        {"a": "You must have been wet.", "b": "We have walked.", "c": "Be glad to have."}
    )
    hit = next(hit for hit in index.search(query) if hit.matches)
    assert [hit.text[a:b].lower() for a, b in hit.matches] == marked

"""Passages scored with the sentences around them, against windows cut out and scored one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.base.spans import Span
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.decided import made_of
from irtoolkit.ranking.session import SystemSession
from irtoolkit.ranking.systems import System
from irtoolkit.ranking.texts import TextQuery
from irtoolkit.retrievers import surroundings
from irtoolkit.retrievers._book_windows import Surrounded
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.base import scores_of as bare
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.query_likelihood import QueryLikelihood
from irtoolkit.retrievers.surroundings import BM25Surroundings, LikelihoodSurroundings
from irtoolkit.retrievers.task import load_task
from tests import datasets
from tests.datasets import scores_of

RELIC, PLOT = "relic/sample/train", "plotretrieval/sample/val"
Table = dict[str, dict[str, float]]


def window_text(dataset: Dataset, doc_id: str, around: int) -> str:
    passages = dataset.passages()
    assert passages is not None
    span = Span.parse(doc_id)
    book = {book.name: book for book, _, _ in passages.groups}[span.book]
    return " ".join(book.stripped[max(0, span.start - around) : span.stop + around])


def restated(
    name: str, base: Retriever, shares: dict[int, float], typed: str | None = None
) -> Table:
    """Windows of each size as documents of their own, ranked by the plain retriever.

    What is typed stands in place of each query.
    """
    dataset = Dataset.load(name)
    task = load_task(dataset)
    asked = {
        query: typed or segments[0]
        for query, segments in zip(task.query_ids, task.queries, strict=True)
    }
    pools = {
        str(task.query_ids[query]): task.doc_ids[group.docs].tolist()
        for group in task.groups
        for query in group.queries
    }
    total: Table = {query: dict.fromkeys(pool, 0.0) for query, pool in pools.items()}
    for around, share in shares.items():
        texts = {doc_id: window_text(dataset, doc_id, around) for doc_id in task.doc_ids.tolist()}
        cut = datasets.register(texts, asked, pools)
        for query, row in scores_of(cut, base).items():
            for doc_id, score in row.items():
                total[query][doc_id] += share * score
    return total


def assert_same(found: Table, expected: Table) -> None:
    assert found.keys() == expected.keys()
    for query, row in expected.items():
        assert found[query] == pytest.approx(row, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", [RELIC, PLOT])
@pytest.mark.parametrize(
    ("make", "base"),
    [
        (lambda **more: BM25Surroundings(**more), BM25(statistics="candidates")),
        (
            lambda **more: BM25Surroundings(form="okapi", tokenizer="word", stop="none", **more),
            BM25(statistics="candidates", form="okapi", tokenizer="word", stop="none"),
        ),
        (lambda **more: BM25Surroundings(form="bm25+", **more), BM25(statistics="candidates", form="bm25+")),
        (lambda **more: LikelihoodSurroundings(**more), QueryLikelihood(statistics="candidates")),
        (
            lambda **more: LikelihoodSurroundings(smoothing="jm", **more),
            QueryLikelihood(statistics="candidates", smoothing="jm"),
        ),
    ],
    ids=["lucene", "okapi", "bm25+", "dirichlet", "jm"],
)  # fmt: skip
def test_the_score_is_that_of_windows_cut_out_of_the_book(
    name: str, make: Callable[..., Surrounded], base: Retriever
) -> None:
    made = make(around="2/7", weight=0.6)
    assert_same(scores_of(name, made), restated(name, base, {0: 0.4, 2: 0.3, 7: 0.3}))


def test_statistics_of_the_corpus_are_those_of_all_windows() -> None:
    # The sample's candidates are all chunks of the one book.
    one, two = (BM25Surroundings(statistics=which) for which in ("candidates", "corpus"))
    assert_same(scores_of(PLOT, two), scores_of(PLOT, one))
    one, two = (replace(made, around="3", weight=1.0) for made in (one, two))
    apart = scores_of(RELIC, two)
    assert scores_of(RELIC, one) != apart
    dataset = Dataset.load(RELIC)
    passages = dataset.passages()
    assert passages is not None
    texts = {doc_id: window_text(dataset, doc_id, 3) for doc_id in passages}
    task = load_task(dataset)
    asked = {q: text[0] for q, text in zip(task.query_ids, task.queries, strict=True)}
    everything = scores_of(datasets.register(texts, asked), BM25())
    for query, row in apart.items():
        assert row == pytest.approx({doc: everything[query][doc] for doc in row})


def test_farther_sentences_of_the_query_count_less() -> None:
    dataset = Dataset.load(RELIC)
    queries = list(dataset.queries_iter())
    plain = BM25(statistics="candidates")
    found = scores_of(RELIC, BM25Surroundings(weight=0.0, fade=0.5))
    task = load_task(dataset)
    pools = {
        str(task.query_ids[query]): task.doc_ids[group.docs].tolist()
        for group in task.groups
        for query in group.queries
    }
    texts = {doc_id: window_text(dataset, doc_id, 0) for doc_id in task.doc_ids.tolist()}
    expected: Table = {query: dict.fromkeys(pool, 0.0) for query, pool in pools.items()}
    for distance in range(4):
        asked = {}
        for query in queries:
            near = (*query.left[::-1][distance : distance + 1], *query.right[distance:][:1])
            asked[query.query_id] = " ".join(near)
        part = scores_of(datasets.register(texts, asked, pools), plain)
        for query_id, row in part.items():
            for doc_id, score in row.items():
                expected[query_id][doc_id] += 0.5**distance * score
    assert_same(found, expected)


@pytest.mark.parametrize(
    ("name", "statistics"), [(RELIC, "candidates"), (PLOT, "candidates"), (PLOT, "corpus")]
)
def test_texts_that_are_typed_are_taken_as_they_are(
    name: str, statistics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever `fade` is: they have no sides. And the books are counted once for all of them."""
    settings = {"around": "2/7", "weight": 0.6, "fade": 0.5, "statistics": statistics, "fill": True}
    session = SystemSession(System.make("s", "bm25-surroundings", settings), name)
    session.prepare()
    monkeypatch.setattr(surroundings, "book_windows", None)
    queries = [query.query_id for query in Dataset.load(name).queries_iter()]
    for typed in ("a house by the sea", "a house that nobody else wrote of: xyzzy"):
        found = session.rank([TextQuery(query, typed) for query in queries])
        table = {
            query: dict(zip(one.doc_ids.tolist(), one.scores.tolist(), strict=True))
            for query, one in zip(queries, found, strict=True)
        }
        base = BM25(statistics="candidates")
        for query, row in restated(name, base, {0: 0.4, 2: 0.3, 7: 0.3}, typed).items():
            assert table[query] == pytest.approx(row, rel=1e-6, abs=1e-6)


def test_equal_scores_do_not_depend_on_who_else_is_asked() -> None:
    task = load_task(RELIC)
    group = task.groups[0]
    score = BM25Surroundings().scorer(task)(group.docs)
    together = np.asarray(bare(score(group.queries)))
    assert len(together) > 1
    one = [np.asarray(bare(score(group.queries[i : i + 1]))) for i in range(len(together))]
    alone = np.concatenate(one)
    np.testing.assert_allclose(together, alone, rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"around": "0"}, "around=0 is not numbers of sentences"),
        ({"around": "1,2"}, "around=1,2 is not numbers of sentences"),
        ({"weight": "1.5"}, "weight=1.5 is not between 0 and 1"),
        ({"weight": "nan"}, "weight=nan is not between 0 and 1"),
        ({"fade": "0"}, "fade=0.0 is not above 0"),
        ({"k1": "-1"}, "k1=-1.0 is not between"),
    ],
)
def test_values_out_of_range_are_refused(settings: dict[str, Any], found: str) -> None:
    with pytest.raises(InputError, match=found):
        BM25Surroundings.with_settings(settings)


def test_what_is_no_book_is_refused() -> None:
    with pytest.raises(InputError, match="are not passages of books"):
        scores_of("csfcube/sample", BM25Surroundings())
    with pytest.raises(InputError, match="has no text field 'left'"):
        scores_of(PLOT, BM25Surroundings(fade=0.5))
    with pytest.raises(InputError, match="not query=left"):
        scores_of(RELIC, BM25Surroundings(fade=0.5), query="left")
    with pytest.raises(InputError, match="not doc=book"):
        scores_of(RELIC, BM25Surroundings(), doc="book")


def test_a_run_is_decided_by_the_sentences_of_the_books() -> None:
    task = load_task(RELIC)
    system = System("x", BM25Surroundings())
    kept = made_of(system, task)["training"]
    assert kept is not None
    assert made_of(System("x", BM25Surroundings(fade=0.5)), task)["training"] != kept
    assert kept != made_of(system, load_task("relic/sample/val"))["training"]

"""What little work gives without compiled loops, and with them: the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base import compiled
from irtoolkit.base.analysis import ANALYZERS, AnalyzerName
from irtoolkit.base.errors import InputError
from irtoolkit.indexes import documents
from irtoolkit.indexes.lexical_maker import PostingsMaker
from irtoolkit.indexes.postings import ARRAYS, PostingsShard
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings
from irtoolkit.retrievers.lexical import BM25
from irtoolkit.retrievers.query_likelihood import QueryLikelihood
from irtoolkit.retrievers.tfidf import TFIDF
from irtoolkit.runs.top_k import TieOrder, before, first_unwritable, top_k

T = TypeVar("T")
WORDS = (
    "whale",
    "Whales",
    "the",
    "sea's",
    "caf\u00e9",
    "3.14",
    "\u9be8\u9b5a",
    "x_y",
    "a",
    "running",
)
SCORED = st.sampled_from(
    [
        BM25(analyzer="standard"),
        QueryLikelihood(analyzer="standard"),
        QueryLikelihood(analyzer="standard", smoothing="jm"),
        TFIDF(analyzer="standard"),
    ]
)
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), max_size=30)


def both(work: Callable[[], T]) -> tuple[T, T]:
    """What some work gives without compiled loops, and with them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled.Work, "steps", 0)
        patch.setattr(compiled, "STEPS", 1 << 60)
        plain = work()
        assert compiled.Work.steps < compiled.STEPS
        compiled.load()
        return plain, work()


def shard_of(texts: list[str], analyzer: AnalyzerName) -> PostingsShard:
    maker = PostingsMaker(*ANALYZERS[analyzer], memory=1 << 30)
    maker.begin(Path("memory"))
    for first in range(0, len(texts), 7):
        maker.add([(text,) for text in texts[first : first + 7]])
    made = maker.made()
    maker.close()
    ids = [str(number) for number in range(len(texts))]
    return PostingsShard(made, OpenShard.in_memory(Strings.of(ids)))


def same(one: PostingsShard, other: PostingsShard) -> None:
    assert list(one.terms) == list(other.terms)
    for name in ARRAYS:
        left, right = (getattr(shard, name.replace("-", "_")) for shard in (one, other))
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


@given(TEXTS, st.sampled_from(sorted(ANALYZERS)), st.data())
def test_postings_are_the_same(texts: list[str], analyzer: AnalyzerName, data: Any) -> None:
    plain, fast = both(lambda: shard_of(texts, analyzer))
    same(plain, fast)
    chosen = st.sets(st.integers(0, len(texts) - 1)) if texts else st.just(set())
    pool = np.array(sorted(data.draw(chosen)), np.int64)
    terms = np.array(data.draw(st.lists(st.integers(-1, len(fast.terms) - 1))), np.int64)
    for wanted in (None, terms):
        same(*both(lambda wanted=wanted: fast.subset(pool, wanted)))  # type: ignore[misc]


@given(
    TEXTS.filter(bool), st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), SCORED
)  # fmt: skip
def test_searches_are_the_same(texts: list[str], query: str, retriever: Any) -> None:
    ids = [f"d{number}" for number in range(len(texts))]
    form = retriever.index_format()
    assert form is not None
    searcher = form.searcher(form.in_memory([(text,) for text in texts], ids))

    def found() -> list[Any]:
        hits = searcher.search([(query,), ("whale sea",)], 5)
        ranks = searcher.ranks([(query,)], [list(range(len(texts)))])
        scores = searcher.every(searcher.terms([(query,)])).scores
        return [*(column.tolist() for column in hits), ranks, scores.tolist()]

    plain, fast = both(found)
    assert plain == fast


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.data())
def test_orders_are_the_same(values: list[int], data: Any) -> None:
    kind = data.draw(st.sampled_from([np.float32, np.float64]))
    ties = data.draw(st.sampled_from(["trec", "pool"]))
    near = data.draw(st.sampled_from([0.0, 1e-12, 1e-7]))
    row = np.array(values, kind) + near * np.arange(len(values))
    scores = np.stack([row, row[::-1]]).astype(kind)
    tied = TieOrder(np.random.default_rng(len(values)).permutation(len(values)), ties)
    k = data.draw(st.sampled_from([None, 1, 3]))
    for one, other in zip(*both(lambda: top_k(scores, tied, k)), strict=True):
        np.testing.assert_array_equal(one, other)
    pairs = np.array([0, 1]), np.array([0, len(values) - 1])
    for one, other in zip(*both(lambda: before(scores, tied, *pairs)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("loaded", [False, True])
def test_scores_without_room_below_are_refused(
    loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled.Work, "steps", compiled.STEPS if loaded else 0)
    scores = np.full((1, 3), np.finfo(np.float32).min)
    with pytest.raises(InputError, match="no room to tell tied documents apart"):
        top_k(scores, TieOrder(np.array([0, 1, 2]), "pool"), None)


def test_the_first_score_that_cannot_be_written() -> None:
    scores = np.ones((4, 3))
    assert first_unwritable(scores) is None
    assert first_unwritable(scores[:, :0]) is None
    scores[1, 2], scores[3, 0] = -3.5e38, np.inf
    assert first_unwritable(scores) == (1, 2)
    scores[1, 1] = np.nan
    assert first_unwritable(scores) == (1, 1)


@given(st.lists(st.text(max_size=12), max_size=20))
def test_hashes_are_those_of_fnv(ids: list[str]) -> None:
    def expected(text: str) -> int:
        code = 14695981039346656037
        for byte in text.encode():
            code = (code ^ byte) * 1099511628211 % 2**64
        return code ^ (code >> 32)

    assert documents.hashes(Strings.of(ids)).tolist() == [expected(text) for text in ids]


def test_a_process_loads_compiled_loops_when_it_has_done_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled.Work, "steps", 0)
    monkeypatch.setattr(compiled, "STEPS", 10)
    assert not compiled.is_worth_loading(4)
    assert (compiled.would_load(5), compiled.would_load(6)) == (False, True)
    assert compiled.is_worth_loading(6)
    assert compiled.is_worth_loading(0)

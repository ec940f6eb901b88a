"""Exact search of vectors in memory beside the exact scores of all documents."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.base import rows as rows_of_cores
from irtoolkit.indexes import maxsim, nearest, proposals
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.nearest import Searched, ShardSearch
from irtoolkit.indexes.proposals import Proposals
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.runs.top_k import TieOrder, before, top_k
from tests.conftest import EXAMPLES

Draw = np.random.Generator


def random(draw: Draw, width: int) -> Any:
    return draw.normal(size=(700, width)) * np.exp(draw.normal(size=(700, 1)))


def twins(draw: Draw, width: int) -> Any:
    return random(draw, width)[draw.integers(0, 40, 700)]


def nearly_twins(draw: Draw, width: int) -> Any:
    """Documents that differ in the last bits alone."""
    one = draw.normal(size=width)
    return one * (1 + draw.integers(-3, 4, (700, width)) * 2.0**-22)


def below_bf16(draw: Draw, width: int) -> Any:
    """Documents that are the same in bf16, but not in their order."""
    one = draw.normal(size=width).astype(np.float32)
    return one * (1 + draw.uniform(-1, 1, (700, width)) * 2.0**-10)


def opposite(draw: Draw, width: int) -> Any:
    """No score is positive."""
    return -np.abs(random(draw, width))


def nothing(draw: Draw, width: int) -> Any:
    made = random(draw, width)
    made[draw.random(700) < 0.6] = 0
    return made


def tiny(draw: Draw, width: int) -> Any:
    """Documents whose products single precision cannot hold."""
    return random(draw, width) * 1e-21


DOCUMENTS = (random, twins, nearly_twins, below_bf16, opposite, nothing, tiny)


@settings(max_examples=min(EXAMPLES, 60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    made=st.sampled_from(DOCUMENTS),
    similarity=st.sampled_from(["cosine", "dot"]),
    stored=st.sampled_from(["fp32", "fp16", "int8"]),
    depth=st.sampled_from([1, 20, 70]),
)
@pytest.mark.parametrize("half", [False, True])
def test_the_best_and_the_ranks_are_those_of_all_scores(
    half: bool, seed: int, made: Any, similarity: Any, stored: Any, depth: int
) -> None:
    draw = np.random.default_rng(seed)
    width = int(draw.choice([1, 3, 32, 70]))
    docs = made(draw, width)
    shard = VectorShard.of([(docs, np.ones(len(docs), np.int64))], stored)
    asked = np.concatenate([docs[:3], draw.normal(size=(3, width)), np.abs(docs[3:5])])
    how = VectorComparison(similarity)
    queries = QueryVectors.of(asked, np.arange(len(asked) + 1), how)
    tied = TieOrder(draw.permutation(len(docs)), "trec")
    rows = np.sort(draw.integers(0, len(asked), 9))
    places = draw.integers(0, len(docs), 9)
    with pytest.MonkeyPatch.context() as patch:
        if half:
            pytest.importorskip("torch")
        patch.setattr(proposals, "_has_fast_bf16", lambda: half)
        patch.setattr(proposals, "_DOCS", (128, 128))
        patch.setattr(proposals, "_LEAST", 100)
        patch.setattr(nearest, "_MANY", 1)
        patch.setattr(nearest, "_FEW", 1)
        # Cores look through some of the documents each.
        patch.setattr(rows_of_cores, "_ALONE", 1)
        found = Searched(ShardSearch(shard), queries).best(tied, depth, rows, places)
    scores = how.scores(queries, shard)
    best, written = top_k(scores, tied, depth)
    counts, greater = before(scores, tied, rows, places)
    np.testing.assert_array_equal(found.places, best)
    np.testing.assert_array_equal(found.scores, written)
    np.testing.assert_array_equal(found.ranks, counts + 1)
    np.testing.assert_array_equal(found.above, greater)


@settings(max_examples=min(EXAMPLES, 60), deadline=None)
@given(seed=st.integers(0, 2**32), made=st.sampled_from(DOCUMENTS), cosine=st.booleans())
@pytest.mark.parametrize("half", [False, True])
def test_products_are_no_further_off_than_they_can_be(
    half: bool, seed: int, made: Any, cosine: bool
) -> None:
    draw = np.random.default_rng(seed)
    docs = made(draw, 48)
    shard = VectorShard.of([(docs, np.ones(len(docs), np.int64))])
    how = VectorComparison("cosine" if cosine else "dot")
    queries = QueryVectors.of(docs[:9], np.arange(10), how)
    exact = how.scores(queries, shard)
    if cosine:  # the length of a query is 1 in a proposal, and 0 of a query that is 0
        exact = np.where(queries.squares[:, None] > 0, exact, 0)
    with pytest.MonkeyPatch.context() as patch:
        if half:
            pytest.importorskip("torch")
        patch.setattr(proposals, "_has_fast_bf16", lambda: half)
        multiplied = Proposals(shard, cosine)
        for block in multiplied.blocks(multiplied.factors(queries.rows), slice(100, 700)):
            bits = block.bits.astype(np.int32) << 16 if half else block.bits
            values = bits.view(np.float32).astype(np.float64)
            off = block.off[0][:, None] + block.off[1][:, None] * np.abs(values)
            own = exact[:, block.first : block.first + values.shape[1]]
            assert (np.abs(values - own) <= off).all()


def test_a_score_that_is_not_finite_comes_first() -> None:
    docs = np.ones((50, 3))
    docs[7] = np.nan
    shard = VectorShard.of([(docs, np.ones(50, np.int64))])
    queries = QueryVectors.of(np.ones((2, 3)), np.arange(3), VectorComparison("dot"))
    nobody = np.empty(0, np.int64)
    found = Searched(ShardSearch(shard), queries).best(
        TieOrder(np.arange(50), "trec"), 5, nobody, nobody
    )
    assert found.places[0, 0] == 7
    assert np.isnan(found.scores[0, 0])


@settings(max_examples=min(EXAMPLES, 60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    made=st.sampled_from(DOCUMENTS),
    how=st.sampled_from(
        [
            VectorComparison("cosine"),
            VectorComparison("dot", total=True),
            VectorComparison("dot", total=True, average=True),
            VectorComparison("dot", total=True, without=0),
        ]
    ),
    stored=st.sampled_from(["fp32", "fp16", "int8"]),
)
@pytest.mark.parametrize("half", [False, True])
def test_the_most_similar_vectors_are_those_of_all_products(
    half: bool, seed: int, made: Any, how: VectorComparison, stored: Any
) -> None:  # fmt: skip
    draw = np.random.default_rng(seed)
    width = int(draw.choice([1, 3, 32, 70]))
    vectors = made(draw, width)
    counts = np.diff(np.sort(draw.integers(0, 700, 40)), prepend=0, append=700)
    asked = np.concatenate([vectors[:9], draw.normal(size=(4, width)), np.abs(vectors[9:11])])
    shard = VectorShard.of([(vectors, counts)], stored)
    queries = QueryVectors.of(asked, np.array([0, 1, 7, 15]), how)
    with pytest.MonkeyPatch.context() as patch:
        if half:
            pytest.importorskip("torch")
        patch.setattr(proposals, "_has_fast_bf16", lambda: half)
        patch.setattr(maxsim, "_WORTH", 1)
        patch.setattr(maxsim, "_CELLS", 1000)
        patch.setattr(rows_of_cores, "_ALONE", 1)
        found = how.scores(queries, shard)
        patch.setattr(maxsim.MaxSimQueries, "is_possible", lambda *_: False)
        np.testing.assert_array_equal(found, how.scores(queries, shard))


@pytest.mark.parametrize("vectors", [1, 2])
def test_documents_that_were_searched_do_not_stay_in_memory(
    monkeypatch: pytest.MonkeyPatch, vectors: int
) -> None:
    monkeypatch.setattr(nearest, "_MANY", 1)
    monkeypatch.setattr(nearest, "_FEW", 1)
    monkeypatch.setattr(maxsim, "_WORTH", 1)
    draw, nobody = np.random.default_rng(0), np.empty(0, np.int64)
    shard = VectorShard.of([(draw.normal(size=(50 * vectors, 8)), np.full(50, vectors))])
    gone = weakref.ref(shard)
    queries = QueryVectors.of(draw.normal(size=(2, 8)), np.arange(3), VectorComparison("dot"))
    if vectors == 1:
        Searched(ShardSearch(shard), queries).best(
            TieOrder(np.arange(50), "trec"), 5, nobody, nobody
        )
    else:
        queries.comparison.scores(queries, shard)
    gc.disable()
    del shard
    found = gone()
    gc.enable()
    assert found is None

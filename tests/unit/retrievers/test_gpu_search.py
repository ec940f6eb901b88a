"""Search on a GPU, by plain torch on the CPU: the documents, scores and ranks of double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.retrievers.gpu_search import GpuSearch, GpuTokens
from irtoolkit.retrievers.gpu_vectors import GpuVectors
from irtoolkit.runs.top_k import TieOrder, top_k

COUNT, DEPTH = 12_000, 10


def vectors(kind: str) -> tuple[Any, Any]:
    draw = np.random.default_rng(5)
    docs = draw.standard_normal((COUNT, 20)).astype(np.float32)
    queries = draw.standard_normal((6, 20)).astype(np.float32)
    if kind == "twins":  # more of them than are kept, and near the best of a query
        docs[100:140] = docs[3]
        docs[1_000:5_000] = docs[5]
        queries[2], queries[3] = docs[5], docs[3]
    if kind == "long":  # no length that half precision has
        docs *= np.float32(1e6)
        docs[7] = 0
    if kind == "short":
        docs *= np.float32(1e-9)
        queries[1] = 0
    return docs, queries


@pytest.mark.parametrize("kind", ["any", "twins", "long", "short"])
@pytest.mark.parametrize("room", [None, 0])
def test_documents_scores_and_ranks_are_those_of_double_precision(
    kind: str, room: int | None
) -> None:
    docs, queries = vectors(kind)
    draw = np.random.default_rng(6)
    names = draw.permutation(COUNT)
    rows = np.sort(draw.integers(0, len(queries), 9))
    places = draw.integers(0, COUNT, 9)
    there, tied = GpuVectors(docs, "cpu", room), TieOrder(names, "trec")
    found = GpuSearch(lambda: there, queries, lambda: docs).best(tied, DEPTH, rows, places)
    exact = (queries.astype(float) @ docs.T.astype(float)).astype(np.float32)
    order, scores = top_k(exact, tied, DEPTH)
    np.testing.assert_array_equal(found.places, order)
    np.testing.assert_array_equal(found.scores, scores)
    for row, place, rank, above in zip(rows, places, found.ranks, found.above, strict=True):
        own = exact[row]
        equal = np.count_nonzero((own == own[place]) & (names > names[place]))
        assert above == np.count_nonzero(own > own[place])
        assert rank == above + equal + 1


def test_what_a_product_of_halves_may_be_off_by_is_never_less_than_it_is() -> None:
    draw = np.random.default_rng(7)
    docs = draw.standard_normal((3_000, 100)).astype(np.float32)
    queries = draw.standard_normal((8, 100)).astype(np.float32)
    there = GpuVectors(docs, "cpu")
    asked = there.ask(queries)
    exact = (queries.astype(float) @ docs.T.astype(float)) * asked.scales.numpy()[:, None]
    for _, block in there.blocks(1_000):
        made = (asked.half.float() @ block.float().T).half().float()
        own = exact
        rows = np.arange(len(queries)).repeat(own.shape[1])
        off = asked.off(made.flatten(), rows).reshape(made.shape)
        assert (np.abs(made.numpy() - own) <= off.numpy()).all()


def test_maxsim_in_half_precision_is_near_that_of_the_cpu() -> None:
    draw = np.random.default_rng(8)
    counts, asked = draw.integers(0, 40, 20), draw.integers(1, 30, 3)
    starts, begins = (np.concatenate([[0], np.cumsum(each)]) for each in (counts, asked))

    def unit(rows: int) -> Any:
        made = draw.standard_normal((rows, 24)).astype(np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    docs, queries = unit(int(starts[-1])), unit(int(begins[-1]))
    how = VectorComparison("dot", total=True)
    exact = how.scores(QueryVectors.of(queries, begins, how), VectorShard.of([(docs, counts)]))
    np.testing.assert_allclose(
        GpuTokens(docs, starts, "cpu").maxsim(queries, begins), exact, atol=0.01
    )

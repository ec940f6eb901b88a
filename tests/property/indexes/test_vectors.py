"""Search over shards of vectors beside comparing every pair in whole numbers."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.documents import Documents, DocumentsWriter
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.vector_search import VectorSearch
from irtoolkit.indexes.vectors import VectorShard, VectorsWriter
from tests.conftest import EXAMPLES

COMPARISONS = (
    *(VectorComparison(similarity) for similarity in ("cosine", "dot", "l2")),
    VectorComparison("dot", total=True),
    VectorComparison("dot", total=True, average=True),
)


class Vectors:
    """Random documents, many of them equal or nearly so, in shards; some are deleted."""

    def __init__(self, folder: Path, seed: int, shards: int) -> None:
        draw = np.random.default_rng(seed)
        size, width = int(draw.integers(1, 60)), int(draw.choice([1, 3, 32]))
        several = bool(draw.integers(0, 2))
        counts = draw.integers(0, 4, size) if several else np.ones(size, np.int64)
        pool = draw.normal(size=(6, width)).astype(np.float32)
        pool[-1] = np.nextafter(pool[0], np.float32(9))
        pool[-2] = 0
        self.docs = [pool[draw.integers(0, 6, n)] for n in counts]
        self.ids = [f"d{number}" for number in draw.permutation(size * 2)[:size]]
        gone = draw.random(size) < 0.2
        self.gone = {self.ids[i] for i in np.flatnonzero(gone)} if not gone.all() else set()
        stored: Any = str(draw.choice(["fp32", "fp16", "int8"]))
        self.comparison = COMPARISONS[int(draw.integers(0, len(COMPARISONS)))]
        asked = draw.integers(1, 4, 3) if several else np.ones(3, np.int64)
        starts = np.concatenate([[0], np.cumsum(asked)]).astype(np.int64)
        queries = pool[draw.integers(0, 6, int(starts[-1]))] + draw.choice([0, 1])
        self.queries = QueryVectors.of(queries, starts, self.comparison)
        self.depth = int(draw.choice([1, 5, 1000]))
        which = np.random.default_rng(shards).integers(0, shards, size)
        self.parts = []
        for number in range(shards):
            own = np.flatnonzero(which == number).tolist()
            place = folder / str(number)
            place.mkdir()
            columns = DocumentsWriter(place, texts=False)
            columns.add([self.ids[i] for i in own], [])
            columns.close()
            writer = VectorsWriter(place, stored)
            rows = [np.empty((0, width), np.float32), *(self.docs[i] for i in own)]
            writer.add(np.concatenate(rows), counts[own])
            writer.close()
            deleted = [at for at, i in enumerate(own) if self.ids[i] in self.gone]
            gone = OpenShard(Documents(place), np.array(deleted, np.int64))
            self.parts.append((VectorShard.open(place), gone))
        self.search = VectorSearch(self.parts)

    def found(self, search: VectorSearch) -> list[list[tuple[str, float]]]:
        top = search.best(self.queries, self.depth)
        rows = list(zip(search.ids(top.documents), top.scores.tolist(), strict=True))
        bounds = zip(top.offsets[:-1].tolist(), top.offsets[1:].tolist(), strict=True)
        return [rows[first:last] for first, last in bounds]

    def every(self, query: int) -> list[tuple[str, float]]:
        rows = []
        for shard, docs in self.parts:
            for place, name in enumerate(docs.documents.ids):
                own = shard.rows(int(shard.starts[place]), int(shard.starts[place + 1]))
                if name not in self.gone:
                    rows.append((name, exact(self.queries.some(query, query + 1), own)))
        return sorted(rows, key=lambda row: (row[1], row[0]), reverse=True)


def exact(query: QueryVectors, doc: Any) -> float:
    """The score of a document from sums in fractions, which are rounded once if at all."""
    how, best = query.comparison, []
    for row in query.vectors.tolist():
        found = [similarity(how.similarity, row, other) for other in doc.tolist()]
        best.append(max(found, default=how.without))
    score = sum(best[1:], best[0]) if how.total else max(best)
    return score / len(best) if how.average else score


def similarity(name: str, row: list[float], other: list[float]) -> float:
    def product(a: list[float], b: list[float]) -> float:
        total = sum(map(operator.mul, map(Fraction, a), map(Fraction, b)), Fraction())
        assert Fraction(float(total)) == total
        return float(total)

    own, ab, squared = product(row, row), product(row, other), product(other, other)
    if name == "l2":
        return -math.sqrt(max(0.0, (squared + own) - 2 * ab))
    if name == "dot":
        return ab
    inverse = [1 / math.sqrt(square) if square else 0.0 for square in (squared, own)]
    return ab * inverse[0] * inverse[1]


@settings(max_examples=min(EXAMPLES, 60), deadline=None)
@given(seed=st.integers(0, 2**32), shards=st.sampled_from([1, 3]))
def test_the_best_are_those_of_every_pair(seed: int, shards: int) -> None:
    with TemporaryDirectory() as folder:
        vectors = Vectors(Path(folder), seed, shards)
        for query, found in enumerate(vectors.found(vectors.search)):
            assert found == vectors.every(query)[: vectors.depth]


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_many_documents_are_pruned_to_the_same(similarity: Any, tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    docs = draw.normal(size=(30_000, 8)).astype(np.float32)
    columns = DocumentsWriter(tmp_path, texts=False)
    columns.add([f"{number}" for number in range(len(docs))], [])
    columns.close()
    writer = VectorsWriter(tmp_path, "fp32")
    writer.add(docs, np.ones(len(docs), np.int64))
    writer.close()
    nothing = np.empty(0, np.int64)
    comparison = VectorComparison(similarity)
    search = VectorSearch([(VectorShard.open(tmp_path), OpenShard(Documents(tmp_path), nothing))])
    queries = QueryVectors.of(draw.normal(size=(5, 8)), np.arange(6), comparison)
    top = search.best(queries, 100)
    for query in range(5):
        scores = comparison.scores(queries.some(query, query + 1), search.vectors[0])[0]
        own = slice(top.offsets[query], top.offsets[query + 1])
        np.testing.assert_array_equal(top.documents[own], np.argsort(-scores, kind="stable")[:100])
        np.testing.assert_array_equal(top.scores[own], np.sort(scores)[::-1][:100])

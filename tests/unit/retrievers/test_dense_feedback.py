"""Feedback with vectors, beside the means of vectors that a model makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.models.encoder import Encoder
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.dense_feedback import DensePRF
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.task import load_task
from tests.datasets import register, scores_of
from tests.tiny import WORDS, save

DOCS = {f"d{n}": " ".join((WORDS * 3)[n : n + 1 + n % 4]) for n in range(30)}
DOCS["twin"] = DOCS["d4"]
QUERIES = {"q1": " ".join(WORDS[2:5]), "q2": WORDS[9], "q3": " ".join(WORDS[-4:])}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save(tmp_path_factory.mktemp("models") / "bert"))


def made(model: str, **settings: Any) -> DensePRF:
    return DensePRF(model=model, pooling="cls", device="cpu", **settings)


def vectors(retriever: Dense, texts: list[str], side: Any) -> Any:
    return Encoder(retriever.how(side)).encode(texts, what="texts", count=len(texts)).vectors()


def similar(query: Any, docs: Any, similarity: str) -> Any:
    if similarity == "l2":
        return -np.sqrt(((docs - query) ** 2).sum(axis=1))
    if similarity == "dot":
        return docs @ query
    return docs @ query / np.linalg.norm(docs, axis=1) / np.linalg.norm(query)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(
    "settings", [{}, {"feedback": "average", "fb_docs": 3}, {"fb_docs": 100, "alpha": 0.0}]
)
def test_scores_are_those_of_the_new_vector(
    model: str, similarity: Any, settings: dict[str, Any]
) -> None:
    retriever = made(model, similarity=similarity, **settings)
    ids = list(DOCS)
    docs = vectors(retriever, list(DOCS.values()), "document").astype(np.float64)
    found = scores_of(register(DOCS, QUERIES), retriever)
    for name, text in QUERIES.items():
        query = vectors(retriever, [text], "query")[0].astype(np.float64)
        first = similar(query, docs, similarity).round(12)  # equal texts have equal vectors
        best = sorted(range(len(ids)), key=lambda n: (first[n], ids[n]), reverse=True)
        best = best[: retriever.fb_docs]
        own, near = query, docs[best]
        if similarity == "cosine":
            own, near = own / np.linalg.norm(own), near / np.linalg.norm(near, axis=1)[:, None]
        if retriever.feedback == "average":
            again = np.mean([own, *near], axis=0)
        else:
            again = retriever.alpha * own + retriever.beta * near.mean(axis=0)
        expected = dict(zip(ids, similar(again, docs, similarity), strict=True))
        assert found[name] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert found[name]["twin"] == found[name]["d4"]


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_without_weight_the_ranking_is_that_of_dense(model: str, similarity: Any) -> None:
    task = load_task(register(DOCS, QUERIES))
    plain = Dense(model=model, pooling="cls", device="cpu", similarity=similarity)
    runs = [
        rank(task, one, progress=False)
        for one in (plain, made(model, similarity=similarity, beta=0.0))
    ]
    assert np.array_equal(runs[0].scores, runs[1].scores)
    assert np.array_equal(runs[0].docs, runs[1].docs)
    moved = rank(task, made(model, similarity=similarity), progress=False)
    assert not np.array_equal(runs[0].docs, moved.docs)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("stored", ["fp32", "int8"])
def test_an_index_of_dense_is_searched_with_feedback(
    model: str, similarity: Any, stored: Any, tmp_path: Path
) -> None:
    own = {"model": model, "pooling": "cls", "device": "cpu", "stored": stored}
    ir.index(DOCS, "dense", tmp_path / "index", **own)
    opened = ir.open_index(tmp_path / "index", "dense-prf", **own, similarity=similarity)
    run = opened.search_many(QUERIES, k=len(DOCS))
    found = scores_of(register(DOCS, QUERIES), made(model, similarity=similarity, stored=stored))
    for query in QUERIES:
        kept = {row.doc_id: row.score for row in run.ranking(query)}
        assert kept == pytest.approx(found[query], rel=1e-4, abs=1e-4)
    assert opened.search(QUERIES["q1"], k=3)[0].doc_id == run.ranking("q1")[0].doc_id

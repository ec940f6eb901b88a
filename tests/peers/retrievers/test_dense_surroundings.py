"""Vectors of passages with their surroundings, against a loop over sentence-transformers' vectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from irtoolkit.base.spans import Span
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.session import SystemSession
from irtoolkit.ranking.systems import System
from irtoolkit.ranking.texts import TextQuery
from irtoolkit.retrievers import dense_surroundings
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.dense_surroundings import DenseSurroundings, chunks
from irtoolkit.retrievers.task import load_task
from tests.datasets import scores_of
from tests.tiny import DIMENSIONS, save, sentence_model

RELIC = "relic/sample/train"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("models")
    bert = save(root / "bert")
    return str(sentence_model(root / "mean", Transformer(str(bert)), Pooling(DIMENSIONS, "mean")))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


def compared(similarity: str, one: Any, other: Any) -> float:
    if similarity == "l2":
        return -float(np.linalg.norm(one - other))
    scale = np.linalg.norm(one) * np.linalg.norm(other) if similarity == "cosine" else 1
    return float(one @ other / scale)


def mean(similarity: str, vectors: Any, weights: Any = None) -> Any:
    if similarity == "cosine":
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.average(vectors, axis=0, weights=weights)


@pytest.mark.parametrize(("similarity", "fade"), [("cosine", 0.5), ("dot", 1.0), ("l2", 0.5)])
def test_the_score_is_that_of_a_loop(
    model: str, similarity: Any, fade: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_surroundings, "_WINDOWS", 5)
    how = DenseSurroundings(
        model, device="cpu", similarity=similarity, around="2/7", weight=0.6, fade=fade
    )
    found = scores_of(RELIC, how)
    theirs = SentenceTransformer(model, device="cpu")
    dataset = Dataset.load(RELIC)
    passages = dataset.passages()
    assert passages is not None
    books = {book.name: book.stripped for book, _, _ in passages.groups}
    sentences = {name: theirs.encode(list(book)) for name, book in books.items()}
    task = load_task(dataset)
    texts = dict(zip(task.doc_ids, task.docs, strict=True))
    own = {doc: theirs.encode(" ".join(text)) for doc, text in texts.items()}
    for query, text in list(zip(dataset.queries_iter(), task.queries, strict=True))[:3]:
        asked = theirs.encode(" ".join(text))
        if fade < 1:
            nearness = [*[fade**i for i in range(len(query.left))][::-1]]
            nearness += [fade**i for i in range(len(query.right))]
            asked = mean(similarity, theirs.encode([*query.left, *query.right]), nearness)
        for doc, score in found[query.query_id].items():
            span = Span.parse(doc)
            expected = 0.4 * compared(similarity, asked, own[doc])
            for size in (2, 7):
                near = sentences[span.book][max(0, span.start - size) : span.stop + size]
                expected += 0.3 * compared(similarity, asked, mean(similarity, near))
            assert score == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_no_weight_is_dense_and_equal_windows_tie(model: str) -> None:
    how = DenseSurroundings(model, device="cpu", weight=0.0)
    plain = scores_of(RELIC, Dense(model, device="cpu"))
    for query, row in scores_of(RELIC, how).items():
        assert row == pytest.approx(plain[query], abs=1e-6)
    whole = scores_of(RELIC, replace(how, around="99999", weight=1.0))
    for row in whole.values():
        assert max(row.values()) == min(row.values()), "all windows are the whole book"


def test_texts_that_are_typed_are_taken_as_they_are(model: str) -> None:
    settings = {"model": model, "device": "cpu", "around": "2/7"}
    rankings = []
    for fade in (1.0, 0.5):
        how = {**settings, "fade": fade}
        session = SystemSession(System.make("s", "dense-surroundings", how), RELIC)
        rankings.append(session.rank([TextQuery("mine", "a house by the sea")]))
    [[whole], [faded]] = rankings
    assert whole.doc_ids.tolist() == faded.doc_ids.tolist()
    assert whole.scores.tolist() == faded.scores.tolist()


def test_sentences_are_read_together_with_those_around_them(model: str) -> None:
    """Against a loop over chunks, of whose tokens a passage has the mean."""
    passages = Dataset.load(RELIC).passages()
    assert passages is not None
    ((book, *_), *_) = passages.groups
    how = DenseSurroundings(model, device="cpu", context=48, weight=0.0)
    lengths = np.array([len(one) for one in sentence_tokens(model, book.stripped)])
    found = scores_of(RELIC, how)
    theirs = SentenceTransformer(model, device="cpu")
    sums = np.zeros((len(lengths), DIMENSIONS))
    for chunk in chunks(lengths, 46):
        text = " ".join(book.stripped[chunk.first : chunk.last])
        states = theirs.encode(text, output_value="token_embeddings").cpu().numpy()[1:-1]
        at = np.cumsum([0, *lengths[chunk.first : chunk.last]])
        for n in range(chunk.begin, chunk.end):
            # Of a sentence that is longer than the model reads, the rest counts as what is read.
            own = states[at[n - chunk.first] : at[n - chunk.first + 1]]
            sums[n] = own.mean(axis=0) * lengths[n]
    task = load_task(Dataset.load(RELIC))
    for query, text in list(zip(task.query_ids, task.queries, strict=True))[:2]:
        asked = theirs.encode(" ".join(text))
        for doc, score in found[query].items():
            span = Span.parse(doc)
            passage = sums[span.start : span.stop].sum(axis=0)
            assert score == pytest.approx(compared("cosine", asked, passage), rel=1e-3, abs=1e-3)


def sentence_tokens(model: str, sentences: Any) -> Any:
    tokenizer = SentenceTransformer(model, device="cpu").tokenizer
    return tokenizer(list(sentences), add_special_tokens=False)["input_ids"]

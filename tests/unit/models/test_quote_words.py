"""NNQR's words of quotes: their own vectors, with the quotes' topics and authors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading
from irtoolkit.models.quote_words import read_about
from irtoolkit.training.base_model import build_model
from irtoolkit.training.recipes import Recipe, Stage
from tests.datasets import TEXTS

QUOTES = ["The cat sat on the mat.", "a dog ran", "the sun and the sea", "rats"]
ABOUT = (
    "the cat sat on the mat.\tlove; home\tPlato\na dog ran\t\tPlato\n\nthe sun and the sea\tlove\n"
)
RECIPE = Recipe(
    start="nnqr", encoders=2, similarity="dot", width=8, stages=(Stage(dataset="x", loss="every"),)
)


@pytest.fixture
def about(write: Callable[..., Path]) -> Path:
    return write("about.tsv", ABOUT)


def test_topics_and_authors_of_a_file(about: Path) -> None:
    assert read_about(about) == {
        "the cat sat on the mat.": ["topic: love", "topic: home", "author: Plato"],
        "a dog ran": ["author: Plato"],
        "the sun and the sea": ["topic: love"],
    }


def test_their_mean_is_added_to_every_word(about: Path) -> None:
    model = build_model(replace(RECIPE, about=str(about)), 1, "cpu", [*TEXTS, *QUOTES]).eval()
    reader, network, _ = model[0].sub_modules["document"]
    topics = dict(zip(["love", "home", "plato"], reader.topics.weight[1:], strict=True))
    own = [["love", "home", "plato"], ["plato"], ["love"], []]
    vectors = model.encode_document(QUOTES)
    for quote, names, vector in zip(QUOTES, own, vectors, strict=True):
        words = reader.emb_layer(torch.tensor(reader.tokenizer.tokenize(quote)))
        if names:
            words = words + torch.stack([topics[name] for name in names]).mean(0)
        last = network.encoder(words[None])[0][0, -1]
        assert np.allclose(vector, last.detach().numpy(), atol=1e-5)


def test_words_of_quotes_start_near_those_of_contexts() -> None:
    model = build_model(RECIPE, 1, "cpu", [*TEXTS, *QUOTES])
    contexts, quotes = (
        model[0].sub_modules[side][0].emb_layer.weight for side in ("query", "document")
    )
    apart = (quotes - contexts).detach()[1:]
    assert 0.03 < apart.std().item() < 0.07
    assert not contexts[0].any()
    assert not quotes[0].any()
    assert contexts is not quotes


def test_a_saved_model_knows_topics_and_authors(about: Path, tmp_path: Path) -> None:
    model = build_model(replace(RECIPE, about=str(about)), 1, "cpu", [*TEXTS, *QUOTES]).eval()
    model.save_pretrained(str(tmp_path / "saved"))
    again = loading.open_model("dense", str(tmp_path / "saved")).eval()
    assert np.allclose(again.encode_document(QUOTES), model.encode_document(QUOTES), atol=1e-6)
    assert np.allclose(again.encode_query(QUOTES), model.encode_query(QUOTES), atol=1e-6)


def test_a_model_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Its folder names a module by the place where it was then."""
    model: Any = build_model(replace(RECIPE, start="lstm"), 1, "cpu", TEXTS).eval()
    model.save_pretrained(str(tmp_path / "saved"))
    path = next((tmp_path / "saved").rglob("router_config.json"))
    told = path.read_text("utf-8")
    assert "irtoolkit.models.word_vectors.WordVectors" in told
    path.write_text(told.replace("models.word_vectors.", "models.modules."), "utf-8")
    again = loading.open_model("dense", str(tmp_path / "saved")).eval()
    assert np.allclose(again.encode_query(QUOTES), model.encode_query(QUOTES), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"encoders": 1}, "start=nnqr has two encoders"),
        ({"start": "lstm", "about": "x.tsv"}, r"about=x\.tsv: only start=nnqr reads topics"),
    ],
)
def test_what_nnqr_cannot_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        build_model(replace(RECIPE, **settings), 1, "cpu", TEXTS)

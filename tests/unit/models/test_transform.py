"""Transform's modules against restatements of what its authors' code computes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from irtoolkit.base.errors import InputError
from irtoolkit.training.base_model import build_model
from irtoolkit.training.corpus_loss import EveryDocument
from irtoolkit.training.recipes import Recipe, Stage
from tests.datasets import TEXTS

QUOTES = ["the cat sat on the mat", "a dog ran", "the sun and the sea", "rats, dogs and cats"]
ASKED = [
    "a dog [SEP] ran on and on",
    "the sea [SEP]",
    "the cat",
    "[SEP] the sun",
    "mats [SEP] unheard",
]
RECIPE = Recipe(
    start="transform", encoders=2, similarity="dot", width=8,
    stages=(Stage(dataset="x", loss="every", mapping=0.5),),
)  # fmt: skip


@pytest.fixture(scope="module")
def model() -> Any:
    return build_model(RECIPE, 1, "cpu", [*TEXTS, *QUOTES], QUOTES).eval()


def vectors_of(model: Any, text: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The mapped last states of the GRU and the mapped query turn of one context, turn by turn."""
    reader, module = model[0].sub_modules["query"]
    turns = []
    for turn in text.split("[SEP]"):
        ids = reader.tokenizer.tokenize(turn)
        if ids or not turns:
            words = torch.cat(
                [module.turns.first[None], reader.emb_layer(torch.tensor(ids).long())]
            )
            turns.append(module.turns.layers(words[None])[0, 0])
    _, (forth, back) = module.context(torch.stack(turns)[None])
    return module.mapping(torch.cat([forth[0], back[0]])), module.mapping(turns[0])


def quotes_of(model: Any) -> torch.Tensor:
    [module] = model[0].sub_modules["document"]
    reader = model[0].sub_modules["query"][0]
    made = []
    for quote in QUOTES:
        words = module.vectors(torch.tensor(reader.tokenizer.tokenize(quote)))
        made.append(module.quotes.layers(torch.cat([module.quotes.first[None], words])[None])[0, 0])
    return torch.stack(made)


@torch.no_grad()
def test_a_score_is_that_of_the_authors_linear_layer(model: Any) -> None:
    """Linear([mapped context; mapped query turn x each quote; mapped query turn])."""
    [module] = model[0].sub_modules["document"]
    found = model.encode_query(ASKED) @ model.encode_document(QUOTES).T
    known, width = quotes_of(model), 8
    weight, bias = module.score.weight, module.score.bias
    for row, text in zip(found, ASKED, strict=True):
        whole, query = vectors_of(model, text)
        expected = (
            weight[:, :width] @ whole
            + weight[:, width : 2 * width] @ query
            + weight[:, 2 * width :] @ (known @ query)
            + bias
        )
        assert np.allclose(row, expected.numpy(), atol=1e-5)


def test_only_the_quotes_of_training_are_scored(model: Any) -> None:
    with pytest.raises(
        InputError, match="the 4 documents that it was trained with, and 'a bird' is"
    ):
        model.encode_document([QUOTES[0], "a bird"])
    with pytest.raises(InputError, match="needs the documents of a training set"):
        build_model(RECIPE, 1, "cpu", TEXTS)


def test_the_loss_is_that_of_all_quotes_and_of_the_mapping(model: Any) -> None:
    loss = EveryDocument(model, QUOTES, scale=2.0, mapping=0.5)
    features = model.preprocess(ASKED[:3], task="query")
    labels = torch.tensor([3, 0, 1])
    model.zero_grad()
    model.eval().encode_document(QUOTES)  # what inference keeps is no part of a gradient
    value = loss([features], labels)
    value.backward()
    scores = 2 * model.encode_query(ASKED[:3]) @ model.encode_document(QUOTES).T
    expected = [np.log(np.exp(row - row[i]).sum()) for row, i in zip(scores, labels, strict=True)]
    apart = [
        float((vectors_of(model, text)[1] - quotes_of(model)[i]).square().sum())
        for text, i in zip(ASKED, labels.tolist(), strict=False)
    ]
    assert value.item() == pytest.approx(np.mean(expected) + 0.5 * np.mean(apart), rel=1e-4)
    [module] = model[0].sub_modules["document"]
    # Contexts and quotes share the vectors of words, and all parts are trained.
    assert module.vectors is model[0].sub_modules["query"][0].emb_layer
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_words_learned_in_training_are_used_after_it(model: Any) -> None:
    """Quotes are encoded again once a model has been trained."""
    before = model.encode_document(QUOTES)
    [module] = model[0].sub_modules["document"]
    model.train()
    with torch.no_grad():
        module.quotes.first += 1
    model.eval()
    assert not np.allclose(model.encode_document(QUOTES), before)


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (replace(RECIPE, encoders=1), "start=transform has two encoders"),
        (replace(RECIPE, pooling="mean"), "start=transform has two encoders and no pooling"),
        (replace(RECIPE, width=7), "width=7 is not even"),
    ],
)
def test_what_transform_cannot_be(recipe: Recipe, said: str) -> None:
    with pytest.raises(InputError, match=said):
        build_model(recipe, 1, "cpu", TEXTS, QUOTES)

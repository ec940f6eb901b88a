"""Transformers in int8: near to fp32, and kept apart from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.int8 import Int8Linear, to_int8
from irtoolkit.retrievers.cross import CrossEncoder
from irtoolkit.retrievers.dense import Dense
from tests import tiny
from tests.datasets import TEXTS


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "cross"
    return tiny.save(folder, "BertForSequenceClassification", num_labels=1)


def encoder(folder: Path, precision: Any, **more: Any) -> Encoder:
    how: dict[str, Any] = {"kind": "dense", "side": "document", "device": "cpu", **more}
    return Encoder(EncoderSettings(str(folder), precision=precision, **how))


def vectors(one: Encoder, items: Any) -> Any:
    return np.stack([output[0] for output in one.once(items)])


@pytest.mark.parametrize("rows", [1, 16, 40])
def test_a_layer_rounds_each_output_and_each_row_by_its_own_range(rows: int) -> None:
    torch.manual_seed(3)
    layer = torch.nn.Linear(40, 24)
    layer.weight.data *= torch.logspace(-3, 3, 24)[:, None]
    inputs = torch.randn(2, rows, 40) * torch.logspace(-2, 2, rows)[:, None]
    inputs[0, 0] = 0
    found = Int8Linear(layer)(inputs)
    weights, bias = (
        value.detach().numpy().astype(np.float64) for value in (layer.weight, layer.bias)
    )
    plain = inputs.numpy().astype(np.float64)
    steps, own = np.abs(weights).max(1) / 127, np.abs(plain).max(2, keepdims=True) / 127
    whole = np.rint(plain / np.where(own > 0, own, 1)) @ np.rint(weights / steps[:, None]).T
    expected = whole * own * steps + bias
    # A value in the middle between two steps may be rounded to either in single precision.
    assert np.mean(np.isclose(found, expected, rtol=1e-5, atol=1e-6)) > 0.95
    exact = plain @ weights.T + bias
    assert not np.allclose(found, exact, rtol=1e-5, atol=1e-6)
    off = np.abs(plain).sum(2, keepdims=True) * steps / 2 + np.abs(weights).sum(1) * own / 2
    assert (np.abs(found.numpy() - exact) <= 1.01 * (off + 40 * steps * own / 4) + 1e-6).all()


def test_a_row_is_the_same_beside_any_others() -> None:
    torch.manual_seed(3)
    layer, inputs = Int8Linear(torch.nn.Linear(64, 32)), torch.randn(50, 64)
    inputs[:25] *= 1000
    whole = layer(inputs)
    for part in (slice(25, 26), slice(25, 45), slice(30, 50)):
        assert torch.equal(layer(inputs[part]), whole[part])


def test_layers_of_other_sizes_and_what_is_no_linear_layer_stay() -> None:
    parts = [torch.nn.Linear(16, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3)]
    module = torch.nn.Sequential(*parts[:1], torch.nn.Sequential(*parts[1:]))
    to_int8(module)
    assert isinstance(module[0], Int8Linear)
    assert [*module[1]] == parts[1:]


def test_vectors_are_near_to_those_of_fp32(bert: Path) -> None:
    one = encoder(bert, "int8", pooling="mean")
    together = vectors(one, TEXTS)
    whole = vectors(encoder(bert, "fp32", pooling="mean"), TEXTS)
    cosines = (together * whole).sum(1) / np.linalg.norm(together, axis=1)
    assert (cosines / np.linalg.norm(whole, axis=1)).min() > 0.99
    assert not np.allclose(together, whole, rtol=1e-4, atol=1e-4)


def test_scores_of_a_cross_encoder_are_near_to_those_of_fp32(reranker: Path) -> None:
    pairs = [(TEXTS[0], text) for text in TEXTS]
    found, whole = (
        vectors(encoder(reranker, each, kind="cross"), pairs) for each in ("int8", "fp32")
    )
    assert np.abs(found - whole).max() < 0.1 * np.ptp(whole)
    assert not np.array_equal(found, whole)
    assert CrossEncoder(model=str(reranker), precision="int8").computed()["precision"] == "int8"


def test_vectors_are_kept_apart_from_those_of_fp32(bert: Path) -> None:
    stores = {each: encoder(bert, each)._store.folder for each in ("auto", "fp32", "int8")}
    assert stores["auto"] == stores["fp32"] != stores["int8"]
    made = Dense(model=str(bert), precision="int8", device="cpu").computed()
    assert made == {"device": "cpu", "precision": "int8"}

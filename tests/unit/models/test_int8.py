"""Transformers in int8: near to fp32, and kept apart from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from irtoolkit.models import int8
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.int8 import Int8Linear, in_fp32, in_int8
from irtoolkit.retrievers.dense import Dense
from tests import tiny
from tests.datasets import TEXTS


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save(tmp_path_factory.mktemp("models") / "bert")


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


@pytest.mark.parametrize("rows", [1, 17, 30])
@pytest.mark.parametrize("width", [8, 1040, 1048, 3072])
def test_a_cpu_without_products_of_int8_gives_the_same_bits(rows: int, width: int) -> None:
    drawn = torch.Generator().manual_seed(rows * width)
    first, second = (
        torch.randint(-127, 128, size, generator=drawn, dtype=torch.int8)
        for size in ((rows, width), (width, 24))
    )
    first[0], second[:, 0] = 127, 127  # the largest sum there can be
    whole = first.numpy().astype(np.int64) @ second.numpy().astype(np.int64)
    for found in (in_int8(first, second), in_fp32(first, second)):
        assert found.dtype == torch.float32
        assert np.array_equal(found.numpy(), whole.astype(np.float32))


@pytest.mark.parametrize("faster", [True, False])
def test_the_faster_way_is_taken(faster: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    for name, way in (("in_int8", in_int8), ("in_fp32", in_fp32)):

        def noted(*codes: Any, name: str = name, way: Any = way) -> Any:
            taken.append(name)
            return way(*codes)

        monkeypatch.setattr(int8, name, noted)
    monkeypatch.setattr(int8, "int8_is_faster", lambda: faster)
    Int8Linear(torch.nn.Linear(16, 8))(torch.ones(2, 16))
    assert taken == ["in_int8" if faster else "in_fp32"]


def test_vectors_are_near_to_those_of_fp32(bert: Path) -> None:
    one = encoder(bert, "int8", pooling="mean")
    together = vectors(one, TEXTS)
    whole = vectors(encoder(bert, "fp32", pooling="mean"), TEXTS)
    cosines = (together * whole).sum(1) / np.linalg.norm(together, axis=1)
    assert (cosines / np.linalg.norm(whole, axis=1)).min() > 0.99
    assert not np.allclose(together, whole, rtol=1e-4, atol=1e-4)


def test_vectors_are_kept_apart_from_those_of_fp32(bert: Path) -> None:
    stores = {each: encoder(bert, each)._store.folder for each in ("auto", "fp32", "int8")}
    assert stores["auto"] == stores["fp32"] != stores["int8"]
    made = Dense(model=str(bert), precision="int8", device="cpu").computed()
    assert made == {"device": "cpu", "precision": "int8", "pooling": "mean"}

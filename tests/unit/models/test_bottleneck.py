"""Bottleneck adapters of AdapterHub: their values in plain torch, and files that do not fit."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional

from irtoolkit.base.errors import InputError
from irtoolkit.models import places
from irtoolkit.models.encoder import Encoder, EncoderSettings
from irtoolkit.models.opening import _transformer
from irtoolkit.models.presets import find_preset, weights_hash
from irtoolkit.training.base_checkpoint import find_checkpoint
from irtoolkit.training.recipes import Recipe, Stage
from tests.tiny import DIMENSIONS, save

NARROW = 8
TEXTS = ["the cat", "a dog sat on the mat"]
# As AdapterHub's library writes them for its configuration seq_bn, SPECTER2's.
SETTINGS: dict[str, Any] = {
    "adapter_residual_before_ln": False, "cross_adapter": False, "inv_adapter": None,
    "is_parallel": False, "leave_out": [], "ln_after": False, "ln_before": False,
    "mh_adapter": False, "non_linearity": "relu", "original_ln_after": True,
    "original_ln_before": True, "output_adapter": True, "phm_layer": False,
    "reduction_factor": DIMENSIONS // NARROW, "residual_before_ln": True, "scaling": 1.0,
    "use_gating": False,
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("models") / "base")


def weights(layers: int = 2, width: int = DIMENSIONS, seed: int = 7) -> dict[str, torch.Tensor]:
    """Random weights of an adapter called [PRX], by the names of AdapterHub's library."""
    made = torch.Generator().manual_seed(seed)
    tensors = {}
    for number in range(layers):
        start = f"bert.encoder.layer.{number}.output.adapters.[PRX].adapter_"
        for name, shape in (("down.0", (NARROW, width)), ("up", (width, NARROW))):
            tensors[f"{start}{name}.weight"] = torch.randn(shape, generator=made)
            tensors[f"{start}{name}.bias"] = torch.randn(shape[0], generator=made)
    return tensors


def save_adapter(
    folder: Path, base: Path | str | None, tensors: dict[str, Any] | None = None,
    form: str = "bin", **settings: Any,
) -> Path:  # fmt: skip
    """Saves an adapter in the published layout; returns its folder."""
    folder.mkdir()
    about = {
        "config": SETTINGS | settings, "hidden_size": DIMENSIONS, "model_type": "bert",
        "model_name": None if base is None else str(base), "name": "[PRX]",
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(about))
    tensors = weights() if tensors is None else tensors
    if form == "bin":
        torch.save(tensors, folder / "pytorch_adapter.bin")
    else:
        save_file(tensors, folder / "adapter.safetensors")
    return folder


def plain_states(
    base: Path, tensors: dict[str, Any], batch: Any, activation: Callable[[Any], Any], **chosen: Any
) -> Any:
    """The last states of a BERT with an adapter, step by step."""
    settings = {**SETTINGS, **chosen}
    model = _transformer(str(base), "torch", False).eval()
    state = model.embeddings(batch["input_ids"])
    mask = (1.0 - batch["attention_mask"][:, None, None, :]) * torch.finfo(torch.float32).min
    for number, layer in enumerate(model.encoder.layer):
        start = f"bert.encoder.layer.{number}.output.adapters.[PRX].adapter_"
        down, down_bias, up, up_bias = (
            tensors[f"{start}{name}"]
            for name in ("down.0.weight", "down.0.bias", "up.weight", "up.bias")
        )
        attended = layer.attention(state, mask)[0]
        wide = functional.gelu(layer.intermediate.dense(attended))
        hidden = layer.output.dense(wide)
        norm = partial(
            functional.layer_norm, normalized_shape=(DIMENSIONS,), eps=1e-12,
            weight=layer.output.LayerNorm.weight, bias=layer.output.LayerNorm.bias,
        )  # fmt: skip
        read = norm(hidden + attended) if settings["original_ln_before"] else hidden
        kept = hidden if settings["residual_before_ln"] else read
        narrow = activation(read @ down.T + down_bias)
        adapted = (narrow @ up.T + up_bias) * settings["scaling"] + kept
        state = norm(adapted + attended)
    return state


def encoder(model: Path | str, **how: Any) -> Encoder:
    return Encoder(EncoderSettings(**{"model": str(model), "kind": "dense", "side": "document", "pooling": "cls", "device": "cpu", **how}))  # fmt: skip


def vectors(model: Path | str, **how: Any) -> Any:
    return np.stack([row[0] for row in encoder(model, **how).once(TEXTS)])


# -- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["bin", "safetensors"])
@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"original_ln_before": False, "scaling": 0.5},
        {"residual_before_ln": False, "non_linearity": "swish"},
    ],
)
def test_an_adapter_is_what_plain_torch_computes(
    form: str, chosen: dict[str, Any], base: Path, tmp_path: Path
) -> None:
    folder = save_adapter(tmp_path / "adapter", base, form=form, **chosen)
    words = _transformer(str(base), "torch", False).tokenizer
    batch = words(TEXTS, padding=True, return_tensors="pt")
    activation = functional.silu if "non_linearity" in chosen else functional.relu
    with torch.inference_mode():
        expected = plain_states(base, weights(), batch, activation, **chosen)[:, 0].numpy()
    found = vectors(folder)
    assert np.allclose(found, expected, atol=1e-5)
    assert np.abs(found - vectors(base)).max() > 0.1


# -- presets ----------------------------------------------------------------------------------


@pytest.fixture
def hub(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """SPECTER2's base model and adapters, which still name the base model as it was once called."""
    folders = {
        f"allenai/{name}": save_adapter(
            tmp_path / name, "allenai/specter_plus_plus", weights(seed=seed)
        )
        for seed, name in enumerate(
            ("specter2", "specter2_adhoc_query", "specter2_classification", "specter2_regression")
        )
    }
    folders["allenai/specter2_base"] = base
    cached = {name: str(folder) for name, folder in folders.items()}
    monkeypatch.setattr(places, "in_hub_cache", cached.get)
    return folders


def test_vectors_are_those_of_an_adapter_and_its_base_model(
    hub: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = weights_hash(find_preset("SPECTER2"))
    other = str(save(tmp_path / "other", seed=1))
    folders = {
        **{name: str(folder) for name, folder in hub.items()},
        "allenai/specter2_base": other,
    }
    monkeypatch.setattr(places, "in_hub_cache", folders.get)
    assert weights_hash(find_preset("SPECTER2")) not in (first, None)


# -- files that do not fit ------------------------------------------------------------------------


def refused(model: Path | str, **how: Any) -> str:
    with pytest.raises(InputError) as caught:
        vectors(model, **how)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("lost", ["adapter_config.json", "pytorch_adapter.bin"])
def test_a_missing_file_is_named(lost: str, base: Path, tmp_path: Path) -> None:
    folder = save_adapter(tmp_path / "adapter", base)
    (folder / lost).unlink()
    said = refused(folder)
    assert str(folder / lost) in said
    assert "fetch or copy the folder of the adapter again" in said


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [
        (weights(layers=1), "layer 1 of 32 dimensions"),
        (weights(width=48), "layer 0 of 32 dimensions"),
        ({}, "layer 0 of 32 dimensions"),
        (weights() | {"bert.encoder.layer.0.output.adapters.[PRX].gate.bias": torch.ones(1)}, "gate"),
    ],
)  # fmt: skip
def test_weights_for_another_model_are_refused(
    tensors: dict[str, Any], expected: str, base: Path, tmp_path: Path
) -> None:
    folder = save_adapter(tmp_path / "adapter", base, tensors)
    said = refused(folder)
    assert str(folder / "pytorch_adapter.bin") in said
    assert expected in said


@pytest.mark.parametrize(
    "setting",
    [
        {"mh_adapter": True},
        {"phm_layer": True},
        {"leave_out": [1]},
        {"ln_after": True},
        {"non_linearity": "leakyrelu"},
    ],
)
def test_another_configuration_is_refused(
    setting: dict[str, Any], base: Path, tmp_path: Path
) -> None:
    folder = save_adapter(tmp_path / "adapter", base, **setting)
    said = refused(folder)
    assert str(folder / "adapter_config.json") in said
    assert next(iter(setting)) in said


def test_weights_that_would_run_code_are_refused(base: Path, tmp_path: Path) -> None:
    folder = save_adapter(tmp_path / "adapter", base)
    (folder / "pytorch_adapter.bin").write_bytes(pickle.dumps(Path("x"), protocol=2))
    assert str(folder / "pytorch_adapter.bin") in refused(folder)


@pytest.mark.parametrize(
    ("named", "expected"),
    [(None, "put the folder or hub id of that model there"), ("nobody/nothing", "nobody/nothing")],
)
def test_a_base_model_that_is_not_here_is_said(
    named: str | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRTOOLKIT_DOWNLOAD", "0")
    assert expected in refused(save_adapter(tmp_path / "adapter", named))


def test_an_adapter_needs_a_pooling_and_torch(base: Path, tmp_path: Path) -> None:
    folder = save_adapter(tmp_path / "adapter", base)
    assert "pooling=cls" in refused(folder, pooling=None)
    assert "only torch runs" in refused(folder, backend="onnx")


def test_training_starts_from_the_base_model(base: Path, tmp_path: Path) -> None:
    folder = save_adapter(tmp_path / "adapter", base)
    recipe = Recipe("tiny", "", (Stage(),), start=str(folder))
    with pytest.raises(InputError, match=f"start={base}, its base model"):
        find_checkpoint(recipe, "document")

"""Low-rank adapters of a model's transformers (LoRA, Hu et al. 2022), on a 4-bit base for QLoRA."""

from __future__ import annotations

import copy
from typing import Any

from irtoolkit.base.errors import InputError, install, needs_extra
from irtoolkit.models.loading import transformers_in
from irtoolkit.training.recipes import Recipe

_NAME = "default"


def add_adapters(model: Any, recipe: Recipe) -> None:
    """Adds a recipe's adapters to the transformers of a model, and freezes the weights under them.

    Heads and projections on a transformer stay trainable, because they may be new.

    Raises:
        InputError: peft is not installed, or no layer has one of the names.
    """
    from torch import nn

    try:
        from peft import LoraConfig, LoraModel
    except ImportError:
        raise needs_extra("peft", "lora") from None
    assert recipe.lora is not None
    named = [name.strip() for name in (recipe.lora_targets or "").split(",") if name.strip()]
    config = LoraConfig(
        r=recipe.lora,
        lora_alpha=recipe.lora_alpha or 2 * recipe.lora,
        lora_dropout=recipe.lora_dropout or 0.0,
        target_modules=named or "all-linear",
    )
    for inner, _ in list(transformers_in(model)):
        try:
            LoraModel(inner.base_model, {_NAME: copy.deepcopy(config)}, _NAME)
        except ValueError as error:
            linear = [
                name.rpartition(".")[2]
                for name, module in inner.base_model.named_modules()
                if isinstance(module, nn.Linear)
            ]
            raise InputError(
                f"lora_targets={recipe.lora_targets}: {' '.join(str(error).split())[:100]}",
                remedy=f"the model has {', '.join(dict.fromkeys(linear))}",
            ) from None


def quantize_base(model: Any, device: str) -> None:
    """Holds the weights under the adapters in 4 bits (NF4; Dettmers et al. 2023, §3).

    Raises:
        InputError: not on a GPU, or bitsandbytes is not installed.
    """
    if not device.startswith("cuda"):
        raise InputError(
            f"quantize=4bit on the device {device}", remedy="train on a GPU, or leave quantize out"
        )
    try:
        import bitsandbytes
    except ImportError:
        raise InputError("quantize=4bit needs bitsandbytes", remedy=install("qlora")) from None
    for layer in _layers(model):
        base = layer.base_layer
        small = bitsandbytes.nn.Linear4bit(
            base.in_features, base.out_features, bias=base.bias is not None, quant_type="nf4"
        )
        small.weight = bitsandbytes.nn.Params4bit(
            base.weight.data.cpu(), requires_grad=False, quant_type="nf4"
        )
        if base.bias is not None:
            small.bias = base.bias
        layer.base_layer = small.to(device)  # which quantizes


def take_quantized(whole: Any, model: Any) -> None:
    """Gives a model of full precision the weights that another holds in 4 bits, in place."""
    from bitsandbytes.functional import dequantize_4bit

    for ours, theirs in zip(_layers(whole), _layers(model), strict=True):
        weight = theirs.base_layer.weight
        dense = dequantize_4bit(weight.data, weight.quant_state)
        ours.base_layer.weight.data.copy_(dense)


def merge_adapters(model: Any) -> Any:
    """Merges the adapters of a model into the weights under them, in place; returns the model.

    Raises:
        InputError: the sum is not finite.
    """
    for name, layer in [(n, m) for n, m in model.named_modules() if _is_adapted(m)]:
        try:
            layer.merge(safe_merge=True)
        except ValueError as error:
            raise InputError(f"adapters cannot be merged: {error}") from None
        holder, _, last = name.rpartition(".")
        setattr(model.get_submodule(holder), last, layer.get_base_layer())
    return model


def _layers(model: Any) -> list[Any]:
    return [module for module in model.modules() if _is_adapted(module)]


def _is_adapted(module: Any) -> bool:
    from peft.tuners.tuners_utils import BaseTunerLayer

    return isinstance(module, BaseTunerLayer)

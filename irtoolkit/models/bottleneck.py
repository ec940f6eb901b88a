"""Bottleneck adapters of AdapterHub, such as SPECTER2's, in a model of BERT's shape.

An adapter (Houlsby et al. 2019; Pfeiffer et al. 2021) is a narrow layer behind each feed-forward
layer. It cannot be added to the weights, as a LoRA adapter can, because it is not linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.nn import Linear, Module

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.models.foreign import read_torch
from irtoolkit.models.places import BOTTLENECK, BOTTLENECK_WEIGHTS, read_model_json

# Settings of AdapterHub with the only values that are computed here.
_ONLY: dict[str, tuple[Any, ...]] = {
    "non_linearity": ("relu", "gelu", "gelu_new", "swish", "silu", "tanh"),
    "mh_adapter": (False,),
    "output_adapter": (True,),
    "original_ln_after": (True,),
    "original_ln_before": (True, False),
    "residual_before_ln": (True, False),
    "ln_before": (False,),
    "ln_after": (False,),
    "adapter_residual_before_ln": (False,),
    "cross_adapter": (False,),
    "inv_adapter": (None,),
    "is_parallel": (False,),
    "phm_layer": (False,),
    "use_gating": (False,),
    "leave_out": ([],),
}
_WEIGHT = re.compile(
    r"(?:\w+\.)?encoder\.layer\.(\d+)\.output\.adapters\.[^.]+"
    r"\.adapter_(down|up)(?:\.0)?\.(weight|bias)"
)


class Bottleneck(Module):
    """The end of a layer of BERT with an adapter, in place of the one without.

    Args:
        output: the module to replace.
        down, up: the adapter's linear layers.
        settings: of the adapter, by AdapterHub's names.
    """

    def __init__(self, output: Any, down: Linear, up: Linear, settings: Mapping[str, Any]) -> None:
        from transformers.activations import get_activation

        super().__init__()
        self.dense, self.dropout, self.LayerNorm = output.dense, output.dropout, output.LayerNorm
        self.adapter_down, self.adapter_up = down, up
        self._activation = get_activation(settings.get("non_linearity", "relu"))
        self._scale = float(settings.get("scaling", 1.0))
        self._normed_before = settings.get("original_ln_before", True)
        self._residual_before = settings.get("residual_before_ln", True)

    def forward(self, hidden: Any, attended: Any) -> Any:
        """(..., wide) after the feed-forward layer and (..., d) before it to (..., d)."""
        hidden = self.dropout(self.dense(hidden))
        # The layer's own norm is applied twice: to the adapter's input, and to the sum at the end.
        read = self.LayerNorm(hidden + attended) if self._normed_before else hidden
        kept = hidden if self._residual_before else read
        added = self.adapter_up(self._activation(self.adapter_down(read)))
        return self.LayerNorm(added * self._scale + kept + attended)


def with_bottlenecks(make: Callable[[], Any], location: str) -> Any:
    """Returns a transformer with a bottleneck adapter in each of its layers.

    Args:
        make: loads the transformer that the adapter is for.
        location: the adapter's folder.

    Raises:
        InputError: the adapter is of a kind that is not supported, or is for another model.
    """
    settings = _settings(Path(location))
    weights, file = _weights(Path(location))
    model = make()
    layers = getattr(getattr(model, "encoder", None), "layer", ())
    if not layers or not all(hasattr(layer.output, "LayerNorm") for layer in layers):
        raise InputError(
            f"an adapter for a model of BERT's shape, which {type(model).__name__} is not",
            file=file,
            remedy="a base model such as BERT, SciBERT or RoBERTa",
        )
    width = model.config.hidden_size
    for number, layer in enumerate(layers):
        down, up = (_linear(weights, f"{number}.{name}.") for name in ("down", "up"))
        fits = down is not None and up is not None and down.in_features == width
        if not fits or (up.out_features, up.in_features) != (width, down.out_features):
            raise _other_model(file, f"layer {number} of {width} dimensions")
        layer.output = Bottleneck(layer.output, down, up, settings)
    if len(weights) != 4 * len(layers):
        raise _other_model(file, number_of(len(layers), "layers"))
    return model


def _settings(folder: Path) -> dict[str, Any]:
    """Returns an adapter's settings; raises InputError if one is not supported."""
    settings = read_model_json(str(folder), BOTTLENECK)["config"]
    if not isinstance(settings, dict):
        raise InputError(
            f"config is {settings!r}, and not the settings of an adapter",
            file=folder / BOTTLENECK,
            remedy="save it with a newer version of AdapterHub's library",
        )
    for name, known in _ONLY.items():
        if name in settings and settings[name] not in known:
            raise InputError(
                f"an adapter with {name}={settings[name]!r}, which is not supported",
                file=folder / BOTTLENECK,
                remedy="an adapter of the configuration seq_bn (Pfeiffer), or one merged into a model",
            )
    return settings


def _weights(folder: Path) -> tuple[dict[str, Any], Path]:
    """Returns an adapter's tensors by layer, direction and role, as "0.down.weight"; and their file."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    file = next(folder / name for name in BOTTLENECK_WEIGHTS if (folder / name).is_file())
    try:
        given = load_file(file) if file.suffix == ".safetensors" else read_torch(file)
    except SafetensorError as error:
        raise InputError(f"damaged: {error}", file=file, remedy="fetch it again") from None
    weights = {}
    for name, value in given.items():
        found = _WEIGHT.fullmatch(name)
        if found is None:
            raise InputError(
                f"no weight of a bottleneck adapter in BERT: {name}",
                file=file,
                remedy="an adapter of the configuration seq_bn (Pfeiffer)",
            )
        weights[".".join(found.groups())] = value
    return weights, file


def _linear(weights: Mapping[str, Any], prefix: str) -> Any:
    """Returns the linear layer of a weight and a bias; None if they are missing or do not fit."""
    weight, bias = weights.get(f"{prefix}weight"), weights.get(f"{prefix}bias")
    if weight is None or bias is None or weight.dim() != 2 or bias.shape != weight.shape[:1]:
        return None
    layer = Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer


def _other_model(file: Path, expected: str) -> InputError:
    named = read_model_json(str(file.parent), BOTTLENECK).get("model_name")
    return InputError(
        f"the adapter does not fit the base model, which has {expected}",
        file=file,
        remedy=f"take it with its own base model, which {BOTTLENECK} calls {named}",
    )

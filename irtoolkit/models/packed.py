"""Encoders of BERT's shape on a GPU without padding: the tokens of a batch are concatenated.

Embeddings, poolings and heads are the libraries' own and see ordinary batches. Between them the
layers compute tokens alone, and padding positions are zeros afterwards.
"""

from __future__ import annotations

import copy
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np

from irtoolkit.models.outputs import on_device

# Encoders whose layers are BERT's, by the names that transformers has for them.
_ENCODERS = {
    "BertEncoder",
    "RobertaEncoder",
    "XLMRobertaEncoder",
    "CamembertEncoder",
    "ElectraEncoder",
    "ErnieEncoder",
    "Data2VecTextEncoder",
}
# Of an attention head, at most, and a multiple of eight.
_WIDEST_HEAD = 256


class Layout(NamedTuple):
    """The positions of the tokens of a batch.

    Attributes:
        shape: of the batch with padding.
        at: (t,) positions of its tokens in it, or None if there is no padding.
        starts: (n+1,) first token of each text among all tokens.
        longest: tokens of the longest.
    """

    shape: tuple[int, int]
    at: Any
    starts: Any
    longest: int


def layout_of(mask: Any, device: Any) -> Layout:
    """Returns the layout of a batch with an (n, t) mask of its tokens, an array on the CPU."""
    counts = mask.astype(bool).sum(1)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    filled = int(starts[-1]) == mask.size

    positions = None if filled else on_device(np.flatnonzero(mask), device)
    return Layout(mask.shape, positions, on_device(starts, device), int(counts.max(initial=1)))


def with_layout(mask: Any, values: Any) -> Any:
    """Returns a mask on a device with its layout, so that no caller waits for its values."""
    mask.packed_layout = layout_of(values, mask.device)
    return mask


def pack(model: Any, precision: Any = None) -> int:
    """Lets encoders inside a model that are of BERT's shape compute without padding.

    Args:
        model: a torch module on its device.
        precision: a torch type that is computed in; by default that of the weights.

    Returns:
        How many encoders these are.
    """
    modules = [module for module in model.modules() if _is_known(module)]
    for module in modules:
        if not isinstance(module.forward, _Reading):
            encoder = _Packed(module.encoder, module.config, precision)
            module.encoder.forward = encoder
            module.forward = _Reading(module.forward, encoder)
    return len(modules)


def unpack(model: Any) -> None:
    """Undoes `pack`."""
    for module in model.modules():
        if isinstance(module.__dict__.get("forward"), _Reading):
            del module.__dict__["forward"], module.encoder.__dict__["forward"]


def _is_known(module: Any) -> bool:
    """Returns whether a module is a transformer of BERT's shape with no extras in its layers."""
    from torch.nn import Parameter

    from irtoolkit.models.packed_layer import PARAMETERS, parameters

    encoder: Any = getattr(module, "encoder", None)
    config: Any = getattr(module, "config", None)
    if type(encoder).__name__ not in _ENCODERS or not hasattr(module, "embeddings"):
        return False
    head = config.hidden_size // config.num_attention_heads
    if config.hidden_act != "gelu" or config.is_decoder or head % 8 or head > _WIDEST_HEAD:
        return False
    if config.output_hidden_states or config.output_attentions:
        return False
    for layer in encoder.layer:
        weights = parameters(layer)
        if len(weights) != len(PARAMETERS) or len(list(layer.parameters())) != len(weights):
            return False
        if not all(type(weight) is Parameter and weight.is_floating_point() for weight in weights):
            return False
    return getattr(config, "position_embedding_type", None) in (None, "absolute")


class _Turn(threading.local):
    """The layout of the batch that a thread computes."""

    layout: Layout | None = None


_TURN = _Turn()


class _Reading:
    """A replacement of a transformer's `forward`, which notes the mask for its encoder."""

    def __init__(self, original: Callable[..., Any], encoder: _Packed) -> None:
        functools.update_wrapper(self, original)
        self._original, self._encoder = original, encoder

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        mask = kwargs.get("attention_mask")
        if mask is None or mask.dim() != 2 or not self._encoder.fits(kwargs):
            return self._original(*args, **kwargs)
        layout = getattr(mask, "packed_layout", None)
        if layout is None:
            layout = layout_of(mask.cpu().numpy(), mask.device)
        with _turn(layout):
            return self._original(*args, **{**kwargs, "attention_mask": None})


@contextmanager
def _turn(layout: Layout) -> Iterator[None]:
    _TURN.layout = layout
    try:
        yield
    finally:
        _TURN.layout = None


class _Packed:
    """A replacement of an encoder's `forward`."""

    def __init__(self, encoder: Any, config: Any, precision: Any) -> None:
        functools.update_wrapper(self, encoder.forward)
        self._original, self._encoder, self._config = encoder.forward, encoder, config
        self._weights = LayerWeights(encoder, precision)

    def fits(self, kwargs: dict[str, Any]) -> bool:
        """Returns whether a batch can be computed so: only the last layer's tokens are needed."""
        others = (
            "output_hidden_states",
            "output_attentions",
            "past_key_values",
            "encoder_hidden_states",
        )
        again = any(
            getattr(layer, "gradient_checkpointing", False) for layer in self._encoder.layer
        )
        return not any(kwargs.get(name) for name in others) and not again

    def __call__(self, hidden: Any, *args: Any, **kwargs: Any) -> Any:
        import torch
        from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

        layout = _TURN.layout
        if layout is None:
            return self._original(hidden, *args, **kwargs)
        width = hidden.shape[2]
        rows = hidden.reshape(-1, width)
        tokens = rows if layout.at is None else rows.index_select(0, layout.at)
        with torch.autocast(hidden.device.type, enabled=False), _on(hidden.device):
            output = self._layers(tokens, layout).to(hidden.dtype)
        if layout.at is not None:
            output = rows.new_zeros((len(rows), width)).index_copy(0, layout.at, output)
        return BaseModelOutputWithPastAndCrossAttentions(
            last_hidden_state=output.view(*layout.shape, width)
        )

    def _layers(self, tokens: Any, layout: Layout) -> Any:
        """Returns the tokens after all layers."""
        import torch

        from irtoolkit.models import packed_layer

        weights = self._weights()
        x = tokens.to(weights[0].qkv.dtype).contiguous()
        config, dropped, seeds = self._config, (0.0, 0.0), None
        if self._encoder.training:
            dropped = config.attention_probs_dropout_prob, config.hidden_dropout_prob
            seeds = torch.randint(1 << 30, (2 * len(weights),), dtype=torch.int32, device=x.device)
        shapes = [
            packed_layer.Shape(
                layout.starts,
                layout.longest,
                config.num_attention_heads,
                dropped,
                seeds,
                number,
                last=number == len(weights) - 1,
            )
            for number in range(len(weights))
        ]
        if torch.is_grad_enabled():
            return cast(Any, packed_layer.Layers).apply(
                x, weights, shapes, *self._weights.parameters()
            )
        for layer_weights, shape in zip(weights, shapes, strict=True):
            x, _ = packed_layer.forwards(x, layer_weights, shape, keep=False)
        return x


def _on(device: Any) -> Any:
    """Returns a context for kernels on a tensor's GPU, which may not be the thread's own."""
    import torch

    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


class LayerWeights:
    """The weights of an encoder's layers as they are computed with.

    Args:
        encoder: its layers may be in training.
        precision: a torch type; by default that of the weights.
    """

    def __init__(self, encoder: Any, precision: Any = None) -> None:
        from irtoolkit.models.packed_layer import parameters

        self._encoder, self._precision = encoder, precision
        self._parameters = [parameters(layer) for layer in encoder.layer]
        self._lock = threading.Lock()
        self._made: list[Any] = []
        self._place: tuple[Any, ...] = ()
        self._versions = -1
        # Parts of joined weights, and the parameters that they are copies of.
        self._copies: list[Any] = []
        self._originals: list[Any] = []

    def __call__(self) -> list[Any]:
        """Returns the weights of each layer; copies them again if parameters have changed."""
        import torch

        first = self._parameters[0][0]
        location = first.data_ptr(), first.device, first.dtype
        training = torch.is_grad_enabled()
        with self._lock, torch.inference_mode(False), torch.no_grad():
            if self._place != location:
                self._make()
                self._place = location
            versions = sum(weights._version for weights in self._originals)
            if training or self._versions != versions:
                torch._foreach_copy_(self._copies, self._originals)
            self._versions = versions
            return self._made

    def __deepcopy__(self, memo: dict[int, Any]) -> LayerWeights:
        return LayerWeights(copy.deepcopy(self._encoder, memo), self._precision)

    def parameters(self) -> list[Any]:
        """Returns the parameters of all layers, end to end."""
        return list(chain.from_iterable(self._parameters))

    def _make(self) -> None:
        import torch

        from irtoolkit.models.packed_layer import Weights

        self._made, self._copies, self._originals = [], [], []
        for layer, weights in zip(self._encoder.layer, self._parameters, strict=True):
            kind = self._precision or weights[0].dtype
            layers: list[Any] = []
            for group in (
                weights[:3],
                weights[3:6],
                *([weights[i]] for i in (6, 7, 10, 11, 12, 13)),
            ):
                layers.append(torch.cat([part.detach() for part in group]).to(kind))
                self._copies += layers[-1].split([len(part) for part in group])
                self._originals += [part.detach() for part in group]
            epsilon = layer.output.LayerNorm.eps
            norms = [(weights[at].detach(), weights[at + 1].detach(), epsilon) for at in (8, 14)]
            self._made.append(Weights(*layers, norms=(norms[0], norms[1])))  # type: ignore[misc]

"""A layer of BERT over the concatenated tokens of a batch, forward and backward.

Products are computed in the precision of the tokens, and sums, means and softmax in fp32. Attention
is FlashAttention's over texts of unequal length. The backward pass is written out, so that all layers
are one node of torch's graph: few operations are started, and gradients of weights are summed in
fp32.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional


class Weights(NamedTuple):
    """The weights of a layer in the precision of computation; those of norms unchanged.

    Attributes:
        qkv, qkv_bias: of queries, keys and values, one below the other.
        joined, joined_bias: the projection that joins the heads.
        wide, wide_bias, narrow, narrow_bias: of the two layers behind attention.
        norms: weight, bias and epsilon of both norms.
    """

    qkv: Any
    qkv_bias: Any
    joined: Any
    joined_bias: Any
    wide: Any
    wide_bias: Any
    narrow: Any
    narrow_bias: Any
    norms: tuple[tuple[Any, Any, float], tuple[Any, Any, float]]


class Shape(NamedTuple):
    """The inputs of a layer besides tokens and weights.

    Attributes:
        starts: (n+1,) first token of each text, as int32.
        longest: tokens of the longest.
        heads: of attention.
        dropped: dropout probabilities of attention and of the residual branches.
        seeds: seeds of dropout, two for each layer.
        number: the layer's.
        last: whether it is the last, whose tokens are returned in fp32.
    """

    starts: Any
    longest: int
    heads: int
    dropped: tuple[float, float]
    seeds: Any
    number: int
    last: bool


class Kept(NamedTuple):
    """Intermediate results of the forward pass for the backward pass."""

    x: Any
    qkv: Any
    attended: tuple[Any, ...]
    normed: Any
    scales: Any
    middle: Any
    wide: Any
    acted: Any
    last_normed: Any
    last_scales: Any


def forwards(x: Any, weights: Weights, shape: Shape, keep: bool) -> tuple[Any, Kept | None]:
    """Returns (t, width) of tokens after a layer, and what the backward pass needs."""
    kernels, dropped, number = _kernels(x.device.type), shape.dropped[1], 2 * shape.number
    qkv = functional.linear(x, weights.qkv, weights.qkv_bias)
    attended = _attention(x).forwards(qkv, shape)
    joined = functional.linear(attended[0].reshape(x.shape), weights.joined, weights.joined_bias)
    middle, normed, scales = kernels.add_norm(
        joined, x, weights.norms[0], dropped, shape.seeds, number, keep, x.dtype
    )
    wide = functional.linear(middle, weights.wide, weights.wide_bias)
    acted = functional.gelu(wide)
    narrow = functional.linear(acted, weights.narrow, weights.narrow_bias)
    out, last_normed, last_scales = kernels.add_norm(
        narrow,
        middle,
        weights.norms[1],
        dropped,
        shape.seeds,
        number + 1,
        keep,
        torch.float32 if shape.last else x.dtype,
    )
    if not keep:
        return out, None
    return out, Kept(
        x, qkv, attended, normed, scales, middle, wide, acted, last_normed, last_scales
    )


def backwards(grad: Any, weights: Weights, shape: Shape, saved: Kept) -> tuple[Any, list[Any]]:
    """Gradients of a layer's tokens and of its weights, in the order of `PARAMETERS`."""
    kernels, dropped, number = _kernels(grad.device.type), shape.dropped[1], 2 * shape.number
    narrow, middle, sums = kernels.add_norm_back(
        grad.contiguous(),
        saved.last_normed,
        saved.last_scales,
        weights.norms[1][0],
        dropped,
        shape.seeds,
        number + 1,
    )
    last_weight, last_bias, narrow_bias = sums.unbind()
    # Without dropout the two gradients are one, which is written over next.
    of_narrow = _of_weights(narrow, saved.acted)
    wide = torch.ops.aten.gelu_backward(narrow @ weights.narrow, saved.wide)
    middle = middle.addmm_(wide, weights.wide)
    joined, x, sums = kernels.add_norm_back(
        middle, saved.normed, saved.scales, weights.norms[0][0], dropped, shape.seeds, number
    )
    first_weight, first_bias, joined_bias = sums.unbind()
    context = saved.attended[0].reshape(x.shape)
    qkv = _attention(x).backwards(joined @ weights.joined, saved.qkv, saved.attended, shape)
    gradients = [
        *_of_weights(qkv, saved.x).chunk(3),
        *qkv.sum(0, dtype=torch.float32).chunk(3),
        _of_weights(joined, context),
        joined_bias,
        first_weight,
        first_bias,
        _of_weights(wide, saved.middle),
        wide.sum(0, dtype=torch.float32),
        of_narrow,
        narrow_bias,
        last_weight,
        last_bias,
    ]
    return x.addmm_(qkv, weights.qkv), gradients


# Of a layer of BERT, as `backwards` gives their gradients.
PARAMETERS = (
    "attention.self.query.weight",
    "attention.self.key.weight",
    "attention.self.value.weight",
    "attention.self.query.bias",
    "attention.self.key.bias",
    "attention.self.value.bias",
    "attention.output.dense.weight",
    "attention.output.dense.bias",
    "attention.output.LayerNorm.weight",
    "attention.output.LayerNorm.bias",
    "intermediate.dense.weight",
    "intermediate.dense.bias",
    "output.dense.weight",
    "output.dense.bias",
    "output.LayerNorm.weight",
    "output.LayerNorm.bias",
)


def parameters(layer: Any) -> list[Any]:
    """Returns a layer's parameters in the order of `PARAMETERS`, without those that it lacks."""
    by_name = dict(layer.named_parameters())
    return [by_name[name] for name in PARAMETERS if name in by_name]


class Layers(torch.autograd.Function):
    """The layers of an encoder as one node of torch's graph."""

    @staticmethod
    def forward(
        ctx: Any, x: Any, weights: list[Weights], shapes: list[Shape], *parameters: Any
    ) -> Any:
        ctx.given = []
        for own, shape in zip(weights, shapes, strict=True):
            x, kept = forwards(x, own, shape, keep=True)
            ctx.given.append((own, shape, kept))
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        if not ctx.given:
            raise RuntimeError(
                "a second backward pass through packed layers, which free what they have kept in the"
                " first, with retain_graph too; compute the forward pass again"
            )
        found: list[Any] = []
        while ctx.given:  # what a layer has kept is freed as soon as it is used
            grad, own = backwards(grad, *ctx.given.pop())
            found = own + found
        needed = ctx.needs_input_grad[3:]
        return (
            grad,
            None,
            None,
            *(own if asked else None for own, asked in zip(found, needed, strict=True)),
        )


def _of_weights(grad: Any, inputs: Any) -> Any:
    """Returns the gradient of weights that `inputs` was multiplied by, in fp32."""
    if grad.is_cuda and grad.dtype != torch.float32:
        return torch.mm(grad.T, inputs, out_dtype=torch.float32)
    return (grad.T @ inputs).float()


@cache
def _kernels(device: str) -> Any:
    """Returns the module of the kernels for a device type: Triton's on a GPU, else torch."""
    if device == "cuda" and find_spec("triton") is not None:
        return import_module("irtoolkit.models._packed_kernels")
    return import_module("irtoolkit.models._packed_plain")


# -- attention ----------------------------------------------------------------------------------


def _attention(x: Any) -> Any:
    return _Flash if x.is_cuda and x.dtype != torch.float32 else _Plain


def _apart(qkv: Any, shape: Shape) -> Any:
    """Queries, keys and values, each (t, heads, width of a head)."""
    return qkv.view(len(qkv), 3, shape.heads, -1).unbind(1)


class _Flash:
    """FlashAttention, which torch has, over texts of unequal length."""

    @staticmethod
    def forwards(qkv: Any, shape: Shape) -> tuple[Any, ...]:
        q, k, v = _apart(qkv, shape)
        output = torch.ops.aten._flash_attention_forward(
            q,
            k,
            v,
            shape.starts,
            shape.starts,
            shape.longest,
            shape.longest,
            shape.dropped[0],
            False,
            False,
        )
        return tuple(output[:4])

    @staticmethod
    def backwards(grad: Any, qkv: Any, attended: tuple[Any, ...], shape: Shape) -> Any:
        q, k, v = _apart(qkv, shape)
        out, sums, state, unused = attended
        output = torch.ops.aten._flash_attention_backward(
            grad.view(out.shape),
            q,
            k,
            v,
            out,
            sums,
            shape.starts,
            shape.starts,
            shape.longest,
            shape.longest,
            shape.dropped[0],
            False,
            state,
            unused,
        )
        return torch.stack(output, 1).view(len(qkv), -1)


class _Plain:
    """Attention of one text after another, without dropout."""

    @staticmethod
    def forwards(qkv: Any, shape: Shape) -> tuple[Any, ...]:
        q, k, v = (part.transpose(0, 1) for part in _apart(qkv, shape))
        bounds = shape.starts.tolist()
        parts = [
            functional.scaled_dot_product_attention(q[:, a:b], k[:, a:b], v[:, a:b])
            for a, b in pairwise(bounds)
        ]
        return (torch.cat(parts, 1).transpose(0, 1),)

    @staticmethod
    def backwards(grad: Any, qkv: Any, attended: tuple[Any, ...], shape: Shape) -> Any:
        again = qkv.detach().requires_grad_()
        with torch.enable_grad():
            (out,) = _Plain.forwards(again, shape)
        return torch.autograd.grad(out, again, grad.view(out.shape))[0]

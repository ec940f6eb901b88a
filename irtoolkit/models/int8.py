"""Linear layers that multiply in int8, which CPUs with VNNI do faster; see benchmarks/backends.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

_STEPS = 127
# On a GPU the product wants more rows than 16, and other sizes that are multiples of 8.
_ROWS, _MULTIPLE = 17, 8
# Sums of so many products of codes need no more than the 24 bits that fp32 has: they are exact.
_EXACT = (1 << 24) // _STEPS**2


class Int8Linear(torch.nn.Module):
    """A linear layer whose weights and inputs are rounded to int8.

    Weights have 127 steps up to the largest of each output, inputs to the largest of each row: the
    output of a token does not depend on the tokens beside it. Products are summed exactly.

    Args:
        layer: the layer to replace: (out, in) weights, both multiples of 8.
    """

    weights: torch.Tensor
    steps: torch.Tensor
    bias: torch.Tensor | None

    def __init__(self, layer: torch.nn.Linear) -> None:
        super().__init__()
        weights = layer.weight.detach().float()
        steps = _steps(weights)
        rounded = (weights / steps).round_().to(torch.int8)
        self.register_buffer("weights", rounded.t().contiguous())
        self.register_buffer("steps", steps.flatten())
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().float())

    def forward(self, inputs: Any) -> Any:
        """(..., in) to (..., out)."""
        rows = inputs.reshape(-1, inputs.shape[-1])
        steps = _steps(rows)
        rounded = (rows / steps).round_().to(torch.int8)
        multiply = in_int8 if rows.device.type != "cpu" or int8_is_faster() else in_fp32
        product = multiply(rounded, self.weights).mul_(steps).mul_(self.steps)
        if self.bias is not None:
            product.add_(self.bias)
        return product.reshape(*inputs.shape[:-1], -1)


def in_int8(rows: Any, weights: Any) -> Any:
    """Returns (n, in) and (in, out) codes to their (n, out) product in fp32, summed in integers."""
    count = len(rows)
    if (missing := _ROWS - count) > 0:
        rows = torch.nn.functional.pad(rows, (0, 0, 0, missing))
    return torch._int_mm(rows, weights)[:count].float()


def in_fp32(rows: Any, weights: Any) -> Any:
    """Returns the result of `in_int8`, to the bit, from products of fp32 matrices."""
    pairs = zip(rows.split(_EXACT, 1), weights.split(_EXACT, 0), strict=True)
    parts = [left.float() @ others.float() for left, others in pairs]
    if len(parts) == 1:
        return parts[0]
    return torch.stack(parts).sum(0, dtype=torch.float64).float()


@cache
def int8_is_faster() -> bool:
    """Returns whether this CPU multiplies int8 faster than fp32, after a trial of milliseconds."""
    rows, weights = (torch.ones(size, dtype=torch.int8) for size in ((128, 512), (512, 512)))

    def seconds(multiply: Callable[[Any, Any], Any]) -> float:
        started = time.perf_counter()
        multiply(rows, weights)
        return time.perf_counter() - started

    return min(seconds(in_int8) for _ in range(3)) < min(seconds(in_fp32) for _ in range(3))


def to_int8(module: torch.nn.Module) -> None:
    """Replaces the linear layers of a module, in place.

    Layers whose sizes are not multiples of 8 stay unchanged, and so does everything that is not a
    linear layer: attention, normalisation, activations and embeddings.
    """
    for name, child in module.named_children():
        if type(child) is not torch.nn.Linear:
            to_int8(child)
        elif child.in_features % _MULTIPLE == child.out_features % _MULTIPLE == 0:
            setattr(module, name, Int8Linear(child))


def _steps(rows: Any) -> Any:
    """Returns (n, 1) the step size of each row; above 0 even if the row has only zeros."""
    largest = rows.abs().amax(1, keepdim=True)
    return largest.div_(_STEPS).clamp_(min=torch.finfo(torch.float32).tiny)

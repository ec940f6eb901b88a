"""The functions of `irtoolkit.models._packed_kernels` in plain torch: slower, on any device."""

from __future__ import annotations

from typing import Any

import torch


def add_norm(
    added: Any,
    before: Any,
    norm: tuple[Any, Any, float],
    dropped: float,
    seeds: Any,
    number: int,
    keep: bool,
    kind: Any,
) -> tuple[Any, Any, Any]:
    """Returns (n, width) of `added`, with dropout, added to `before` and normalised."""
    weight, bias, epsilon = norm
    summed = added.float() * _kept(added, dropped, seeds, number) + before.float()
    apart = summed - summed.mean(1, keepdim=True)
    scales = (apart.square().mean(1) + epsilon).rsqrt()
    normed = apart * scales[:, None]
    return (normed * weight + bias).to(kind), normed.to(added.dtype), scales


def add_norm_back(
    grad: Any, normed: Any, scales: Any, weight: Any, dropped: float, seeds: Any, number: int
) -> tuple[Any, Any, Any]:
    """Returns the gradients of `add_norm`: of `dropped_grad`, of `before`, and (3, width) sums."""
    wide_grad, x = grad.float(), normed.float()
    weighed = wide_grad * weight
    along = (weighed * x).mean(1, keepdim=True)
    before = (weighed - weighed.mean(1, keepdim=True) - x * along) * scales[:, None]
    dropped_grad = before * _kept(grad, dropped, seeds, number)
    sums = torch.stack([(wide_grad * x).sum(0), wide_grad.sum(0), dropped_grad.sum(0)])
    return dropped_grad.to(normed.dtype), before.to(normed.dtype), sums


def _kept(like: Any, dropped: float, seeds: Any, number: int) -> Any:
    """Returns the factor of dropout, always the same for the same seed."""
    if dropped == 0:
        return 1.0
    draw = torch.Generator(like.device).manual_seed(int(seeds[number]))
    drawn = torch.rand(like.shape, generator=draw, device=like.device)
    return (drawn >= dropped) / (1 - dropped)

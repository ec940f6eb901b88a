"""Triton's kernels of packed encoders; without Triton, `irtoolkit.models._packed_plain`.

Each has a plain counterpart of the same name and arguments there, with which tests compare it.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

# Programs that walk over all rows backwards, each with sums of its own.
_PROGRAMS = 528
# Rounds of the random numbers of dropout.
_ROUNDS = tl.constexpr(7)


@triton.jit(do_not_specialize=["number"])  # type: ignore[untyped-decorator]
def _add_norm(  # type: ignore[no-untyped-def]
    added,
    before,
    weight,
    bias,
    out,
    summed,
    scales,
    seeds,
    number,
    width,
    epsilon,
    dropped,
    drops: tl.constexpr,
    keeps: tl.constexpr,
    block: tl.constexpr,
):
    row = tl.program_id(0)
    offset = tl.arange(0, block)
    inside = offset < width
    value = tl.load(added + row * width + offset, mask=inside, other=0.0).to(tl.float32)
    if drops:
        drawn = tl.rand(tl.load(seeds + number), row * width + offset, _ROUNDS)
        value = tl.where(drawn < dropped, 0.0, value / (1.0 - dropped))
    value += tl.load(before + row * width + offset, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, 0) / width
    apart = tl.where(inside, value - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(apart * apart, 0) / width + epsilon)
    normed = apart * scale
    w = tl.load(weight + offset, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(bias + offset, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + offset, normed * w + b, mask=inside)
    if keeps:
        tl.store(summed + row * width + offset, normed, mask=inside)
        tl.store(scales + row, scale)


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
    """Returns (n, width) of `added`, with dropout, added to `before` and normalised.

    Args:
        added, before: (n, width).
        norm: weight, bias and epsilon.
        dropped: dropout probability.
        seeds, number: seeds of dropout, and the index of this one.
        keep: whether to keep what `add_norm_back` needs.
        kind: torch type of the result.

    Returns:
        The normalised sum; the same before weight and bias; (n,) its scale factors.
    """
    rows, width = added.shape
    out = torch.empty_like(added, dtype=kind)
    normed = torch.empty_like(added) if keep else out
    scales = torch.empty(rows if keep else 0, dtype=torch.float32, device=added.device)
    seeds = added if seeds is None else seeds
    if rows:
        _add_norm[(rows,)](
            added,
            before,
            norm[0],
            norm[1],
            out,
            normed,
            scales,
            seeds,
            number,
            width,
            norm[2],
            dropped,
            drops=dropped > 0,
            keeps=keep,
            block=triton.next_power_of_2(width),
            num_warps=4,
        )
    return out, normed, scales


@triton.jit(do_not_specialize=["rows", "turns", "number"])  # type: ignore[untyped-decorator]
def _add_norm_back(  # type: ignore[no-untyped-def]
    grad,
    normed,
    scales,
    weight,
    to_before,
    to_made,
    sums,
    seeds,
    rows,
    turns,
    number,
    width,
    dropped,
    drops: tl.constexpr,
    programs: tl.constexpr,
    block: tl.constexpr,
):
    offset = tl.arange(0, block)
    inside = offset < width
    w = tl.load(weight + offset, mask=inside, other=0.0).to(tl.float32)
    of_weight = tl.zeros([block], tl.float32)
    of_bias = tl.zeros([block], tl.float32)
    of_made = tl.zeros([block], tl.float32)
    for turn in range(turns):
        row_number = tl.program_id(0) + turn * programs
        valid = inside & (row_number < rows)
        row = row_number * width
        gradient = tl.load(grad + row + offset, mask=valid, other=0.0).to(tl.float32)
        x = tl.load(normed + row + offset, mask=valid, other=0.0).to(tl.float32)
        of_weight += gradient * x
        of_bias += gradient
        gradient *= w
        along = tl.sum(gradient * x, 0) / width
        mean = tl.sum(gradient, 0) / width
        scale = tl.load(scales + row_number, mask=row_number < rows, other=0.0)
        result = tl.where(valid, (gradient - mean - x * along) * scale, 0.0)
        tl.store(to_before + row + offset, result, mask=valid)
        if drops:
            drawn = tl.rand(tl.load(seeds + number), row + offset, _ROUNDS)
            result = tl.where(drawn < dropped, 0.0, result / (1.0 - dropped))
            tl.store(to_made + row + offset, result, mask=valid)
        of_made += result
    own_sums = sums + tl.program_id(0) * 3 * width + offset
    tl.store(own_sums, of_weight, mask=inside)
    tl.store(own_sums + width, of_bias, mask=inside)
    tl.store(own_sums + 2 * width, of_made, mask=inside)


def add_norm_back(
    grad: Any, normed: Any, scales: Any, weight: Any, dropped: float, seeds: Any, number: int
) -> tuple[Any, Any, Any]:
    """Returns the gradients of `add_norm`: of `made`, of `before`, and (3, width) sums.

    The sums are the gradients of weight and bias, and the sum of `made`'s gradient.
    """
    rows, width = grad.shape
    to_before = torch.empty_like(normed)
    to_made = torch.empty_like(normed) if dropped > 0 else to_before
    programs = min(_PROGRAMS, max(1, rows))
    sums = torch.empty((programs, 3, width), dtype=torch.float32, device=grad.device)
    _add_norm_back[(programs,)](
        grad,
        normed,
        scales,
        weight,
        to_before,
        to_made,
        sums,
        seeds,
        rows,
        triton.cdiv(rows, programs),
        number,
        width,
        dropped,
        drops=dropped > 0,
        programs=programs,
        block=triton.next_power_of_2(width),
        num_warps=4,
    )
    return to_made, to_before, sums.sum(0)

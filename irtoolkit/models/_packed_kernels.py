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
    made,
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
    at = tl.arange(0, block)
    inside = at < width
    own = tl.load(made + row * width + at, mask=inside, other=0.0).to(tl.float32)
    if drops:
        drawn = tl.rand(tl.load(seeds + number), row * width + at, _ROUNDS)
        own = tl.where(drawn < dropped, 0.0, own / (1.0 - dropped))
    own += tl.load(before + row * width + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(own, 0) / width
    apart = tl.where(inside, own - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(apart * apart, 0) / width + epsilon)
    normed = apart * scale
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + at, normed * w + b, mask=inside)
    if keeps:
        tl.store(summed + row * width + at, normed, mask=inside)
        tl.store(scales + row, scale)


def add_norm(
    made: Any,
    before: Any,
    norm: tuple[Any, Any, float],
    dropped: float,
    seeds: Any,
    number: int,
    keep: bool,
    kind: Any,
) -> tuple[Any, Any, Any]:
    """Returns (n, width) of `made`, with dropout, added to `before` and normalised.

    Args:
        made, before: (n, width).
        norm: weight, bias and epsilon.
        dropped: dropout probability.
        seeds, number: seeds of dropout, and the index of this one.
        keep: whether to keep what `add_norm_back` needs.
        kind: torch type of the result.

    Returns:
        The normalised sum; the same before weight and bias; (n,) its scale factors.
    """
    rows, width = made.shape
    out = torch.empty_like(made, dtype=kind)
    normed = torch.empty_like(made) if keep else out
    scales = torch.empty(rows if keep else 0, dtype=torch.float32, device=made.device)
    seeds = made if seeds is None else seeds
    if rows:
        _add_norm[(rows,)](
            made,
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
    at = tl.arange(0, block)
    inside = at < width
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    of_weight = tl.zeros([block], tl.float32)
    of_bias = tl.zeros([block], tl.float32)
    of_made = tl.zeros([block], tl.float32)
    for turn in range(turns):
        each = tl.program_id(0) + turn * programs
        here = inside & (each < rows)
        row = each * width
        own = tl.load(grad + row + at, mask=here, other=0.0).to(tl.float32)
        x = tl.load(normed + row + at, mask=here, other=0.0).to(tl.float32)
        of_weight += own * x
        of_bias += own
        own *= w
        along = tl.sum(own * x, 0) / width
        mean = tl.sum(own, 0) / width
        scale = tl.load(scales + each, mask=each < rows, other=0.0)
        found = tl.where(here, (own - mean - x * along) * scale, 0.0)
        tl.store(to_before + row + at, found, mask=here)
        if drops:
            drawn = tl.rand(tl.load(seeds + number), row + at, _ROUNDS)
            found = tl.where(drawn < dropped, 0.0, found / (1.0 - dropped))
            tl.store(to_made + row + at, found, mask=here)
        of_made += found
    own_sums = sums + tl.program_id(0) * 3 * width + at
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

"""The functions of `irtoolkit.retrievers._gpu_kernels` in plain torch: slower, on any device."""

from __future__ import annotations

from typing import Any

import torch

# Pairs at once; always so many, because a sum may be computed in another order for another number.
_PAIRS = 1 << 14
# Products made at once.
_PRODUCTS = 1 << 28


def exact(queries: Any, docs: Any, rows: Any, places: Any) -> Any:
    """(n,) products of pairs, each computed in double precision in one order, as fp32."""
    out = torch.empty(len(rows), dtype=torch.float32, device=queries.device)
    for first in range(0, len(rows), _PAIRS):
        last = min(len(rows), first + _PAIRS)
        missing = (0, _PAIRS - (last - first))
        row = torch.nn.functional.pad(rows[first:last].long(), missing)
        positions = torch.nn.functional.pad(places[first:last].long(), missing)
        products = (queries[row].double() * docs[positions].double()).sum(1)
        out[first:last] = products[: last - first].float()
    return out


def propose(queries: Any, docs: Any, first: int, least: Any, hit_parts: Any, targets: Any) -> None:
    """Notes which documents are high enough for queries, and which are near wanted documents."""
    size = hit_parts.values.shape[2]
    step = max(1, _PRODUCTS // max(1, len(queries)) // size) * size
    for begin in range(0, len(docs), step):
        products = product(queries, docs[begin : begin + step])
        missing = -products.shape[1] % size
        parts = torch.nn.functional.pad(products, (0, missing), value=-torch.inf)
        _sift(parts.reshape(len(products), -1, size), first + begin, least, hit_parts, targets)


def product(queries: Any, docs: Any) -> Any:
    """(q, c) products in fp16, added up in single precision."""
    if docs.device.type == "cpu":
        return (queries.float() @ docs.float().T).half()
    settings = torch.backends.cuda.matmul
    before = settings.allow_fp16_reduced_precision_reduction
    settings.allow_fp16_reduced_precision_reduction = False
    try:
        return queries @ docs.T
    finally:
        settings.allow_fp16_reduced_precision_reduction = before


def _sift(products: Any, first: int, least: Any, hit_parts: Any, targets: Any) -> None:
    """Notes what is to be kept of (q, parts, size) products."""
    size = products.shape[2]
    row, part = (products.amax(2) >= least[:, None]).nonzero(as_tuple=True)
    slots = _places(row, hit_parts.counts)
    inside = slots < hit_parts.docs.shape[1]
    row, part, slots = row[inside], part[inside], slots[inside]
    hit_parts.docs[row, slots] = (part * size + first).int()
    hit_parts.values[row, slots] = products[row, part]
    rows = torch.repeat_interleave(
        torch.arange(len(products), device=products.device), targets.starts.diff().long()
    )
    if not len(rows):
        return
    values = products[rows].float()
    high, low = targets.high[:, None, None], targets.low[:, None, None]
    targets.above.add_((values > high).sum((1, 2)).int())
    mask = (((values <= high) & (values >= low)) << torch.arange(size, device=values.device)).sum(2)
    number, part = mask.nonzero(as_tuple=True)
    slots = _places(number, targets.counts)
    inside = slots < targets.near.shape[1]
    number, part, slots = number[inside], part[inside], slots[inside]
    targets.near[number, slots] = (part * size + first).int()
    # As 32 bits, of which the highest is a sign.
    targets.bits[number, slots] = (mask[number, part] << 32 >> 32).int()


def unpack(parts: Any, least: Any, candidates: Any) -> None:
    """Takes what is high enough out of the parts that `propose` has kept; into a `Kept`."""
    room = parts.docs.shape[1]
    is_filled = torch.arange(room, device=least.device) < parts.counts[:, None]
    high = (
        (parts.values >= least[:, None, None]) & (parts.values > -torch.inf) & is_filled[:, :, None]
    )
    row, part, within = high.nonzero(as_tuple=True)
    slots = _places(row, candidates.counts)
    inside = slots < candidates.docs.shape[1]
    row, part, within, slots = row[inside], part[inside], within[inside], slots[inside]
    candidates.docs[row, slots] = parts.docs[row, part] + within.int()
    candidates.values[row, slots] = parts.values[row, part, within].float()


def _places(rows: Any, counts: Any) -> Any:
    """(n,) where each of some finds of ascending rows goes in its row; they are counted."""
    many = torch.bincount(rows, minlength=len(counts))
    begins = many.cumsum(0) - many
    slots = counts[rows] + torch.arange(len(rows), device=rows.device) - begins[rows]
    counts += many.int()
    return slots


def maxsim(docs: Any, starts: Any, queries: Any, lengths: Any) -> Any:
    """(q, c) MaxSim scores; see `_gpu_kernels.maxsim`."""
    tokens = queries.shape[1]
    vectors = queries.reshape(-1, queries.shape[2]).float()
    counts = starts.diff().long()
    best = torch.segment_reduce(docs.float() @ vectors.T, "max", lengths=counts)
    best[counts == 0] = -1
    real = torch.arange(tokens, device=docs.device) < lengths[:, None]
    return (best.reshape(len(counts), -1, tokens) * real).sum(2).T.contiguous()

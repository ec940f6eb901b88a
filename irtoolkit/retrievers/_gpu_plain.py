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
        place = torch.nn.functional.pad(places[first:last].long(), missing)
        made = (queries[row].double() * docs[place].double()).sum(1)
        out[first:last] = made[: last - first].float()
    return out


def propose(queries: Any, docs: Any, first: int, least: Any, found: Any, wanted: Any) -> None:
    """Notes which documents are high enough for queries, and which are near wanted documents."""
    size = found.values.shape[2]
    step = max(1, _PRODUCTS // max(1, len(queries)) // size) * size
    for begin in range(0, len(docs), step):
        products = product(queries, docs[begin : begin + step])
        missing = -products.shape[1] % size
        parts = torch.nn.functional.pad(products, (0, missing), value=-torch.inf)
        _sift(parts.reshape(len(products), -1, size), first + begin, least, found, wanted)


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


def _sift(parts: Any, first: int, least: Any, found: Any, wanted: Any) -> None:
    """Notes what is to be kept of (q, parts, size) products."""
    size = parts.shape[2]
    row, part = (parts.amax(2) >= least[:, None]).nonzero(as_tuple=True)
    place = _places(row, found.counts)
    inside = place < found.docs.shape[1]
    row, part, place = row[inside], part[inside], place[inside]
    found.docs[row, place] = (part * size + first).int()
    found.values[row, place] = parts[row, part]
    rows = torch.repeat_interleave(
        torch.arange(len(parts), device=parts.device), wanted.starts.diff().long()
    )
    if not len(rows):
        return
    own = parts[rows].float()
    high, low = wanted.high[:, None, None], wanted.low[:, None, None]
    wanted.above.add_((own > high).sum((1, 2)).int())
    which = (((own <= high) & (own >= low)) << torch.arange(size, device=own.device)).sum(2)
    number, part = which.nonzero(as_tuple=True)
    place = _places(number, wanted.counts)
    inside = place < wanted.near.shape[1]
    number, part, place = number[inside], part[inside], place[inside]
    wanted.near[number, place] = (part * size + first).int()
    # As 32 bits, of which the highest is a sign.
    wanted.bits[number, place] = (which[number, part] << 32 >> 32).int()


def unpack(found: Any, least: Any, kept: Any) -> None:
    """Takes what is high enough out of the parts that `propose` has kept; into a `Kept`."""
    room = found.docs.shape[1]
    here = torch.arange(room, device=least.device) < found.counts[:, None]
    high = (found.values >= least[:, None, None]) & (found.values > -torch.inf) & here[:, :, None]
    row, part, within = high.nonzero(as_tuple=True)
    place = _places(row, kept.counts)
    inside = place < kept.docs.shape[1]
    row, part, within, place = row[inside], part[inside], within[inside], place[inside]
    kept.docs[row, place] = found.docs[row, part] + within.int()
    kept.values[row, place] = found.values[row, part, within].float()


def _places(rows: Any, counts: Any) -> Any:
    """(n,) where each of some finds of ascending rows goes in its row; they are counted."""
    many = torch.bincount(rows, minlength=len(counts))
    begins = many.cumsum(0) - many
    place = counts[rows] + torch.arange(len(rows), device=rows.device) - begins[rows]
    counts += many.int()
    return place


def maxsim(docs: Any, starts: Any, queries: Any, lengths: Any) -> Any:
    """(q, c) MaxSim scores; see `_gpu_kernels.maxsim`."""
    tokens = queries.shape[1]
    asked = queries.reshape(-1, queries.shape[2]).float()
    counts = starts.diff().long()
    best = torch.segment_reduce(docs.float() @ asked.T, "max", lengths=counts)
    best[counts == 0] = -1
    real = torch.arange(tokens, device=docs.device) < lengths[:, None]
    return (best.reshape(len(counts), -1, tokens) * real).sum(2).T.contiguous()

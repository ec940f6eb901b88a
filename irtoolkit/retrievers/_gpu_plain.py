"""What `irtoolkit.retrievers._gpu_kernels` computes, in plain torch: slower, on any device."""

from __future__ import annotations

from typing import Any

import torch

# Pairs at once; always so many, because a sum may be computed in another order for another number.
_PAIRS = 1 << 14


def exact(queries: Any, docs: Any, rows: Any, places: Any) -> Any:
    """(n,) products of pairs, each computed in double precision in one order, as fp32."""
    out = torch.empty(len(rows), dtype=torch.float32, device=docs.device)
    for first in range(0, len(rows), _PAIRS):
        last = min(len(rows), first + _PAIRS)
        missing = (0, _PAIRS - (last - first))
        row = torch.nn.functional.pad(rows[first:last].long(), missing)
        place = torch.nn.functional.pad(places[first:last].long(), missing)
        made = (queries[row].double() * docs[place].double()).sum(1)
        out[first:last] = made[: last - first].float()
    return out


def sift(products: Any, first: int, least: Any, found: Any, wanted: Any) -> None:
    """Notes which documents of a block are high enough, and which are near wanted documents."""
    size = found.values.shape[2]
    missing = -products.shape[1] % size
    parts = torch.nn.functional.pad(products, (0, missing), value=-torch.inf)
    parts = parts.reshape(len(products), -1, size)
    row, part = (parts.amax(2) >= least[:, None]).nonzero(as_tuple=True)
    place = _places(row, found.counts)
    inside = place < found.docs.shape[1]
    row, part, place = row[inside], part[inside], place[inside]
    found.docs[row, place] = (part * size + first).int()
    found.values[row, place] = parts[row, part]
    rows = torch.repeat_interleave(
        torch.arange(len(products), device=products.device), wanted.starts.diff().long()
    )
    if not len(rows):
        return
    own = products[rows].float()
    wanted.above.add_((own > wanted.high[:, None]).sum(1).int())
    close = (own <= wanted.high[:, None]) & (own >= wanted.low[:, None])
    number, column = close.nonzero(as_tuple=True)
    place = _places(number, wanted.counts)
    inside = place < wanted.near.shape[1]
    wanted.near[number[inside], place[inside]] = (column[inside] + first).int()


def unpack(found: Any, least: Any, kept: Any) -> None:
    """Takes what is high enough out of the parts that `sift` has kept; into a `Kept`."""
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

"""Triton's kernels of search on a GPU; where there is no Triton, `irtoolkit.retrievers._gpu_plain`.

Every kernel has a plain counterpart of the same name and arguments there, with which tests compare it.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from irtoolkit.retrievers._gpu_plain import product as product

# Queries and documents of one program of a search, and dimensions that it multiplies at once.
_TALL, _WIDE, _DEEP = 128, 256, 64
# Parts that one program unpacks.
_UNPACKED = 64
# Tokens of a document that one program compares at once, and documents that it compares.
_TOKENS, _EACH, _WARPS, _STAGES = 32, 32, 4, 3


@triton.jit  # type: ignore[untyped-decorator]
def _exact(  # type: ignore[no-untyped-def]
    queries, docs, rows, places, out, width, block: tl.constexpr
):
    pair = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, block)
    inside = column < width
    row, position = tl.load(rows + pair).to(tl.int64), tl.load(places + pair).to(tl.int64)
    query = tl.load(queries + row * width + column, mask=inside, other=0.0).to(tl.float64)
    document = tl.load(docs + position * width + column, mask=inside, other=0.0).to(tl.float64)
    tl.store(out + pair, tl.sum(query * document).to(tl.float32))


def exact(queries: Any, docs: Any, rows: Any, places: Any) -> Any:
    """(n,) products of pairs, each computed in double precision in one order, as fp32."""
    width = queries.shape[1]
    out = torch.empty(len(rows), dtype=torch.float32, device=queries.device)
    if len(rows):
        block = triton.next_power_of_2(width)
        _exact[(len(rows),)](queries, docs, rows, places, out, width, block=block, num_warps=2)
    return out


@triton.jit  # type: ignore[untyped-decorator]
def _propose(  # type: ignore[no-untyped-def]
    queries, docs, tiles, columns, first, least, begins, values, counts, room, starts, low, high, above,
    near, bits, near_counts, near_room, width: tl.constexpr, tall: tl.constexpr, wide: tl.constexpr,
    deep: tl.constexpr, size: tl.constexpr, ranked: tl.constexpr,
):  # fmt: skip
    row = (tl.program_id(0) % tiles) * tall + tl.arange(0, tall)
    begin = (tl.program_id(0) // tiles) * wide
    column = begin + tl.arange(0, wide)
    offsets = tl.arange(0, deep)
    query_pointers = queries + row[:, None] * width + offsets[None, :]
    document_pointers = (
        docs
        + tl.where(column < columns, column, 0)[None, :].to(tl.int64) * width
        + offsets[:, None]
    )
    products = tl.zeros([tall, wide], tl.float32)
    for _ in range(0, width, deep):
        products = tl.dot(tl.load(query_pointers), tl.load(document_pointers), products)
        query_pointers += deep
        document_pointers += deep
    products = tl.where((column < columns)[None, :], products, float("-inf"))
    # Rounded, as they are kept.
    value = tl.reshape(products.to(tl.float16), [tall, wide // size, size])
    part = begin + tl.arange(0, wide // size) * size
    ones = tl.full([tall, wide // size], 1, tl.int32)
    # A part is kept whole where its greatest is: few are, and each of them asks for its place.
    is_kept = tl.max(value, 2).to(tl.float32) >= tl.load(least + row)[:, None]
    is_kept = is_kept & (part < columns)[None, :]
    into = tl.broadcast_to((counts + row)[:, None], [tall, wide // size])
    slot = tl.atomic_add(into, ones, mask=is_kept, sem="relaxed")
    is_kept = is_kept & (slot < room)
    to = row[:, None].to(tl.int64) * room + slot
    doc = tl.broadcast_to((first + part)[None, :], [tall, wide // size])
    tl.store(begins + to, doc, mask=is_kept)
    bit_numbers = tl.arange(0, size)[None, None, :]
    tl.store(values + to[:, :, None] * size + bit_numbers, value, mask=is_kept[:, :, None])
    if ranked:
        target, end = tl.load(starts + row), tl.load(starts + row + 1)
        for turn in range(tl.max(end - target, 0)):
            number, has = target + turn, target + turn < end
            top = tl.load(high + number, mask=has, other=float("inf"))[:, None, None]
            bottom = tl.load(low + number, mask=has, other=float("inf"))[:, None, None]
            over = tl.sum(tl.sum((value.to(tl.float32) > top).to(tl.int32), 2), 1)
            tl.atomic_add(above + number, over, mask=has & (over > 0), sem="relaxed")
            close = (value.to(tl.float32) <= top) & (value.to(tl.float32) >= bottom)
            mask = tl.sum(close.to(tl.int32) << bit_numbers, 2)
            has_bits = (mask != 0) & has[:, None]
            into = tl.broadcast_to((near_counts + number)[:, None], [tall, wide // size])
            spot = tl.atomic_add(into, ones, mask=has_bits, sem="relaxed")
            has_bits = has_bits & (spot < near_room)
            to = number[:, None].to(tl.int64) * near_room + spot
            tl.store(near + to, doc, mask=has_bits)
            tl.store(bits + to, mask, mask=has_bits)


def propose(queries: Any, docs: Any, first: int, least: Any, parts: Any, targets: Any) -> None:
    """Notes which documents are high enough for queries, and which are near wanted documents.

    Args:
        queries, docs: (q, width) and (c, width) in half precision.
        first: the first of the documents.
        least: (q,) the least product that is kept.
        parts: takes parts of rows of products with what is kept; a `ProductParts`.
        targets: takes what is above or near wanted documents; a `Wanted`.
    """
    count, width = queries.shape
    size = parts.values.shape[2]
    more = -count % _TALL
    pad: Any = torch.nn.functional.pad
    queries, least = pad(queries, (0, 0, 0, more)), pad(least, (0, more), value=torch.inf)
    starts = pad(targets.starts, (0, more), value=len(targets.low))
    tiles = len(queries) // _TALL
    _propose[(tiles * triton.cdiv(len(docs), _WIDE),)](
        queries, docs, tiles, len(docs), first, least, parts.docs, parts.values, parts.counts,
        parts.docs.shape[1], starts, targets.low, targets.high, targets.above, targets.near,
        targets.bits, targets.counts, targets.near.shape[1], width=width, tall=_TALL, wide=_WIDE,
        deep=_DEEP, size=size, ranked=len(targets.low) > 0, num_warps=8, num_stages=3,
    )  # fmt: skip


@triton.jit  # type: ignore[untyped-decorator]
def _unpack(  # type: ignore[no-untyped-def]
    begins, products, many, least, docs, values, counts, parts_room, room, parts: tl.constexpr,
    size: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1) * parts + tl.arange(0, parts)
    is_filled = part < tl.minimum(tl.load(many + row), parts_room)
    cell = row * parts_room + part
    within = tl.arange(0, size)
    own = tl.load(
        products + cell[:, None] * size + within[None, :],
        mask=is_filled[:, None],
        other=float("-inf"),
    ).to(tl.float32)
    doc = tl.load(begins + cell, mask=is_filled, other=0)[:, None] + within[None, :]
    # Before a document that is not there stands nothing finite.
    is_kept = (own >= tl.load(least + row)) & (own > float("-inf"))
    flat = tl.reshape(is_kept.to(tl.int32), [parts * size])
    number = tl.sum(flat)
    if number > 0:
        slot = tl.atomic_add(counts + row, number) + tl.cumsum(flat, 0) - 1
        chosen = (flat > 0) & (slot < room)
        tl.store(docs + row * room + slot, tl.reshape(doc, [parts * size]), mask=chosen)
        tl.store(values + row * room + slot, tl.reshape(own, [parts * size]), mask=chosen)


def unpack(parts: Any, least: Any, candidates: Any) -> None:
    """Takes what is high enough out of the parts that `propose` has kept; into a `Kept`."""
    rows, room, size = parts.values.shape
    _unpack[(rows, triton.cdiv(room, _UNPACKED))](
        parts.docs, parts.values, parts.counts, least, candidates.docs, candidates.values, candidates.counts,
        room, candidates.docs.shape[1], parts=_UNPACKED, size=size, num_warps=4,
    )  # fmt: skip


@triton.jit  # type: ignore[untyped-decorator]
def _maxsim(  # type: ignore[no-untyped-def]
    docs, starts, queries, lengths, scores, documents, groups, group_size: tl.constexpr,
    tokens: tl.constexpr, width: tl.constexpr, span: tl.constexpr, block: tl.constexpr,
    many_docs: tl.constexpr,
):  # fmt: skip
    group = tl.program_id(0) % groups
    first = (tl.program_id(0) // groups) * many_docs
    columns = group * group_size * tokens + tl.arange(0, group_size * tokens)
    query_columns = group * group_size + tl.arange(0, group_size)
    real = tl.arange(0, tokens)[None, :] < tl.load(lengths + query_columns)[:, None]
    column = tl.arange(0, span)
    query = tl.load(queries + columns[:, None] * width + column[None, :])
    for doc in range(first, tl.minimum(first + many_docs, documents)):
        begin, end = tl.load(starts + doc), tl.load(starts + doc + 1)
        best = tl.full([group_size * tokens, block], float("-inf"), tl.float32)
        for token in range(begin, end, block):
            rows = token + tl.arange(0, block)
            inside = rows < end
            where = docs + rows[:, None] * width + column[None, :]
            vectors = tl.load(where, mask=inside[:, None], other=0.0)
            products = tl.dot(query, tl.trans(vectors))
            for step in tl.static_range(span, width, span):
                more = tl.load(queries + columns[:, None] * width + step + column[None, :])
                vectors = tl.load(where + step, mask=inside[:, None], other=0.0)
                products = tl.dot(more, tl.trans(vectors), products)
            best = tl.maximum(best, tl.where(inside[None, :], products, float("-inf")))
        greatest = tl.where(end > begin, tl.max(best, 1), -1.0)
        similarities = tl.where(real, tl.reshape(greatest, [group_size, tokens]), 0.0)
        tl.store(scores + query_columns.to(tl.int64) * documents + doc, tl.sum(similarities, 1))


def maxsim(docs: Any, starts: Any, queries: Any, lengths: Any) -> Any:
    """(q, c) MaxSim scores.

    Args:
        docs: (t, width) token vectors of the documents end to end, in half precision.
        starts: (c+1,) where each document's begin.
        queries: (q, tokens, width) token vectors, with zeros where a query has fewer.
        lengths: (q,) how many a query has.
    """
    import torch.nn.functional as pad

    count, tokens, width = queries.shape
    group = max(1, 128 // tokens)
    more = -count % group
    queries, lengths = pad.pad(queries, (0, 0, 0, 0, 0, more)), pad.pad(lengths, (0, more))
    groups, documents = len(queries) // group, len(starts) - 1
    scores = torch.empty((len(queries), documents), dtype=torch.float32, device=docs.device)
    programs = triton.cdiv(documents, _EACH) * groups
    if programs:
        _maxsim[(programs,)](
            docs, starts, queries, lengths, scores, documents, groups, group_size=group, tokens=tokens,
            width=width, span=min(width, 128), block=_TOKENS, many_docs=_EACH,
            num_warps=_WARPS, num_stages=_STAGES,
        )  # fmt: skip
    return scores[:count]

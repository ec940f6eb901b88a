"""Rates of exact search and of MaxSim, beside torch and sentence-transformers, and whether they are right."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from gpu_rates import beside
from gpu_setting import Check, Setting

# Documents kept of each query, and queries that are compared with every product in double precision.
_DEPTH, _COMPARED = 1_000, 10
# Documents whose products torch makes at once.
_BLOCK = 1 << 17


def search(setting: Setting) -> dict[str, Any]:
    """The best documents of each query and the exact rank of one, beside torch's brute force.

    Half of the wanted documents are near their query, and half are any.
    """
    from irtoolkit.retrievers.gpu_search import GpuSearch
    from irtoolkit.retrievers.gpu_vectors import GpuVectors
    from irtoolkit.runs.top_k import TieOrder

    docs, queries, wanted = _vectors(setting)
    depth = min(_DEPTH, len(docs) // 10)
    names = np.random.default_rng(21).permutation(len(docs))
    tied, rows = TieOrder(names, "trec"), np.arange(len(queries))
    placing, there = setting.timed(lambda: GpuVectors(docs, setting.device))
    found = GpuSearch(lambda: there, queries, lambda: np.empty(0))
    work = 2.0 * docs.size * len(queries)

    def rate(seconds: float) -> dict[str, float]:
        return {"seconds": seconds, "share": work / seconds / setting.rate}

    near = np.arange(len(queries)) % 2 == 0
    cases = {"no ranks": rows[:0], "near": rows[near], "any": rows}
    told: dict[str, Any] = {"documents": len(docs), "queries": len(queries), "depth": depth}
    for name, some in cases.items():
        found.best(tied, depth, some, wanted[some])
        seconds, best = setting.timed(
            lambda some=some: found.best(tied, depth, some, wanted[some]), times=3
        )
        told[f"with ranks: {name}"] = rate(seconds)
    told["placing, s"] = placing
    told |= _agreement(setting, (docs, queries, names), best, wanted)
    theirs, rough = (_brute(setting, docs, queries, depth, bf16) for bf16 in (False, True))
    told["torch, fp32"], told["torch, bf16"] = rate(theirs), rate(rough)
    told["ratio"] = theirs / told["with ranks: any"]["seconds"]
    return told


def streamed(setting: Setting) -> dict[str, Any]:
    """Documents that are said not to fit into the GPU's memory, beside the same that do."""
    from irtoolkit.retrievers.gpu_search import GpuSearch
    from irtoolkit.retrievers.gpu_vectors import GpuVectors
    from irtoolkit.runs.top_k import TieOrder

    docs, queries, wanted = _vectors(setting, setting.count(1_000_000, 3_000))
    tied, rows = TieOrder(np.arange(len(docs)), "trec"), np.arange(0, len(queries), 2)
    wanted = wanted[rows]
    made, seconds = [], []
    for room in (None, 2 * docs.size + (1 << 20), 0):
        there = GpuVectors(docs, setting.device, room)
        found = GpuSearch(lambda there=there: there, queries, lambda: np.empty(0))
        found.best(tied, 100, rows, wanted)
        took, best = setting.timed(lambda found=found: found.best(tied, 100, rows, wanted), 3)
        made.append(best)
        seconds.append(took)
    for best in made[1:]:
        for one, other in zip(best, made[0], strict=True):
            np.testing.assert_array_equal(one, other)
    copied, rate = _copying(setting, docs)
    return {
        "documents": len(docs), "queries": len(queries), "copying, GB/s": rate,
        "copying fp16, s": copied, "resident, s": seconds[0], "fp32 in the computer's memory, s": seconds[1],
        "streamed, s": seconds[2], "ratio": seconds[2] / seconds[0],
    }  # fmt: skip


def _copying(setting: Setting, docs: Any) -> tuple[float, float]:
    """Seconds in which fp16 could be copied to the GPU at best, and at which rate in GB/s."""
    import torch

    some = torch.empty(setting.count(1 << 29, 1 << 20), dtype=torch.uint8, pin_memory=setting.gpu)
    there = torch.empty_like(some, device=setting.device, pin_memory=False)
    there.copy_(some)
    seconds = min(setting.timed(lambda: there.copy_(some, non_blocking=True))[0] for _ in range(3))
    return 2 * docs.size / (len(some) / seconds), len(some) / seconds / 1e9


def _vectors(setting: Setting, count: int | None = None) -> tuple[Any, Any, Any]:
    """Documents and queries of length 1, and for each query a document; every other one is near."""
    import torch

    count = count or setting.count(2_000_000, 3_000)
    width = setting.count(768, 48)
    draw = torch.Generator(setting.device).manual_seed(22)

    def unit(rows: int) -> Any:
        made = torch.empty((rows, width), dtype=torch.float32)
        for first in range(0, rows, _BLOCK):
            part = torch.randn(
                (min(_BLOCK, rows - first), width), generator=draw, device=setting.device
            )
            made[first : first + len(part)] = (part / part.norm(dim=1, keepdim=True)).cpu()
        return made.numpy()

    docs, queries = unit(count), unit(setting.count(2_000, 20))
    wanted = np.random.default_rng(23).integers(0, count, len(queries))
    near = wanted[::2]
    queries[::2] += docs[near]
    queries[::2] /= np.linalg.norm(queries[::2], axis=1, keepdims=True)
    return docs, queries, wanted


def _agreement(
    setting: Setting, given: tuple[Any, Any, Any], best: Any, wanted: Any
) -> dict[str, Any]:
    """Whether places, scores and ranks are those of products in double precision; and of the CPU's."""
    import torch

    docs, queries, names = given
    some = queries[:_COMPARED]
    asked = torch.from_numpy(some).to(setting.device).double()
    parts = [
        torch.from_numpy(docs[first : first + _BLOCK]).to(setting.device).double() @ asked.T
        for first in range(0, len(docs), _BLOCK)
    ]
    exact = torch.cat(parts).T.float().cpu().numpy()
    single = some @ docs.T
    others, moved, ranks = 0, 0, 0
    for row in range(len(some)):
        order = np.lexsort((-names, -exact[row]))
        others += int((order[: best.places.shape[1]] != best.places[row]).sum())
        rank = np.flatnonzero(order == wanted[row])[0] + 1
        ranks += int(rank != best.ranks[row])
        own = np.lexsort((-names, -single[row]))[: best.places.shape[1]]
        moved += int((own != best.places[row]).sum())
    assert not others, f"{others} documents are elsewhere than in double precision"
    assert not ranks, f"{ranks} ranks are others than in double precision"
    off = np.abs(
        single[np.arange(len(some))[:, None], best.places[: len(some)]] - best.scores[: len(some)]
    )
    return {
        "compared": int(best.places[: len(some)].size),
        "elsewhere in double precision": others, "other ranks in double precision": ranks,
        "elsewhere in the CPU's single precision": moved, "greatest difference to it": float(off.max()),
    }  # fmt: skip


def _brute(setting: Setting, docs: Any, queries: Any, depth: int, rough: bool) -> float:
    """Seconds of torch's products and top-k, of documents that are on the GPU."""
    import torch

    kind = torch.bfloat16 if rough and setting.gpu else torch.float32
    there = torch.from_numpy(docs).to(setting.device).to(kind)
    asked = torch.from_numpy(queries).to(setting.device).to(kind)

    def work() -> Any:
        values, places = [], []
        for first in range(0, len(there), _BLOCK):
            own = (asked @ there[first : first + _BLOCK].T).topk(
                min(depth, len(there) - first), dim=1
            )
            values.append(own.values)
            places.append(own.indices + first)
        top = torch.cat(values, 1).topk(depth, dim=1)
        return top.values.cpu(), torch.cat(places, 1).gather(1, top.indices).cpu()

    work()
    return setting.timed(work, 3)[0]


def maxsim(setting: Setting) -> dict[str, Any]:
    """MaxSim of documents that stay on the GPU, beside sentence-transformers', which has them there."""
    import torch
    from sentence_transformers.util import maxsim as theirs_of

    from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
    from irtoolkit.indexes.vectors import VectorShard
    from irtoolkit.retrievers.gpu_search import GpuTokens

    draw = np.random.default_rng(4)

    def tokens(number: int) -> Any:
        rows = draw.standard_normal((number, 128), np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    counts = draw.integers(20, 180, setting.count(40_000, 50))
    starts = np.concatenate([[0], np.cumsum(counts)])
    flat = tokens(int(starts[-1]))
    asked = setting.count(128, 2)
    queries, bounds = tokens(32 * asked), np.arange(0, 32 * asked + 1, 32)
    there = GpuTokens(flat, starts, setting.device)
    there.maxsim(queries, bounds)
    ours, scores = setting.timed(lambda: there.maxsim(queries, bounds), 3)
    few, part = starts[: setting.count(5_000, 50) + 1], bounds[: setting.count(32, 2) + 1]
    shown = [torch.from_numpy(flat[a:b]).to(setting.device) for a, b in pairwise(few)]
    asking = [torch.from_numpy(queries[a : a + 32]).to(setting.device) for a in part[:-1]]
    theirs_of(asking[:1], shown)
    theirs, _ = setting.timed(lambda: theirs_of(asking, shown), 3)
    how = VectorComparison("dot", total=True)
    shard = VectorShard.of([(flat[: few[-1]], np.diff(few))])
    exact = how.scores(QueryVectors.of(queries[:64], bounds[:3], how), shard)
    difference = float(np.abs(scores[:2, : len(few) - 1] - exact).max())
    assert difference < 0.02, f"MaxSim differs by {difference} from the CPU's"
    items = (len(part) - 1) * (len(few) - 1)
    work = 2.0 * len(flat) * len(queries) * 128
    told = beside(setting, scores.size, ours, theirs * scores.size / items, work)
    return {**told, "greatest difference to fp32": difference}


CHECKS = [
    Check("search", search, 60),
    Check("search: larger than memory", streamed, 60),
    Check("maxsim", maxsim, 60),
]

"""Exact dense ranking beside the bare matrix product, in one process with the same threads.

    python benchmarks/dense.py                                  # some minutes on two cores
    python benchmarks/dense.py --sizes 10000 --turns 1          # a quick look
    python benchmarks/dense.py -o benchmarks/results/dense.json

Ranking is all that `rank` does with vectors that are there already: it rounds the documents
and puts them into bf16, multiplies, puts the best of each query in order, finds one exact rank for each
query, and makes the run. From an index in memory it is the same with documents that are ready. The product alone is `queries @ docs.T` for all queries at once, which hands out memory
for queries x documents; and the same into memory that is there already, in the blocks of the
ranking. The sides take turns, and the fastest turn of each counts. CPU time, of all threads, is less
disturbed by other programs. The order is compared with
numpy's stable sort of the products of rounded vectors in double precision, and the script fails where
they differ. Proposals are in bf16 if torch is installed and the processor multiplies it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from irtoolkit.base.ids import id_array
from irtoolkit.base.tables import TextTable
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.nearest import Searched, ShardSearch
from irtoolkit.indexes.rounding import rounded
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.retrievers.base import Retriever, Scorer
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.task import QueryGroup, Task

DIMENSIONS = 384
# Queries of each size: products of some 10 to 80 GFLOP, and matrices of at most 800 MB.
QUERIES = {10_000: 2000, 100_000: 1000, 1_000_000: 192}
DEPTHS = {10_000: (100, 1000)}


@dataclass(frozen=True)
class Given(Retriever):
    """Exact products of vectors that are there already."""

    name: ClassVar[str] = "given"

    queries: Any = None
    docs: Any = None
    ready: ShardSearch | None = None

    def searches(self, candidates: int) -> bool:
        return True

    def prepare(self, task: Task) -> Any:
        search, how = self.ready or searching(self.docs), VectorComparison("dot")

        def block(query: Any) -> Searched:
            return Searched(
                search, QueryVectors.of(self.queries[query], np.arange(len(query) + 1), how)
            )

        return lambda other: lambda doc: block

    def scorer(self, task: Task) -> Scorer:
        found: Scorer = self.prepare(task)(task)
        return found


def searching(docs: Any) -> ShardSearch:
    """What searches documents that have one vector each."""
    return ShardSearch(VectorShard.of([(docs, np.ones(len(docs), np.int64))]))


def measure(size: int, count: int, depth: int, turns: int) -> dict[str, Any]:
    """Time for each query of a ranking and of the product, and what they are to each other."""
    draw = np.random.default_rng(1)
    docs = draw.standard_normal((size, DIMENSIONS), np.float32)
    queries = draw.standard_normal((count, DIMENSIONS), np.float32)
    names = id_array([f"q{i}" for i in range(count)]), id_array([f"{i:07}" for i in range(size)])
    task = Task("benchmark", names[0], names[1], (QueryGroup(np.arange(count), np.arange(size)),))
    wanted = {f"q{i}": [f"{i * 7919 % size:07}"] for i in range(count)}
    retriever, indexed = Given(queries, docs), Given(queries, docs, searching(docs))
    rows = min(count, max(128, (1 << 25) // size))
    kept = np.zeros((rows, size), np.float32)

    def ranking(retriever: Given) -> Any:
        return rank(task, retriever, wanted, depth=depth, progress=False)

    def blocks() -> None:
        for start in range(0, count, rows):
            part = queries[start : start + rows]
            np.matmul(part, docs.T, out=kept[: len(part)])

    sides: list[Callable[[], Any]] = [
        lambda: ranking(retriever), lambda: ranking(indexed), lambda: (queries @ docs.T)[:1], blocks,
    ]  # fmt: skip
    best, used = [np.inf] * len(sides), [np.inf] * len(sides)
    for turn in range(turns + 1):  # the first does not count
        for i, side in enumerate(sides):
            started, busy = time.perf_counter(), time.process_time()
            answer = side()
            if turn:
                best[i] = min(best[i], time.perf_counter() - started)
                used[i] = min(used[i], time.process_time() - busy)
            if i == 0:
                found = answer
    check(found, queries, docs, depth)
    mine, ready, whole, held = (1000 * seconds / count for seconds in best)
    return {
        "candidates": size, "queries": count, "depth": depth, "ranking ms/query": mine,
        "ranking from an index ms/query": ready,
        "product ms/query": whole, "share of the product": whole / mine,
        "share of the product from an index": whole / ready,
        "product into kept memory ms/query": held, "share of that": held / mine,
        "share of the product in CPU time": used[2] / used[0],
        "share in CPU time from an index": used[2] / used[1],
    }  # fmt: skip


def check(found: Any, queries: Any, docs: Any, depth: int) -> None:
    """Refuses a run that is not numpy's order of the products, and a rank that is wrong."""
    scores = rounded(queries[:20]).astype(np.float64) @ rounded(docs).astype(np.float64).T
    for row, mine in enumerate(scores):
        # Ids ascend with places, and of equal scores the greater id comes first.
        order = len(mine) - 1 - np.argsort(-mine[::-1], kind="stable")[:depth]
        rows = slice(found.offsets[row], found.offsets[row + 1])
        gold = row * 7919 % len(docs)
        rank = 1 + np.count_nonzero(mine > mine[gold])
        listed = (found.doc_ids[found.docs[rows]]).tolist()
        if (
            listed != [f"{i:07}" for i in order]
            or found.exact_ranks[f"q{row}"][f"{gold:07}"] != rank
        ):
            raise SystemExit(f"query {row}: the order or the rank is wrong")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Exact ranking beside the bare matrix product.")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(QUERIES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401 with it, documents are proposed in bf16
    rows = [
        measure(size, QUERIES.get(size, 200), depth, args.turns)
        for size in args.sizes
        for depth in DEPTHS.get(size, (1000,))
    ]
    device = f"{platform.machine()}, {os.cpu_count()} cores"
    cells = [list(row.values()) for row in rows]
    print(TextTable(list(rows[0]), cells, title=device, places=3).render("text"))
    if args.output:
        found = {"device": device, "dimensions": DIMENSIONS, "ranking": rows}
        args.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

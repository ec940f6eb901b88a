"""What merging the results of shards costs as shards grow: the simulation of `scale.py`.

    python benchmarks/scale_merge.py
    python benchmarks/scale_merge.py --shards 10 1000 --depths 10 --output FILE

Each shard has 100,000 documents, whose scores are drawn so that its best are as far apart as the best
of so many; scores are rounded, so that many tie and ids decide. What a shard finds is made, sent as
bytes, and merged by the function that merges what workers find. The first query is compared with one
ranking of all rows. Time is that which one core takes to read the bytes and to merge.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.indexes.merged import ShardHits, merged
from irtoolkit.indexes.strings import Strings
from irtoolkit.runs.order import TopDocuments

DOCUMENTS, QUERIES, LEVELS = 100_000, 16, 10_000_000
# A prime above the number of shards, and the digits of an id.
MIXED, DIGITS = 10_007, 11


def part(shard: int, depth: int) -> ShardHits:
    """What a shard finds."""
    draw = np.random.default_rng([shard, depth])
    gaps = draw.exponential(1 / DOCUMENTS, (QUERIES, depth))
    scores = np.floor(LEVELS * (1 - np.cumsum(gaps, axis=1))).astype(np.int64)
    # In a shard ids ascend with numbers, and of equal scores the later id comes first.
    docs = np.sort(draw.integers(0, DOCUMENTS, (QUERIES, depth)), axis=1)[:, ::-1]
    docs += np.arange(depth)[::-1]  # no document twice
    docs = docs + shard * (DOCUMENTS + 1_000)
    numbers = np.unique(docs)
    offsets = np.arange(QUERIES + 1) * depth
    return ShardHits(TopDocuments(offsets, docs.ravel(), scores.ravel()), numbers, names(numbers))


def keys(numbers: Any) -> Any:
    """(n,) a number for each id, in the order of ids: shards' ids are mixed, and in a shard ascend."""
    shard, own = np.divmod(numbers, DOCUMENTS + 1_000)
    return own * MIXED + shard * 7919 % MIXED


def names(numbers: Any) -> Strings:
    """The ids of documents: the digits of their keys."""
    places = 10 ** np.arange(DIGITS - 1, -1, -1)
    digits = (keys(numbers)[:, None] // places % 10 + ord("0")).astype(np.uint8)
    return Strings(digits.ravel(), np.arange(len(numbers) + 1) * DIGITS)


def measure(shards: int, depth: int) -> dict[str, Any]:
    """Seconds of the merge, bytes that arrive, and the most memory of this process beyond them."""
    spent = sent = 0.0
    rows: list[tuple[Any, Any]] = []

    def arriving() -> Iterator[ShardHits]:
        nonlocal spent, sent
        for shard in range(shards):
            made = part(shard, depth)
            rows.append((made.found.documents[:depth].copy(), made.found.scores[:depth].copy()))
            packed = pickle.dumps(made)
            sent += len(packed)
            del made
            began = time.process_time()
            yield pickle.loads(packed)
            spent += time.process_time() - began

    merged([part(shard, depth) for shard in range(2)], depth)  # what is compiled, is so now
    found = merged(arriving(), depth)
    check(found, rows, depth)
    rows.clear()
    tracemalloc.start()
    merged((part(shard, depth) for shard in range(shards)), depth)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "shards": shards, "k": depth, "queries": QUERIES, "ms/query": 1000 * spent / QUERIES,
        "KB/query": sent / QUERIES / 1e3, "driver MB": peak / 1e6,
    }  # fmt: skip


def check(found: TopDocuments, rows: list[tuple[Any, Any]], depth: int) -> None:
    """Refuses documents of the first query that are not those of one ranking of all rows."""
    docs, scores = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.lexsort((-keys(docs), -scores))[:depth]
    if found.documents[: found.offsets[1]].tolist() != docs[order].tolist():
        raise SystemExit("the merge is wrong")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="The cost of merging the results of shards.")
    parser.add_argument("--shards", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--depths", type=int, nargs="+", default=[10, 1_000])
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(argv)
    rows = [measure(shards, depth) for depth in args.depths for shards in args.shards]
    for row in rows:
        print(row)
    if args.output:
        args.output.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()

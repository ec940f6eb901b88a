"""Many queries over postings by compiled loops that leave out what cannot be among the best."""

from __future__ import annotations

import numpy as np

from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.base.threads import pool
from irtoolkit.indexes.weighted import QueryBatch, SearchedShard
from irtoolkit.runs.top_k import settle

# Documents that may tie at the last place before a query is searched again with more room.
_ROOM = 1 << 10
# Results put in order at once.
_CELLS = 1 << 14


def best(
    part: SearchedShard, batch: QueryBatch, table: Floats, queries: Ints, least: Ints,
    out: tuple[Ints, Ints, Ints],
) -> None:  # fmt: skip
    """Finds the best documents of a shard for some queries, none of whose terms weighs less than
    nothing.

    Args:
        part, batch, table: the shard, all queries and the weights of the shard's classes.
        queries: the numbers of the queries.
        least: (q,) what a document must score at least.
        out: (q,) counts, (q, depth) documents and (q, depth) scores, to be filled in; scores
            beyond the count are 0.
    """
    from irtoolkit.indexes._compiled_search import CROWDED, LARGE, LEVELS, search

    counts, docs, _ = out
    depth = docs.shape[1]
    longest = int(np.diff(batch.starts).max(initial=0))

    def some(numbers: Ints, room: int) -> None:
        memory = (
            np.zeros(LARGE, np.int64), np.empty(LARGE + 1, np.uint32),
            np.zeros(longest, np.int64), np.zeros(LEVELS, np.int32),
            np.empty(room, np.int64), np.empty(room, np.int64),
        )  # fmt: skip
        # Few results at a time stay in the processor's cache while they are put in order.
        step = max(1, _CELLS // depth)
        for first in range(0, len(numbers), step):
            own = numbers[first : first + step]
            part_docs, part_scores = np.zeros((2, len(own), depth), np.int64)
            part_counts = np.zeros(len(own), np.int64)
            found = part_counts, part_docs, part_scores
            search(part.arrays, table, batch.arrays, own, part.keys, memory, (*found, least[own]))
            settle(found, part.keys, own, out)

    room, left = max(4 * depth, _ROOM), queries
    while len(left):
        threads = min(cores(), len(left))
        if threads > 1:
            # Queries side by side are often alike in length: dealt out in turn, threads end together.
            with pool(threads) as workers:
                list(workers.map(lambda at: some(left[at::threads], room), range(threads)))  # noqa: B023
        else:
            some(left, room)
        left = np.flatnonzero(counts == CROWDED)
        room *= 8

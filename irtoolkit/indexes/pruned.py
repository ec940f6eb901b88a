"""Many queries over postings by compiled loops that leave out what cannot be among the best."""

from __future__ import annotations

from itertools import repeat
from threading import local
from typing import Any

import numpy as np

from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Ints
from irtoolkit.base.threads import pool
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.weighted import QueryBatch
from irtoolkit.runs.top_k import settle

# Documents that may tie at the last place before a query is searched again with more room.
_ROOM = 1 << 10
# Results put in order at once.
_CELLS = 1 << 14
# Documents whose scores are added up at once at most, and levels of their scores.
_DOCUMENTS, _LEVELS = 1 << 17, 1 << 12


class _Memory(local):
    """Memory for the compiled loops, which each thread keeps: to get it takes longer than a short query."""

    def __init__(self) -> None:
        self._sums, self._touched = (
            np.zeros(_DOCUMENTS, np.int64),
            np.empty(_DOCUMENTS + 1, np.uint32),
        )
        self._levels, self._cursors = np.zeros(_LEVELS, np.int32), np.zeros(0, np.int64)
        self._found = np.zeros((2, 0), np.int64)

    def of(self, terms: int, room: int) -> tuple[Any, ...]:
        """Returns memory for queries of so many terms that find so many documents."""
        if len(self._cursors) < terms:
            self._cursors = np.zeros(terms, np.int64)
        if self._found.shape[1] < room:
            self._found = np.empty((2, room), np.int64)
        hits = self._found[:, :room]
        return self._sums, self._touched, self._cursors, self._levels, hits[0], hits[1]


_memory = _Memory()


def best(
    part: PostingsShard,
    batch: QueryBatch,
    queries: Ints,
    least: Ints,
    out: tuple[Ints, Ints, Ints],
) -> None:
    """Finds the best documents of a shard for some queries, none of whose terms weighs less than
    nothing.

    Args:
        part, batch: the shard and all queries.
        queries: the numbers of the queries.
        least: (q,) what a document must score at least.
        out: (q,) counts, (q, depth) documents and (q, depth) scores, to be filled in; scores
            beyond the count are 0.
    """
    from irtoolkit.indexes._compiled_search import CROWDED, IN_ORDER, search

    counts, docs, _ = out
    depth = docs.shape[1]

    def some(numbers: Ints, room: int) -> None:
        memory = _memory.of(len(batch.terms), room)
        # Few results at a time stay in the processor's cache while they are put in order.
        step = max(1, _CELLS // depth)
        for first in range(0, len(numbers), step):
            some_queries = numbers[first : first + step]
            arrays = part.arrays, batch.table, batch.arrays
            search(*arrays, some_queries, part.keys, memory, least, out)
            if depth > IN_ORDER:
                settle(part.keys, some_queries, out)

    room, remaining = max(4 * depth, _ROOM), queries
    while len(remaining):
        threads = min(cores(), len(remaining)) if len(remaining) > 1 else 1
        if threads > 1:
            # Queries side by side are often alike in length: dealt out in turn, threads end together.
            with pool(threads) as workers:
                dealt = [remaining[first::threads] for first in range(threads)]
                list(workers.map(some, dealt, repeat(room)))
        else:
            some(remaining, room)
        remaining = np.flatnonzero(counts == CROWDED)
        room *= 8

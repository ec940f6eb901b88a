"""Many queries over postings by compiled loops that leave out what cannot be among the best."""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np

from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.base.rows import in_threads
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.weighted import QueryBatch, WeighedTerms

# Documents that may tie at the last place before a query is searched again with more room.
_ROOM = 1 << 10
# Documents whose scores are added up at once at most, levels of their scores, and numbers that a class
# of postings may have.
_DOCUMENTS, _LEVELS, _CLASSES = 1 << 17, 1 << 12, 1 << 16
# Into how many parts queries are dealt out for each core.
_PARTS = 2


class _Memory(local):
    """Memory for the compiled loops, which each thread keeps: to get it takes longer than a short query."""

    def __init__(self) -> None:
        self._sums, self._touched = (
            np.zeros(_DOCUMENTS, np.int64),
            np.empty(_DOCUMENTS + 1, np.uint32),
        )
        self._levels, self._cursors = np.zeros(_LEVELS, np.int32), np.zeros(0, np.int64)
        self._parts = np.zeros(_CLASSES, np.int64)
        self._found = np.zeros((2, 0), np.int64)

    def of(self, terms: int, room: int) -> tuple[Any, ...]:
        """Returns memory for queries of so many terms that find so many documents."""
        if len(self._cursors) < terms:
            self._cursors = np.zeros(terms, np.int64)
        if self._found.shape[1] < room:
            self._found = np.empty((2, room), np.int64)
        hits = self._found[:, :room]
        memory = self._sums, self._touched, self._cursors, self._levels, self._parts
        return memory, hits[0], hits[1]


_memory = _Memory()


def best_of_one(
    part: PostingsShard, terms: WeighedTerms, query: CountedQueries, depth: int
) -> tuple[Ints, Singles] | None:
    """Finds the best documents of a shard for one query by one compiled call.

    Args:
        part: the shard, which is all of the index.
        terms: has the terms of the query.
        query: the query.
        depth: number of documents, at most.

    Returns:
        The documents and their scores, each lower than the one before; or None for a query that only
        `best` searches: of documents that tie in great number, or terms that weigh nothing or less.
    """
    from irtoolkit.indexes._compiled_search import CROWDED, search_one

    places, most, table = terms.of(part)
    weighting, numbers = terms.weighting, query.numbers
    table = table[: len(part.class_counts)]
    weights = (
        terms.idf,
        terms.occurs,
        places,
        most,
        table,
        terms.heaviest,
        float(weighting.absent),
    )
    out = np.empty(depth, np.int64), np.empty(depth, np.float32)
    memory = _memory.of(len(numbers), max(4 * depth, _ROOM))
    count = search_one(
        part.arrays,
        part.keys,
        weights,
        numbers,
        weighting.query_weights(query.counts),
        memory,
        out,
    )
    return None if count == CROWDED else (out[0][:count], out[1][:count])


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
    from irtoolkit.indexes._compiled_search import CROWDED, search

    counts, docs, _ = out
    room, remaining = max(4 * docs.shape[1], _ROOM), queries
    arrays = part.arrays, batch.table[: len(part.class_counts)], batch.arrays

    def some(numbers: Ints) -> None:
        memory = _memory.of(len(batch.terms), room)
        search(*arrays, numbers, part.keys, memory, least, out)

    while len(remaining):
        # Queries side by side are often alike in length: dealt out in turn, parts take equally long.
        parts = min(_PARTS * cores(), len(remaining)) if len(remaining) > 1 else 1
        in_threads(some, [remaining[first::parts] for first in range(parts)])
        remaining = (counts == CROWDED).nonzero()[0]
        room *= 8

"""The compiled loops that add up all postings of a query: whole scores and exact ranks.

Shards, tables and queries are those of `_compiled_search`.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.indexes._compiled_search import MASK, WINDOW, part_of, reach
from irtoolkit.runs._order_kernels import is_before


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def add_up(
    shard: Any, table: Any, query: Any, low: int, high: int, cursors: Any, sums: Any
) -> None:
    """Adds up the scores of a window of documents; cursors move on to the next."""
    starts, docs, classes, _ = shard
    terms, scales, _ = query
    for t in range(len(terms)):
        scale, first = scales[t], cursors[t]
        cursors[t] = reach(docs, first, starts[terms[t] + 1], high)
        for posting in range(first, cursors[t]):
            sums[(docs[posting] - low) & MASK] += part_of(table[classes[posting]], scale)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def standing(
    shard: Any, table: Any, query: Any, targets: Any, keys: Any, room: Any, out: Any
) -> None:
    """Counts the documents before some others.

    Args:
        targets: (scores, least keys): of each wanted document its score, and the least key that comes
            before it where scores are equal.
        keys: (d,) keys of the shard's documents.
        room: (sums, cursors) to work in.
        out: documents before each wanted one, which are added to.
    """
    starts, _, _, live = shard
    scores, least_keys = targets
    sums, cursors = room
    for t in range(len(query[0])):
        cursors[t] = starts[query[0][t]]
    size = len(live)
    for low in range(0, size, WINDOW):
        high = min(size, low + WINDOW)
        sums[:] = 0
        add_up(shard, table, query, low, high, cursors, sums)
        for i in range(len(scores)):
            before = 0
            for doc in range(high - low):
                if live[low + doc]:
                    before += is_before(sums[doc], keys[low + doc], scores[i], least_keys[i])
            out[i] += before
    sums[:] = 0


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def score_of(shard: Any, table: Any, query: Any, doc: int) -> Any:
    """Returns the score of one document."""
    starts, docs, classes, _ = shard
    terms, scales, _ = query
    total = np.int64(0)
    for t in range(len(terms)):
        end = starts[terms[t] + 1]
        posting = reach(docs, starts[terms[t]], end, doc)
        if posting < end and docs[posting] == doc:
            total += part_of(table[classes[posting]], scales[t])
    return total


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def add_all(shard: Any, table: Any, query: Any, sums: Any) -> None:
    """Adds up one query's score of every document of a shard; `sums` are zeros."""
    starts, docs, classes, _ = shard
    terms, scales, _ = query
    for t in range(len(terms)):
        for posting in range(starts[terms[t]], starts[terms[t] + 1]):
            sums[docs[posting]] += part_of(table[classes[posting]], scales[t])

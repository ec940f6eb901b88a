"""Queries over postings by numpy alone, in processes that have not loaded the compiled loops yet.

Scores, ties and order are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.damage import DamagedIndexError
from irtoolkit.indexes.searched_shard import SearchedShard
from irtoolkit.indexes.weighted import QueryBatch
from irtoolkit.runs.order import best_first, is_before

# Less than any score.
NOTHING = -(1 << 62)
# Steps that a posting takes, with all that a query takes beside; and documents that take as long as a
# posting: each query goes over all of them.
_POSTING, _DOCUMENTS = 4, 8


def is_faster(batches: Sequence[QueryBatch], parts: Sequence[SearchedShard]) -> bool:
    """Whether to add up all postings of some queries is faster than to load the compiled loops."""
    if is_worth_loading(0):
        return False
    steps = sum(
        int((part.shard.starts[batch.terms + 1] - part.shard.starts[batch.terms]).sum())
        + (len(batch.starts) - 1) * len(part.shard) // _DOCUMENTS
        for batch, part in zip(batches, parts, strict=True)
    )
    return not is_worth_loading(_POSTING * steps)


def best(
    part: SearchedShard, batch: QueryBatch, table: Floats, queries: Ints,
    out: tuple[Ints, Ints, Ints],
) -> None:  # fmt: skip
    """Finds the best documents of a shard for some queries, some of whose terms may weigh less
    than nothing.

    Args:
        part, batch, table: the shard, all queries and the weights of the shard's classes.
        queries: the numbers of the queries.
        out: (q,) counts, (q, depth) documents and (q, depth) scores, to be filled in; scores
            beyond the count are `NOTHING`.
    """
    counts, docs, scores = out
    depth = docs.shape[1]
    for number in queries.tolist():
        sums = added_up(part, batch.query(number), table)
        sums[part.docs.deleted] = 0
        matching = np.flatnonzero(sums)
        values = sums[matching]
        order = best_first(values, part.keys[matching], depth)
        counts[number] = len(order)
        scores[number] = NOTHING
        docs[number, : len(order)], scores[number, : len(order)] = matching[order], values[order]


def added_up(part: SearchedShard, query: tuple[Any, Any, Any], table: Floats) -> Ints:
    """(d,) the score of each document, deleted ones too."""
    shard, sums = part.shard, np.zeros(len(part.shard), np.int64)
    terms, scales, _ = query
    for term, scale in zip(terms.tolist(), scales.tolist(), strict=True):
        rows = slice(int(shard.starts[term]), int(shard.starts[term + 1]))
        # As the compiled loops round; a document is met once by a term.
        weights = (table[shard.classes[rows]] * scale + 1.0).astype(np.int64)
        documents = shard.documents[rows]
        if documents.min(initial=0) < 0 or documents.max(initial=-1) >= len(sums):
            path = part.docs.documents.folder / "documents.npy"
            raise DamagedIndexError(
                "damaged: it has documents that are not in the index", file=path
            )
        sums[documents] += weights
    return sums


def standing(
    part: SearchedShard, query: tuple[Any, Any, Any], table: Floats, targets: tuple[Ints, Ints]
) -> Ints:
    """(n,) how many documents are before some others, whose scores and least keys are given."""
    live = part.live == 1
    sums, keys = added_up(part, query, table)[live], part.keys[live]
    pairs = zip(*(column.tolist() for column in targets), strict=True)
    return np.array([is_before(sums, keys, *pair).sum() for pair in pairs], np.int64)

"""A few queries over postings by numpy alone, in processes that have not loaded the compiled loops yet.

To load these takes longer than to add up the postings of a query, but not of many: a process that has
added up as many as loading takes loads them. Scores, ties and order are the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.damage import DamagedIndexError
from irtoolkit.indexes.weighted import QueryBatch, SearchedShard
from irtoolkit.runs.order import best_first

# Queries, and postings of all queries of a process, up to which adding up is faster than loading.
QUERIES, POSTINGS = 4, 1 << 23
# Less than any score.
NOTHING = -(1 << 62)
# Documents that take as long as a posting: each query goes over all of them.
_DOCUMENTS = 8


class Work:
    """What a process has added up by numpy.

    Attributes:
        done: postings, and documents that take as long.
    """

    done = 0


def is_faster(batches: Sequence[QueryBatch], parts: Sequence[SearchedShard]) -> bool:
    """Whether to add up all postings of some queries is faster than to load the compiled loops.

    What it allows is counted as done.
    """
    if "numba" in sys.modules or len(batches[0].starts) > QUERIES + 1:
        return False
    work = sum(
        int((part.shard.starts[batch.terms + 1] - part.shard.starts[batch.terms]).sum())
        + (len(batch.starts) - 1) * len(part.shard) // _DOCUMENTS
        for batch, part in zip(batches, parts, strict=True)
    )
    if Work.done + work > POSTINGS:
        return False
    Work.done += work
    return True


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
        sums = _sums(part, batch, number, table)
        found = np.flatnonzero(sums)
        own = sums[found]
        order = best_first(own, part.keys[found], depth)
        counts[number] = len(order)
        scores[number] = NOTHING
        docs[number, : len(order)], scores[number, : len(order)] = found[order], own[order]


def _sums(part: SearchedShard, batch: QueryBatch, number: int, table: Floats) -> Ints:
    """(d,) the score of each document; 0 for those that were deleted."""
    shard, sums = part.shard, np.zeros(len(part.shard), np.int64)
    terms, scales, _ = batch.query(number)
    for term, scale in zip(terms.tolist(), scales.tolist(), strict=True):
        rows = slice(int(shard.starts[term]), int(shard.starts[term + 1]))
        # As the compiled loops round; a document is met once by a term.
        weights = (table[shard.classes[rows]] * scale + 1.0).astype(np.int64)
        documents = shard.documents[rows]
        if documents.min(initial=0) < 0 or documents.max(initial=-1) >= len(sums):
            place = part.docs.documents.folder / "documents.npy"
            raise DamagedIndexError(
                "damaged: it has documents that are not in the index", file=place
            )
        sums[documents] += weights
    sums[part.docs.deleted] = 0
    return sums

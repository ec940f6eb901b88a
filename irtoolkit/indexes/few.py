"""Queries over postings by numpy alone, in processes that have not loaded the compiled loops yet.

Scores, ties and order are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.searched_shard import SearchedShard
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.weighted import QueryBatch
from irtoolkit.runs.order import best_first, is_before

# Less than any score.
NOTHING = -(1 << 62)
# Steps that a posting takes, with all that a query takes beside; and documents that take as long as a
# posting: each query goes over all of them.
_POSTING, _DOCUMENTS = 4, 8


def is_faster(searches: Iterable[tuple[Any, Ints, int]]) -> bool:
    """Returns whether to add up all postings of some searches is faster than to load the compiled loops.

    Args:
        searches: of each the arrays of the shard (starts, ..., live), the terms of its queries end to
            end, and the number of the queries.
    """
    if is_worth_loading(0):
        return False
    return not any(is_worth_loading(_POSTING * _steps(*search)) for search in searches)


def _steps(arrays: Any, terms: Ints, queries: int) -> int:
    """Returns how many postings some terms have, and what takes as long."""
    starts, live = arrays[0], arrays[-1]
    return int((starts[terms + 1] - starts[terms]).sum()) + queries * len(live) // _DOCUMENTS


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
        part.docs.check(documents)
        sums[documents] += weights
    return sums


def standing(scores: Any, docs: OpenShard, targets: tuple[Any, Ints]) -> Ints:
    """Returns (n,) how many documents of a shard are before some others.

    Args:
        scores: (d,) of the shard's documents.
        docs: the documents.
        targets: (n,) scores and least keys of the others.
    """
    live = docs.live == 1
    scores, keys = scores[live], docs.documents.keys[live]
    pairs = zip(*(column.tolist() for column in targets), strict=True)
    return np.array([is_before(scores, keys, *pair).sum() for pair in pairs], np.int64)

"""The compiled loops that score every document of a shard by adding up all postings of a query.

They serve formulas that MaxScore does not: whose scores can be negative, take something of the whole
document, or have a weight of its own for each posting.

A shard is (starts, documents, values, live): the postings of each term, whose values are classes or
weights. A formula is (kind, table, doc_values, divided): how a value becomes a summand, the table of
classes, a number for each document (or none), and whether the sum is divided by it.
A query is (terms, scales, rates, unit, times, everywhere): its terms in one order for all shards, what
each summand is multiplied by, a factor within the logarithm, what the sum counts, how often a
document's own number is added, and what all documents have.

Summands are rounded to whole numbers, which doubles add up without error below 2^53: documents that
should tie do so, whatever terms they have.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from irtoolkit.indexes import few
from irtoolkit.indexes._compiled_search import MASK, WINDOW, reach
from irtoolkit.indexes.few import CLASS, WEIGHT
from irtoolkit.runs._order_kernels import best_of, drop_last_ties, is_before

whole_score = numba.njit(nogil=True, cache=True, inline="always")(few.whole_score)
square_sums = numba.njit(nogil=True, cache=True)(few.square_sums)


@numba.njit(nogil=True, cache=True, inline="always")  # type: ignore[untyped-decorator]
def summand(value: Any, kind: int, table: Any, scale: float, rate: float) -> float:
    if kind == WEIGHT:
        weight = np.float64(value)
    elif kind == CLASS:
        weight = table[np.int64(value)]
    else:
        weight = np.log1p(table[np.int64(value)] * rate)
    return float(np.floor(weight * scale + 0.5))


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _add_up(
    shard: Any, formula: Any, query: Any, low: int, high: int, cursors: Any, sums: Any, met: Any
) -> None:
    """Adds up the summands of a window of documents, which are met; cursors move on to the next."""
    starts, docs, values, _ = shard
    kind, table, _, _ = formula
    terms, scales, rates = query[0], query[1], query[2]
    for t in range(len(terms)):
        scale, rate, first = scales[t], rates[t], cursors[t]
        cursors[t] = reach(docs, first, starts[terms[t] + 1], high)
        for posting in range(first, cursors[t]):
            cell = (docs[posting] - low) & MASK
            sums[cell] += summand(values[posting], kind, table, scale, rate)
            met[cell] = True


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _pruned(docs: Any, scores: Any, count: int, depth: int, keys: Any) -> Any:
    """Keeps the best `depth`; returns their number, the least score, and the least key that has it."""
    count, least = best_of(docs, scores, count, depth)
    if count > depth:
        count = drop_last_ties(docs, scores, count, depth, keys)
    key = np.int64(len(keys))
    for row in range(count):
        if scores[row] == least:
            key = min(key, np.int64(keys[docs[row]]))
    return count, least, key


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def scan(shard: Any, formula: Any, query: Any, keys: Any, depth: int, fill: bool, room: Any) -> int:
    """Finds the best documents of a query, in any order.

    Args:
        shard, formula, query: see above.
        keys: (d,) keys of the shard's documents: of equal scores the greater comes first.
        depth: number of documents to find.
        fill: whether documents without a term of the query count, too.
        room: (sums, documents, scores): sums are zeros, the others have room for 2 · depth.

    Returns:
        The number of documents; these and their scores are the first in `room`.
    """
    starts, live = shard[0], shard[3]
    sums, docs, scores = room
    met = np.zeros(len(sums), np.bool_)
    cursors = np.empty(len(query[0]), np.int64)
    for t in range(len(cursors)):
        cursors[t] = starts[query[0][t]]
    count, least, key = 0, -np.inf, np.int64(-1)
    size = len(live)
    for low in range(0, size, WINDOW):
        high = min(size, low + WINDOW)
        _add_up(shard, formula, query, low, high, cursors, sums, met)
        for cell in range(high - low):
            total, doc, is_met = sums[cell], low + cell, met[cell]
            sums[cell], met[cell] = 0.0, False
            if not live[doc] or not (is_met or fill):
                continue
            score = whole_score(total, doc, formula, query)
            # As `is_before`, which would read the key of every document.
            if score < least or (score == least and keys[doc] < key):
                continue
            docs[count], scores[count] = doc, score
            count += 1
            if count == len(docs):
                count, least, key = _pruned(docs, scores, count, depth, keys)
    if count > depth:
        count, least, key = _pruned(docs, scores, count, depth, keys)
    return count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def score_of(shard: Any, formula: Any, query: Any, doc: int) -> float:
    """Returns the score of one document."""
    starts, docs, values, _ = shard
    kind, table, _, _ = formula
    terms, scales, rates = query[0], query[1], query[2]
    total = 0.0
    for t in range(len(terms)):
        end = starts[terms[t] + 1]
        posting = reach(docs, starts[terms[t]], end, doc)
        # A term may have a document more than once.
        while posting < end and docs[posting] == doc:
            total += summand(values[posting], kind, table, scales[t], rates[t])
            posting += 1
    return whole_score(total, doc, formula, query)  # type: ignore[no-any-return]


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def count_before(
    shard: Any, formula: Any, query: Any, keys: Any, targets: Any, sums: Any, out: Any
) -> None:
    """Counts the documents before some others.

    Args:
        keys: (d,) keys of the shard's documents.
        targets: (scores, least keys): of each wanted document its score, and the least key that comes
            before it where scores are equal.
        sums: zeros to work in.
        out: documents before each wanted one, which are added to.
    """
    starts, live = shard[0], shard[3]
    scores, least_keys = targets
    met = np.zeros(len(sums), np.bool_)
    cursors = np.empty(len(query[0]), np.int64)
    for t in range(len(cursors)):
        cursors[t] = starts[query[0][t]]
    size = len(live)
    for low in range(0, size, WINDOW):
        high = min(size, low + WINDOW)
        _add_up(shard, formula, query, low, high, cursors, sums, met)
        for cell in range(high - low):
            total, doc = sums[cell], low + cell
            sums[cell] = 0.0
            if not live[doc]:
                continue
            score = whole_score(total, doc, formula, query)
            for i in range(len(scores)):
                out[i] += is_before(score, keys[doc], scores[i], least_keys[i])


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def score_all(shard: Any, formula: Any, query: Any, scores: Any, shared: Any) -> None:
    """Fills in one query's score of every document of a shard, and whether they share a term.

    `scores` are zeros and `shared` is false, to be filled.
    """
    starts, docs, values, _ = shard
    kind, table = formula[0], formula[1]
    terms, scales, rates = query[0], query[1], query[2]
    for t in range(len(terms)):
        for posting in range(starts[terms[t]], starts[terms[t] + 1]):
            scores[docs[posting]] += summand(values[posting], kind, table, scales[t], rates[t])
            shared[docs[posting]] = True
    for doc in range(len(scores)):
        scores[doc] = whole_score(scores[doc], doc, formula, query)

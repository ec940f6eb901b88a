"""Queries over postings by numpy alone, in processes that have not loaded the compiled loops yet.

Scores, ties and order are the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.postings import PostingsShard
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
    for arrays, terms, queries in searches:
        starts, live = arrays[0], arrays[-1]
        postings = int((starts[terms + 1] - starts[terms]).sum())
        if is_worth_loading(_POSTING * (postings + queries * len(live) // _DOCUMENTS)):
            return False
    return True


def best(
    part: PostingsShard, batch: QueryBatch, queries: Ints, out: tuple[Ints, Ints, Ints]
) -> None:
    """Finds the best documents of a shard for some queries, some of whose terms may weigh less
    than nothing.

    Args:
        part, batch: the shard and all queries.
        queries: the numbers of the queries.
        out: (q,) counts, (q, depth) documents and (q, depth) scores, to be filled in; scores
            beyond the count are `NOTHING`.
    """
    counts, docs, scores = out
    depth = docs.shape[1]
    for number in queries.tolist():
        sums = added_up(part, batch, number)
        sums[part.docs.deleted] = 0
        matching = np.flatnonzero(sums)
        values = sums[matching]
        order = best_first(values, part.keys[matching], depth)
        counts[number] = len(order)
        scores[number] = NOTHING
        docs[number, : len(order)], scores[number, : len(order)] = matching[order], values[order]


def added_up(part: PostingsShard, batch: QueryBatch, number: int) -> Ints:
    """(d,) the score of each document for one of the queries, deleted ones too."""
    sums = np.zeros(len(part), np.int64)
    terms, scales, _ = batch.query(number)
    for term, scale in zip(terms.tolist(), scales.tolist(), strict=True):
        rows = slice(int(part.starts[term]), int(part.starts[term + 1]))
        # As the compiled loops round; a document is met once by a term.
        weights = (batch.table[part.classes[rows]] * scale + 1.0).astype(np.int64)
        documents = part.documents[rows]
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


# How the value of a posting becomes a summand: the table's number of its class, the logarithm of 1 and
# rate times that number, or the value itself; and the numbers that the compiled loops have for it.
How = Literal["class", "logarithm", "weight"]
CLASS, LOGARITHM, WEIGHT = 0, 1, 2
KINDS: dict[How, int] = {"class": CLASS, "logarithm": LOGARITHM, "weight": WEIGHT}
# Steps between 0 and 1 to which quotients are rounded.
_CELLS = 2.0**44


def best_of_all(docs: OpenShard, search: Any, depth: int, fill: bool) -> tuple[Ints, Floats]:
    """Returns the best documents of a shard for a query, and their scores.

    Args:
        docs: the documents.
        search: (shard, formula, query); see `_compiled_scan`.
        depth: number of documents, at most.
        fill: whether documents without a term of the query count, too.
    """
    scores, is_shared = score_all(docs, search)
    matching = np.flatnonzero((docs.live == 1) & (is_shared | fill))
    order = best_first(scores[matching], docs.documents.keys[matching], depth)
    return matching[order], scores[matching[order]]


def score_all(docs: OpenShard, search: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Returns (d,) the score of every document, deleted ones too, and whether it shares a term."""
    (starts, documents, values, live), formula, query = search
    sums, is_shared = np.zeros(len(live)), np.zeros(len(live), bool)
    terms, scales, rates = (column.tolist() for column in query[:3])
    for term, scale, rate in zip(terms, scales, rates, strict=True):
        rows = slice(int(starts[term]), int(starts[term + 1]))
        weights = _weights(values[rows], formula[0], formula[1], rate)
        docs.check(documents[rows])
        # A term may have a document more than once.
        np.add.at(sums, documents[rows], np.floor(weights * scale + 0.5))
        is_shared[documents[rows]] = True
    return whole_score(sums, slice(None), formula, query), is_shared


def _weights(values: Any, kind: int, table: Floats, rate: float) -> Floats:
    """Returns what some values of a term weigh."""
    if kind == WEIGHT:
        return np.asarray(values, np.float64)
    if kind == LOGARITHM:
        table = _logarithms(values, table, rate)
    weights: Floats = table[values]
    return weights


def _logarithms(classes: Any, table: Floats, rate: float) -> Floats:
    """Returns a table with the logarithm of 1 and rate times the number of each of some classes."""
    logarithms, is_there = np.zeros(len(table)), np.zeros(len(table), bool)
    is_there[classes] = True
    # The last digit of numpy's own logarithm is another one on some processors.
    logarithms[is_there] = [math.log1p(number) for number in (table[is_there] * rate).tolist()]
    return logarithms


def whole_score(total: Any, doc: Any, formula: Any, query: Any) -> Any:
    """Returns the score of a document, or of several, given the sums of their summands."""
    _, _, doc_values, divided = formula
    score = total * query[3]
    if divided:
        # Vectors of one direction and other lengths tie.
        score = np.floor(score / doc_values[doc] * _CELLS + 0.5) / _CELLS
    elif len(doc_values):
        score += query[4] * doc_values[doc]
    return score + query[5]


def square_sums(shard: Any, table: Any, weights: Any, sums: Any, errors: Any) -> None:
    """Adds up the squares of each document's weighted counts, with what rounding has lost.

    Args:
        shard: (starts, documents, values) of the postings; values are classes.
        table: the count of each class.
        weights: (t,) weight of each term.
        sums, errors: (d,) zeros.
    """
    starts, docs, values = shard
    for term in range(len(starts) - 1):
        for posting in range(starts[term], starts[term + 1]):
            weighted = table[int(values[posting])] * weights[term]
            square = weighted * weighted
            before = sums[docs[posting]]
            after = before + square
            back = after - before
            errors[docs[posting]] += (before - (after - back)) + (square - back)
            sums[docs[posting]] = after

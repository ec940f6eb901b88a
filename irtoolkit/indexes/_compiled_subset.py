"""The compiled loops of pools: the postings of some documents, and the scores of all documents.

Shards, tables, formulas and queries are those of `_compiled_search` and `_compiled_scan`.
"""

from __future__ import annotations

from typing import Any

import numba

from irtoolkit.indexes._compiled_scan import summand, whole_score
from irtoolkit.indexes._compiled_search import part_of, reach

# Where a term has so many times more postings than there are documents, each document is looked up.
_LOOKED_UP = 16


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def restrict(postings: Any, chosen: Any, places: Any, wanted: Any, out: Any) -> int:
    """Copies the postings that some documents have of some terms; returns how many there are.

    Args:
        postings: (starts, documents, values).
        chosen: (c,) numbers of the documents, ascending.
        places: the place among the chosen of each document from the first to the last of them, or -1.
        wanted: (t,) whether each term is wanted.
        out: (starts, documents, values), to be filled; documents are their places among the chosen.
    """
    starts, docs, values = postings
    out_starts, out_docs, out_values = out
    first, last, count = chosen[0], chosen[-1], 0
    for term in range(len(starts) - 1):
        out_starts[term] = count
        if not wanted[term]:
            continue
        end = starts[term + 1]
        at = reach(docs, starts[term], end, first)
        if end - at > _LOOKED_UP * len(chosen):
            for place in range(len(chosen)):
                at = reach(docs, at, end, chosen[place])
                # A term may have a document more than once.
                while at < end and docs[at] == chosen[place]:
                    out_docs[count], out_values[count] = place, values[at]
                    count, at = count + 1, at + 1
            continue
        while at < end and docs[at] <= last:
            place = places[docs[at] - first] if docs[at] >= first else -1
            if place >= 0:
                out_docs[count], out_values[count] = place, values[at]
                count += 1
            at += 1
    out_starts[len(starts) - 1] = count
    return count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def add_all(shard: Any, table: Any, query: Any, sums: Any) -> None:
    """Adds up one query's score of every document of a shard; `sums` are zeros."""
    starts, docs, classes, _ = shard
    terms, scales, _ = query
    for t in range(len(terms)):
        for at in range(starts[terms[t]], starts[terms[t] + 1]):
            sums[docs[at]] += part_of(table[classes[at]], scales[t])


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def score_all(shard: Any, formula: Any, query: Any, scores: Any, shared: Any) -> None:
    """One query's score of every document of a shard, and which documents have one of its terms.

    `scores` are zeros and `shared` is false, to be filled.
    """
    starts, docs, values, _ = shard
    how, table = formula[0], formula[1]
    terms, scales, rates = query[0], query[1], query[2]
    for t in range(len(terms)):
        for at in range(starts[terms[t]], starts[terms[t] + 1]):
            scores[docs[at]] += summand(values[at], how, table, scales[t], rates[t])
            shared[docs[at]] = True
    for doc in range(len(scores)):
        scores[doc] = whole_score(scores[doc], doc, formula, query)

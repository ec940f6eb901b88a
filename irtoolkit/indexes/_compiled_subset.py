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
def restrict(postings: Any, chosen: Any, places: Any, selected: Any, out: Any) -> int:
    """Copies the postings that some documents have of some terms; returns how many there are.

    Args:
        postings: (starts, documents, values).
        chosen: (c,) numbers of the documents, ascending.
        places: the place among the chosen of each document from the first to the last of them, or -1.
        selected: (t,) whether the postings of each term are copied.
        out: (starts, documents, values), to be filled; documents are their places among the chosen.
    """
    starts, docs, values = postings
    out_starts, out_docs, out_values = out
    first, last, count = chosen[0], chosen[-1], 0
    for term in range(len(starts) - 1):
        out_starts[term] = count
        if not selected[term]:
            continue
        end = starts[term + 1]
        posting = reach(docs, starts[term], end, first)
        if end - posting > _LOOKED_UP * len(chosen):
            for target in range(len(chosen)):
                posting = reach(docs, posting, end, chosen[target])
                # A term may have a document more than once.
                while posting < end and docs[posting] == chosen[target]:
                    out_docs[count], out_values[count] = target, values[posting]
                    count, posting = count + 1, posting + 1
            continue
        while posting < end and docs[posting] <= last:
            target = places[docs[posting] - first] if docs[posting] >= first else -1
            if target >= 0:
                out_docs[count], out_values[count] = target, values[posting]
                count += 1
            posting += 1
    out_starts[len(starts) - 1] = count
    return count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def add_all(shard: Any, table: Any, query: Any, sums: Any) -> None:
    """Adds up one query's score of every document of a shard; `sums` are zeros."""
    starts, docs, classes, _ = shard
    terms, scales, _ = query
    for t in range(len(terms)):
        for posting in range(starts[terms[t]], starts[terms[t] + 1]):
            sums[docs[posting]] += part_of(table[classes[posting]], scales[t])


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

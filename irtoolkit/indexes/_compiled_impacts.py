"""The compiled loops that make and merge postings that have a weight of their own."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def append_impacts(first: int, terms: Any, weights: Any, ends: Any, cursors: Any, out: Any) -> None:
    """Appends the weights of documents, whose numbers begin at `first`, to those of their terms.

    Args:
        terms, weights: place of each term and its weight, of all documents end to end.
        ends: where those of each document end.
        cursors: where each term's next posting goes.
        out: (documents, weights).
    """
    docs, values = out
    posting = 0
    for doc in range(len(ends)):
        while posting < ends[doc]:
            cursor = cursors[terms[posting]]
            docs[cursor], values[cursor] = first + doc, weights[posting]
            cursors[terms[posting]] = cursor + 1
            posting += 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def copy_impacts(shard: Any, places: Any, targets: Any, cursors: Any, out: Any) -> None:
    """Appends the postings of a shard to those of their terms among the terms of all shards.

    Args:
        shard: (starts, documents, weights).
        places: the new number of each document, or -1.
        targets: the place of each term among all, or -1.
        cursors: where each term's next posting goes.
        out: (documents, weights).
    """
    starts, docs, values = shard
    new_docs, new_values = out
    for term in range(len(starts) - 1):
        target = targets[term]
        if target < 0:
            continue
        cursor = cursors[target]
        for posting in range(starts[term], starts[term + 1]):
            doc = places[docs[posting]]
            if doc >= 0:
                new_docs[cursor], new_values[cursor] = doc, values[posting]
                cursor += 1
        cursors[target] = cursor

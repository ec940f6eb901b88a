"""The compiled loops that make, merge and restrict postings, of terms and of weights of their own."""

from __future__ import annotations

from typing import Any

import numba

from irtoolkit.indexes._compiled_search import reach

# Where a term has so many times more postings than there are documents, each document is looked up.
_LOOKED_UP = 16


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def invert(first: int, counted: Any, order: Any, codes: Any, cursors: Any, out: Any) -> None:
    """Appends the postings of texts, whose numbers begin at `first`, to those of their terms.

    Args:
        first: number of the first text.
        counted: (terms, counts, ends); see `count`.
        order: term number to place among the shard's terms.
        codes: (count codes, length codes, grid of classes): the code of each count, that of each text's length, and
            the class of a pair of these.
        cursors: where each term's next posting goes.
        out: (documents, classes).
    """
    terms, counts, ends = counted
    count_codes, length_codes, grid = codes
    docs, classes = out
    posting = 0
    for doc in range(len(ends)):
        length = length_codes[doc]
        while posting < ends[doc]:
            term = order[terms[posting]]
            cursor = cursors[term]
            docs[cursor] = first + doc
            classes[cursor] = grid[count_codes[counts[posting]], length]
            cursors[term] = cursor + 1
            posting += 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def extremes(starts: Any, classes: Any, counts: Any, lengths: Any, bounds: Any) -> None:
    """Fills in bounds of the weight of each term: the shortest length of documents that have it once, twice,
    more often, or 0; and its greatest count. Counts and lengths are by class."""
    for term in range(len(starts) - 1):
        bounds[term] = 0
        for posting in range(starts[term], starts[term + 1]):
            count, length = counts[classes[posting]], lengths[classes[posting]]
            column = min(count, 3) - 1
            if bounds[term, column] == 0 or length < bounds[term, column]:
                bounds[term, column] = length
            bounds[term, 3] = max(bounds[term, 3], count)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def live_postings(starts: Any, docs: Any, places: Any, out: Any) -> None:
    """Counts the postings of each term whose document is kept."""
    for term in range(len(starts) - 1):
        count = 0
        for posting in range(starts[term], starts[term + 1]):
            count += places[docs[posting]] >= 0
        out[term] = count


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def live_classes(docs: Any, classes: Any, places: Any, out: Any) -> None:
    """Marks the classes of the documents that are kept."""
    for posting in range(len(docs)):
        if places[docs[posting]] >= 0:
            out[classes[posting]] = 1


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def copy_postings(
    shard: Any, places: Any, targets: Any, numbers: Any, cursors: Any, out: Any
) -> None:
    """Appends the postings of a shard to those of their terms among the terms of all shards.

    Args:
        shard: (starts, documents, classes).
        places: the new number of each document, or -1.
        targets: the place of each term among all, or -1.
        numbers: the new number of each class.
        cursors: where each term's next posting goes.
        out: (documents, classes).
    """
    starts, docs, classes = shard
    new_docs, new_classes = out
    for term in range(len(starts) - 1):
        target = targets[term]
        if target < 0:
            continue
        cursor = cursors[target]
        for posting in range(starts[term], starts[term + 1]):
            doc = places[docs[posting]]
            if doc >= 0:
                new_docs[cursor] = doc
                new_classes[cursor] = numbers[classes[posting]]
                cursor += 1
        cursors[target] = cursor


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

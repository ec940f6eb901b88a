"""Loops over postings in NumPy: for little work in a process that has not loaded the compiled ones.

Each function gives what the compiled one of its name does; see `irtoolkit.base.compiled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints
from irtoolkit.indexes.tokens import Counted

# More than any length of a document.
_FAR = np.iinfo(np.int32).max


def invert(
    parts: Sequence[Counted], order: Ints, codes: tuple[Ints, Ints, Any], kind: Any
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Returns the documents and classes of the postings of texts, term by term.

    Args:
        parts: the counts of the texts.
        order: term number to place among the shard's terms.
        codes: (count codes, length codes, grid of classes); see `_compiled_postings.invert`.
        kind: of the numbers of classes.
    """
    if not parts:
        return np.empty(0, np.int32), np.empty(0, kind)
    count_codes, length_codes, grid = codes
    sizes = np.concatenate([np.diff(part.ends, prepend=0) for part in parts])
    docs = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    counts = np.concatenate([part.counts for part in parts])
    by_term = np.argsort(order[np.concatenate([part.terms for part in parts])], kind="stable")
    classes = grid[count_codes[counts], length_codes[docs]]
    return docs[by_term], classes[by_term].astype(kind)


def extremes(starts: Ints, counts: Ints, lengths: Ints) -> NDArray[np.int32]:
    """Returns (t, 4) what bounds the weight of each term, given the count and length of each posting."""
    bounds = np.zeros((len(starts) - 1, 4), np.int32)
    if not len(bounds):
        return bounds
    for column, has_count in enumerate((counts == 1, counts == 2, counts > 2)):
        shortest = np.minimum.reduceat(np.where(has_count, lengths, _FAR), starts[:-1])
        bounds[:, column] = np.where(shortest == _FAR, 0, shortest)
    bounds[:, 3] = np.maximum.reduceat(counts, starts[:-1])
    return bounds


def restrict(
    postings: tuple[Any, Any, Any],
    first: int,
    places: NDArray[np.int32],
    selected: NDArray[np.bool_],
) -> tuple[Any, Any, Any]:
    """Returns the postings that some documents have of some terms.

    Args:
        postings: (starts, documents, values).
        first: the first of the documents.
        places: the place of each document from the first to the last of them, or -1.
        selected: (t,) whether the postings of each term are copied.
    """
    starts, docs, values = postings
    terms = np.repeat(np.arange(len(selected)), np.diff(starts))
    offsets = docs.astype(np.int64) - first
    is_kept = selected[terms] & (offsets >= 0) & (offsets < len(places))
    kept_postings = np.flatnonzero(is_kept)
    kept_postings = kept_postings[places[offsets[kept_postings]] >= 0]
    counts = np.bincount(terms[kept_postings], minlength=len(selected))
    new_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return new_starts, places[offsets[kept_postings]].astype(docs.dtype), values[kept_postings]

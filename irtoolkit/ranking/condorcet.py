"""Condorcet fusion: an order of documents from votes on every pair of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints

# Sums of votes that differ by less than this share of all votes are equal, but for rounding.
_ROUNDING = 1e-9
# Pairs of documents that are compared at once.
_PAIRS = 1 << 21


def condorcet_order(ranks: Ints, votes: Floats) -> list[int]:
    """Returns the order of documents by majorities of the runs.

    A run votes for the document of a pair that it ranks higher; one that it does not list is below
    all that it lists, and it has no vote on two of those. A document beats another if it gets more
    votes than the other. The next document is always the one that the fewest of the remaining
    documents beat; of several, the one that beats the most of them, and then the first one. So no
    document is below one that every run ranks lower; and none is below one that it beats, unless
    documents beat each other in a circle.

    Args:
        ranks: (R, n) rank of each document in each run; of those that a run does not list, one number
            above all its ranks. Documents are in the order of equal scores.
        votes: (R,) votes of each run.

    Returns:
        The n indices of the documents, best first.
    """
    beats = _beats(ranks, votes)
    count = len(beats)
    # Lower is better: a document less that beats it outweighs all those that it beats.
    badness = beats.sum(axis=0) * (count + 1) - beats.sum(axis=1)
    order = []
    for _ in range(count):
        best = int(np.argmin(badness))
        order.append(best)
        badness -= beats[best] * (count + 1)
        badness += beats[:, best]
        badness[best] = np.iinfo(badness.dtype).max // 2
    return order


def _beats(ranks: Ints, votes: Floats) -> NDArray[np.bool_]:
    """(n, n) whether the document of the row beats the document of the column."""
    count = ranks.shape[1]
    least = _ROUNDING * np.abs(votes).sum()
    beats = np.empty((count, count), dtype=bool)
    step = max(1, _PAIRS // max(1, count))
    for start in range(0, count, step):
        margin = np.zeros((min(step, count - start), count))
        for run_ranks, vote in zip(ranks, votes, strict=True):
            rows = run_ranks[start : start + step, None]
            margin += vote * ((rows < run_ranks).astype(np.int8) - (rows > run_ranks))
        beats[start : start + step] = margin > least
    return beats

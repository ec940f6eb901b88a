"""Alignment of two texts from a common beginning on, with some characters changed."""

from __future__ import annotations

import numba
import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.building.relic.words import Characters

# What an equal character adds to the score of an alignment, and what a changed, missing or additional
# one costs. Texts that have nothing in common score below zero with these.
EQUAL, DIFFERENT = 1, 2


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def agreement(first: Characters, second: Characters) -> tuple[int, int]:
    """Returns the lengths of the best-aligned beginnings of two texts.

    An alignment scores `EQUAL` for each pair of equal characters, and minus `DIFFERENT` for each
    pair of different ones and each character without a partner. Of the best alignments that begin
    where the texts begin, the shortest is taken, and of equally long ones that with less of `first`.

    Args:
        first, second: (N,) and (M,) code points. The time is proportional to N·M.
    """
    n, m = len(first), len(second)
    before = np.empty(m + 1, np.int64)
    row = np.empty(m + 1, np.int64)
    for j in range(m + 1):
        before[j] = -DIFFERENT * j
    best, best_i, best_j = 0, 0, 0
    for i in range(1, n + 1):
        row[0] = -DIFFERENT * i
        for j in range(1, m + 1):
            paired = EQUAL if first[i - 1] == second[j - 1] else -DIFFERENT
            score = max(before[j - 1] + paired, before[j] - DIFFERENT, row[j - 1] - DIFFERENT)
            row[j] = score
            if score > best or (score == best and i + j < best_i + best_j):
                best, best_i, best_j = score, i, j
        before, row = row, before
    return best_i, best_j


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def chain(text_positions: Ints, book_positions: Ints, gap: int, drift: int) -> Ints:
    """Returns the chain that each pair of positions belongs to, numbered from 0.

    A pair continues the chain whose last pair is nearest to it in drift, then in distance, among
    those at most `gap` positions before it on both sides, if the two distances differ by at most
    `drift`.

    Args:
        text_positions, book_positions: (P,) positions in two texts, ascending by the first and then
            by the second.
        gap, drift: in positions.
    """
    count = len(text_positions)
    chains = np.empty(count, np.int64)
    last = np.empty(count, np.int64)  # of each chain, its last pair
    best = 0
    oldest = 0  # no chain that began before it can go on
    for pair in range(count):
        while oldest < pair and text_positions[oldest] < text_positions[pair] - gap:
            oldest += 1
        chosen, least = -1, drift + 1
        for previous in range(pair - 1, oldest - 1, -1):
            if last[chains[previous]] != previous:
                continue
            along, across = (
                text_positions[pair] - text_positions[previous],
                book_positions[pair] - book_positions[previous],
            )
            if along < 1 or across < 1 or across > gap:
                continue
            apart = abs(along - across)
            if apart < least:
                chosen, least = chains[previous], apart
        if chosen < 0:
            chosen = best
            best += 1
        chains[pair] = chosen
        last[chosen] = pair
    return chains

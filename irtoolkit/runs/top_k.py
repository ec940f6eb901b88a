"""The best of each row of a matrix of scores, and exact ranks, in the one order, on all cores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.base.rows import by_rows
from irtoolkit.runs.order import (
    Keys,
    Ties,
    best_first,
    is_before,
    key_order,
    pool_keys,
    separate,
)

Scores = NDArray[np.floating[Any]]
GREATEST = float(np.finfo(np.float32).max)

# If there are so many times more candidates than results, most are dropped before sorting.
_MANY = 32
# Steps that it takes numpy to sort a score, and to compare one; see `is_worth_loading`.
_CELL, _COUNTED = 20, 1
# Fewer candidates are all sorted, unless very few are returned.
_SOME = 1 << 9


@dataclass(frozen=True, eq=False)
class TieOrder:
    """The order of candidates of equal score, computed once for all queries that rank them.

    Attributes:
        id_keys: (c,) keys of the candidates' ids, by which readers of a run order equal scores.
        ties: "pool" for the order of the candidates; otherwise that of the ids' keys.
    """

    id_keys: Keys
    ties: Ties

    @cached_property
    def keys(self) -> Keys:
        """(c,) keys of the candidates: of equal scores the greater key comes first."""
        return pool_keys(len(self.id_keys)) if self.ties == "pool" else self.id_keys

    @cached_property
    def sequence(self) -> Ints:
        """(c,) the candidates in this order."""
        return key_order(self.keys)

    @cached_property
    def places(self) -> NDArray[np.uint32]:
        """(c,) position of each candidate in this order."""
        places = np.empty(len(self.id_keys), np.uint32)
        places[self.sequence] = np.arange(len(places), dtype=np.uint32)
        return places


def top_k(scores: Scores, tied: TieOrder, k: int | None = None) -> tuple[Ints, Singles]:
    """Returns (q, k) positions of the best candidates of each query, and (q, k) scores to write.

    Scores to write are in single precision, lowered by the fewest steps under which a reader of the run
    finds this order.

    Args:
        scores: (q, c) finite.
        tied: the order of equally scored candidates.
        k: the number of results; None returns all.

    Raises:
        InputError: a score would have to go below the lowest float32.
    """
    orders, singles = _top_k(scores, tied, k)
    # Every way writes -0.0 as 0.0.
    return orders, singles + np.float32(0)


def _top_k(scores: Scores, tied: TieOrder, k: int | None) -> tuple[Ints, Singles]:
    """Returns what `top_k` does; a score may be -0.0."""
    if not is_worth_loading(_CELL * scores.size):
        return _by_numpy(scores, tied, k)
    count = scores.shape[1]
    singles_alone = scores.dtype == np.float32 and count >= _SOME
    if k is None or k * (2 if singles_alone else _MANY) > count:
        # All are sorted where most would be.
        order, single = _sorted(scores, tied)
        return order[:, :k], single[:, :k]
    orders = np.empty((len(scores), k), np.int64)
    singles = np.empty((len(scores), k), np.float32)
    done = np.empty(len(scores), np.int64)
    leading = _leading_singles if singles_alone else _leading
    by_rows(
        lambda rows: leading(scores[rows], tied, (orders[rows], singles[rows], done[rows])), scores
    )
    for row in np.flatnonzero(done):
        order, single = _unusual(scores[row : row + 1], tied, k)
        orders[row], singles[row] = order[0], single[0]
    return orders, singles


def top_k_of_some(
    scores: Scores, candidates: Any, counts: Ints, tied: TieOrder, k: int
) -> tuple[Ints, Singles]:
    """Returns (q, k) the best of some candidates of each query, and (q, k) scores to write.

    Rows of queries with fewer than k candidates are not filled in.

    Args:
        scores: (q, m) finite, and -inf beyond the count.
        candidates: (q, m) positions of the candidates.
        counts: (q,) how many each query has.
        tied: the order of all candidates of equal score.
        k: number of results.

    Raises:
        InputError: see `top_k`.
    """
    from irtoolkit.runs._order_kernels import pack
    from irtoolkit.runs._select_kernels import leading_of_some

    orders, singles = np.zeros((len(scores), k), np.int64), np.zeros((len(scores), k), np.float32)
    done = np.empty(len(scores), np.int64)
    width, places = int(counts.max(initial=0)), tied.places

    def part(rows: slice) -> None:
        packed = np.empty((rows.stop - rows.start, width), np.uint64)
        pack(scores[rows], np.arange(width), packed)
        packed.sort(axis=1)
        subset = scores[rows], candidates[rows], counts[rows]
        leading_of_some(subset, places, packed, (orders[rows], singles[rows], done[rows]))

    by_rows(part, scores)
    for row in np.flatnonzero(done):
        row_candidates = candidates[row, : counts[row]]
        sequence = np.argsort(places[row_candidates])
        order, single = _sorted(
            scores[row, sequence][None], TieOrder(pool_keys(len(row_candidates)), "trec")
        )
        orders[row], singles[row] = row_candidates[sequence[order[0, :k]]], single[0, :k]
    return orders, singles + np.float32(0)


def before(scores: Scores, tied: TieOrder, rows: Ints, places: Ints) -> tuple[Ints, Ints]:
    """Returns how many candidates rank before some, and how many of those have a greater score.

    Args:
        scores: (q, c) finite.
        tied: the order of candidates of equal score.
        rows, places: (n,) the query and the position of each candidate to be ranked.
    """
    counts, greater = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    if not is_worth_loading(_COUNTED * len(rows) * scores.shape[1]):
        for pair, (row, document) in enumerate(zip(rows.tolist(), places.tolist(), strict=True)):
            row_scores, target = scores[row], scores[row, document]
            counts[pair] = is_before(
                row_scores, tied.keys, target, int(tied.keys[document]) + 1
            ).sum()
            greater[pair] = (row_scores > target).sum()
        return counts, greater
    from irtoolkit.runs._order_kernels import count_before

    by_rows(
        lambda part: count_before(
            scores, tied.keys, (rows[part], places[part]), counts[part], greater[part]
        ),
        scores,
        len(rows),
    )
    return counts, greater


def first_unwritable(scores: Scores) -> tuple[int, int] | None:
    """Returns row and column of the first score that is not finite in single precision, or None."""
    if not scores.size:
        return None
    # A number that is none is neither above nor below another.
    least, greatest = scores.min(axis=1), scores.max(axis=1)
    bad = np.flatnonzero(~((least >= -GREATEST) & (greatest <= GREATEST)))
    if not len(bad):
        return None
    row = int(bad[0])
    return row, int(np.flatnonzero(~(np.abs(scores[row]) <= GREATEST))[0])


def _by_numpy(scores: Scores, tied: TieOrder, k: int | None) -> tuple[Ints, Singles]:
    """Returns what `top_k` does of a few scores."""
    depth = scores.shape[1] if k is None else min(k, scores.shape[1])
    orders = np.empty((len(scores), depth), np.int64)
    singles = np.empty((len(scores), depth), np.float32)
    for row, row_scores in enumerate(scores):
        orders[row] = best_first(row_scores, tied.keys, depth)
        singles[row] = separate(row_scores[orders[row]], tied.id_keys[orders[row]])
    return orders, singles


def _leading_singles(scores: Scores, tied: TieOrder, out: tuple[Any, ...]) -> None:
    from irtoolkit.runs._select_kernels import leading_singles, room_of

    room = room_of(scores.shape[1], out[0].shape[1])
    leading_singles(scores, (tied.id_keys, tied.places, tied.sequence), room, out)


def _leading(scores: Scores, tied: TieOrder, out: tuple[Any, ...]) -> None:
    from irtoolkit.runs._order_kernels import leading, parts_of

    count = scores.shape[1]
    room = np.empty(parts_of(count, out[0].shape[1]), scores.dtype), np.empty(count, np.int64)
    leading(scores, tied.id_keys, tied.ties != "pool", room, out)


def _unusual(row: Scores, tied: TieOrder, k: int) -> tuple[Ints, Singles]:
    """Returns the best (1, k) of a row that a faster way gave up for its equal scores."""
    from irtoolkit.runs._order_kernels import DONE

    if row.dtype == np.float32 and k * _MANY <= row.shape[1]:
        order, single = np.empty((1, k), np.int64), np.empty((1, k), np.float32)
        done = np.empty(1, np.int64)
        _leading(row, tied, (order, single, done))
        if done[0] == DONE:
            return order, single
    order, single = _sorted(row, tied)
    return order[:, :k], single[:, :k]


def _sorted(scores: Scores, tied: TieOrder) -> tuple[Ints, Singles]:
    """Returns (q, c) positions of all candidates, best first, and (q, c) scores to write for them.

    A score in single precision and the position among ties make one 64-bit integer, which NumPy
    sorts several times faster than it computes an order. Scores that only differ in double
    precision are corrected afterwards: they are few, and next to each other.
    """
    from irtoolkit.runs._order_kernels import CROWDED, DONE, finish, pack

    order = np.empty(scores.shape, np.int64)
    single = np.empty(scores.shape, np.float32)
    sequence, id_keys = tied.sequence, tied.id_keys

    def part(rows: slice) -> bool:
        packed = np.empty(scores[rows].shape, np.uint64)
        pack(scores[rows], sequence, packed)
        packed.sort(axis=1)
        fate = finish(scores[rows], sequence, id_keys, packed, order[rows], single[rows])
        if fate == CROWDED:
            for row, row_scores in zip(packed, scores[rows], strict=True):
                row[:] = np.argsort(-row_scores[sequence], kind="stable")
            fate = finish(scores[rows], sequence, id_keys, packed, order[rows], single[rows])
        return bool(fate == DONE)

    # Few rows at a time stay in the processor's cache.
    step = max(1, (1 << 18) // max(1, scores.shape[1]))

    def parts(rows: slice) -> bool:
        starts = range(rows.start, rows.stop, step)
        return all(part(slice(start, min(start + step, rows.stop))) for start in starts)

    if not all(by_rows(parts, scores)):
        raise InputError(
            f"scores near {np.finfo(np.float32).min} leave no room to tell tied documents apart",
            remedy="scale the scores, or use ties=trec",
        )
    return order, single

"""From scores to an order: score descending, ties by a rule, and float32 scores that keep it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.retrievers._scan import by_rows, parts_of
from irtoolkit.retrievers.base import ScoreMatrix
from irtoolkit.runs import Run
from irtoolkit.runs.steps import stepped

Ties = Literal["trec", "pool", "best"]

_LOWEST = np.finfo(np.float32).min
# Where so many times more candidates than are kept compete, most are dropped before they are sorted.
_MANY = 32
# Of fewer candidates all are sorted, unless very few are kept.
_SOME = 1 << 9


@dataclass(frozen=True, eq=False)
class TieOrder:
    """The order of equally scored candidates, found once for all queries that rank them.

    Attributes:
        names: (c,) place of each candidate's id in ascending order.
        ties: "pool" for position; otherwise id descending.
    """

    names: Ints
    ties: Ties

    @cached_property
    def second(self) -> Ints:
        """(c,) the candidates in this order."""
        return np.arange(len(self.names)) if self.ties == "pool" else np.argsort(-self.names)

    @cached_property
    def at(self) -> NDArray[np.uint32]:
        """(c,) where each candidate is in this order."""
        found = np.empty(len(self.names), np.uint32)
        found[self.second] = np.arange(len(self.names), dtype=np.uint32)
        return found


def best(
    scores: ScoreMatrix, names: Ints, ties: Ties, depth: int | None
) -> Iterator[tuple[Ints, Singles]]:
    """Yields, for each query, the positions of its best candidates and the scores to write.

    Args:
        scores: (q, c) finite.
        names: (c,) place of each candidate's id in ascending order.
        ties: order of equally scored candidates, "trec" for id descending or "pool" for position.
        depth: how many to keep; None keeps all.
    """
    yield from zip(*best_of(scores, TieOrder(names, ties), depth), strict=True)


def best_of(scores: ScoreMatrix, tied: TieOrder, depth: int | None) -> tuple[Ints, Singles]:
    """(q, k) positions of the best candidates of each query, and (q, k) the scores to write.

    Args:
        scores: (q, c) finite.
        tied: the order of equally scored candidates.
        depth: how many to keep; None keeps all.
    """
    count = scores.shape[1]
    singles_alone = scores.dtype == np.float32 and count >= _SOME
    if depth is None or depth * (2 if singles_alone else _MANY) > count:
        # All are sorted where most would be.
        order, single = _sorted(scores, tied)
        return order[:, :depth], single[:, :depth]
    orders = np.empty((len(scores), depth), np.int64)
    singles = np.empty((len(scores), depth), np.float32)
    done = np.empty(len(scores), np.int64)
    leading = _leading_singles if singles_alone else _leading
    by_rows(
        lambda rows: leading(scores[rows], tied, (orders[rows], singles[rows], done[rows])), scores
    )
    for row in np.flatnonzero(done):
        order, single = _unusual(scores[row : row + 1], tied, depth)
        orders[row], singles[row] = order[0], single[0]
    return orders, singles


def _leading_singles(scores: ScoreMatrix, tied: TieOrder, out: tuple[Any, ...]) -> None:
    from irtoolkit.retrievers._select import leading_singles, room_of

    room = room_of(scores.shape[1], out[0].shape[1])
    leading_singles(scores, (tied.names, tied.at, tied.second), room, out)


def _leading(scores: ScoreMatrix, tied: TieOrder, out: tuple[Any, ...]) -> None:
    from irtoolkit.retrievers._compiled import leading

    count = scores.shape[1]
    room = np.empty(parts_of(count, out[0].shape[1]), scores.dtype), np.empty(count, np.int64)
    leading(scores, tied.names, tied.ties != "pool", room, out)


def _unusual(row: ScoreMatrix, tied: TieOrder, depth: int) -> tuple[Ints, Singles]:
    """(1, k) of a row with many equal scores, say, which a faster way has given up."""
    from irtoolkit.retrievers._compiled import DONE

    if row.dtype == np.float32 and depth * _MANY <= row.shape[1]:
        order, single = np.empty((1, depth), np.int64), np.empty((1, depth), np.float32)
        done = np.empty(1, np.int64)
        _leading(row, tied, (order, single, done))
        if done[0] == DONE:
            return order, single
    order, single = _sorted(row, tied)
    return order[:, :depth], single[:, :depth]


def _sorted(scores: ScoreMatrix, tied: TieOrder) -> tuple[Ints, Singles]:
    """(q, c) positions of all candidates, best first, and (q, c) scores to write for them.

    A score in single precision and the place among ties make one whole number of 64 bits, which
    numpy sorts several times faster than it finds an order. Scores that only differ in double
    precision are put right afterwards: they are few, and next to each other.
    """
    second, names = tied.second, tied.names
    order = np.empty(scores.shape, np.int64)
    single = np.empty(scores.shape, np.float32)
    from irtoolkit.retrievers._compiled import CROWDED, DONE, finish, pack

    def part(rows: slice) -> bool:
        keys = np.empty(scores[rows].shape, np.uint64)
        pack(scores[rows], second, keys)
        keys.sort(axis=1)
        found = finish(scores[rows], second, names, keys, order[rows], single[rows])
        if found == CROWDED:
            for row, mine in zip(keys, scores[rows], strict=True):
                row[:] = np.argsort(-mine[second], kind="stable")
            found = finish(scores[rows], second, names, keys, order[rows], single[rows])
        return bool(found == DONE)

    # Few rows at a time stay in the processor's cache.
    step = max(1, (1 << 18) // max(1, len(names)))

    def parts(rows: slice) -> bool:
        starts = range(rows.start, rows.stop, step)
        return all(part(slice(start, min(start + step, rows.stop))) for start in starts)

    fits = all(by_rows(parts, scores))
    if not fits:
        raise InputError(
            f"scores near {_LOWEST} leave no room to tell tied documents apart",
            remedy="scale the scores, or use ties=trec",
        )
    return order, single


def separate(scores: ScoreMatrix, names: Ints) -> Singles:
    """Float32 scores under which rows in their given order stand in trec_eval's order.

    Args:
        scores: (n,) descending.
        names: (n,) place of each document's id in ascending order.

    Returns:
        (n,) the scores in single precision, lowered by the fewest steps that keep each row below
        the one before it.

    Raises:
        InputError: a row would have to go below the lowest float32.
    """
    _, singles = _sorted(np.asarray(scores, np.float64)[None, :], TieOrder(names, "pool"))
    single: Singles = singles[0]
    return single


def untied(run: Run) -> Run:
    """The same ranking, with scores under which every tool reads its order off the file.

    Where scores tie, trec_eval orders by document id, ir_measures' RR@k and Judged@k the other way
    around, and ranx by how a sort fell out. So each score that does not stand below the one before
    it is lowered by the fewest float32 steps until it does.

    Raises:
        InputError: a score would have to go below the lowest float32.
    """
    tied = (run.scores[1:] >= run.scores[:-1]) & (run.queries[1:] == run.queries[:-1])
    if not tied.any():
        return run
    scores = stepped(run.scores, run.queries)
    if scores is not None:
        return replace(run, scores=scores)
    scores = run.scores.copy()
    for query in np.unique(run.queries[1:][tied]):
        rows = slice(run.offsets[query], run.offsets[query + 1])
        # Ids that ascend from row to row would be turned around wherever scores stayed equal.
        try:
            scores[rows] = separate(scores[rows], np.arange(rows.stop - rows.start))
        except InputError as error:
            raise InputError(error.found, remedy="scale the scores") from None
    return replace(run, scores=scores)

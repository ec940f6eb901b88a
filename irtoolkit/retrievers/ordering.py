"""From scores to an order: score descending, ties by a rule, and float32 scores that keep it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.retrievers._scan import by_rows, parts_of
from irtoolkit.retrievers.base import ScoreMatrix
from irtoolkit.runs import Run

Ties = Literal["trec", "pool"]

_LOWEST = np.finfo(np.float32).min
# Where so many times more candidates than are kept compete, most are dropped before they are sorted.
_MANY = 32


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
    count = scores.shape[1]
    if depth is None or depth * _MANY > count:
        # All are sorted where most would be.
        for order, single in zip(*_sorted(scores, names, ties), strict=True):
            yield order[:depth], single[:depth]
        return
    orders = np.empty((len(scores), depth), np.int64)
    singles = np.empty((len(scores), depth), np.float32)
    done = np.empty(len(scores), np.int64)
    from irtoolkit.retrievers._compiled import DONE, leading

    def part(rows: slice) -> None:
        room = np.empty(parts_of(count, depth), scores.dtype), np.empty(count, np.int64)
        out = orders[rows], singles[rows], done[rows]
        leading(scores[rows], names, ties == "trec", room, out)

    by_rows(part, scores)
    for row, order, single, fate in zip(scores, orders, singles, done, strict=True):
        if fate == DONE:
            yield order, single
        else:
            (order,), (single,) = _sorted(row[None, :], names, ties)
            yield order[:depth], single[:depth]


def _sorted(scores: ScoreMatrix, names: Ints, ties: Ties) -> tuple[Ints, Singles]:
    """(q, c) positions of all candidates, best first, and (q, c) scores to write for them.

    A score in single precision and the place among ties make one whole number of 64 bits, which
    numpy sorts several times faster than it finds an order. Scores that only differ in double
    precision are put right afterwards: they are few, and next to each other.
    """
    second = np.arange(len(names)) if ties == "pool" else np.argsort(-names)
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
    parts = [slice(start, start + step) for start in range(0, len(scores), step)]
    if len(parts) == 1:
        fits = part(parts[0])
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            fits = all(pool.map(part, parts))
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
    _, singles = _sorted(np.asarray(scores, np.float64)[None, :], names, "pool")
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
    scores = run.scores.copy()
    for query in np.unique(run.queries[1:][tied]):
        rows = slice(run.offsets[query], run.offsets[query + 1])
        # Ids that ascend from row to row would be turned around wherever scores stayed equal.
        try:
            scores[rows] = separate(scores[rows], np.arange(rows.stop - rows.start))
        except InputError as error:
            raise InputError(error.found, remedy="scale the scores") from None
    return replace(run, scores=scores)

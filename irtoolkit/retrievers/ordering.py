"""From scores to an order: score descending, ties by a rule, and float32 scores that keep it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from irtoolkit.errors import InputError
from irtoolkit.ids import Ints
from irtoolkit.retrievers._scan import by_rows, contenders_kernel, parts_of
from irtoolkit.retrievers.base import Scores
from irtoolkit.runs import Run

Ties = Literal["trec", "pool"]
Singles = NDArray[np.float32]

_LOWEST = np.finfo(np.float32).min
# What became of some rows: all is done; a score has no room below it; or more scores than a few are
# equal in single precision and not in double, and are to be sorted in another way.
_DONE, _LOW, _CROWDED = 0, 1, 2
_NEAR = 64
# Where so many times more candidates than are kept compete, most are dropped before they are sorted.
_MANY = 32


def best(
    scores: Scores, names: Ints, ties: Ties, depth: int | None
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
    lead = _leading()

    def part(rows: slice) -> None:
        room = np.empty(parts_of(count, depth), scores.dtype), np.empty(count, np.int64)
        lead(scores[rows], names, ties == "trec", *room, orders[rows], singles[rows], done[rows])

    by_rows(part, scores)
    for row, order, single, fate in zip(scores, orders, singles, done, strict=True):
        if fate == _DONE:
            yield order, single
        else:
            (order,), (single,) = _sorted(row[None, :], names, ties)
            yield order[:depth], single[:depth]


def _sorted(scores: Scores, names: Ints, ties: Ties) -> tuple[Ints, Singles]:
    """(q, c) positions of all candidates, best first, and (q, c) scores to write for them.

    A score in single precision and the place among ties make one whole number of 64 bits, which
    numpy sorts several times faster than it finds an order. Scores that only differ in double
    precision are put right afterwards: they are few, and next to each other.
    """
    second = np.arange(len(names)) if ties == "pool" else np.argsort(-names)
    order = np.empty(scores.shape, np.int64)
    single = np.empty(scores.shape, np.float32)
    pack, finish = _kernels()

    def part(rows: slice) -> bool:
        keys = np.empty(scores[rows].shape, np.uint64)
        pack(scores[rows], second, keys)
        keys.sort(axis=1)
        found = finish(scores[rows], second, names, keys, order[rows], single[rows])
        if found == _CROWDED:
            for row, mine in zip(keys, scores[rows], strict=True):
                row[:] = np.argsort(-mine[second], kind="stable")
            found = finish(scores[rows], second, names, keys, order[rows], single[rows])
        return bool(found == _DONE)

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


def separate(scores: Scores, names: Ints) -> Singles:
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


@cache
def _kernels() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What numpy does not do fast, compiled once."""
    import numba

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def pack(scores: Any, second: Any, keys: Any) -> None:
        """Keys that ascend as scores fall, and then as the second order goes."""
        bits = np.empty(1, np.float32)
        view = bits.view(np.uint32)
        for row in range(len(scores)):
            for place in range(len(second)):
                bits[0] = np.float32(scores[row, second[place]]) + np.float32(0)  # no -0
                falling = view[0]
                if not falling >> np.uint32(31):
                    falling ^= np.uint32(0x7FFFFFFF)
                keys[row, place] = (np.uint64(falling) << np.uint64(32)) | np.uint64(place)

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def finish(scores: Any, second: Any, names: Any, keys: Any, order: Any, single: Any) -> int:
        """Reads the order off sorted keys; then lowers scores by the fewest steps that show it."""
        lowest = np.float32(-np.inf)
        count = len(second)
        for row in range(len(scores)):
            mine = scores[row]
            for i in range(count):
                place = second[keys[row, i] & np.uint64(0xFFFFFFFF)]
                j = i
                # An insertion sort of what is equal in single precision.
                while (
                    j
                    and mine[order[row, j - 1]] < mine[place]
                    and np.float32(mine[order[row, j - 1]]) == np.float32(mine[place])
                ):
                    order[row, j] = order[row, j - 1]
                    j -= 1
                    if i - j > _NEAR:
                        return _CROWDED
                order[row, j] = place
            for i in range(count):
                place = order[row, i]
                value = np.float32(mine[place])
                if i:
                    above, after = single[row, i - 1], names[place] > names[order[row, i - 1]]
                    # Among equals the later id would be put first.
                    if value > above or (value == above and after):
                        value = np.nextafter(above, lowest) if after else above
                        if value == lowest:
                            return _LOW
                single[row, i] = value
        return _DONE

    return pack, finish


@cache
def _leading() -> Callable[..., Any]:
    """Compiled: the best of each row alone, where few are kept of many."""
    import numba

    contenders = contenders_kernel()
    pack, finish = _kernels()

    @numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
    def leading(
        scores: Any, names: Any, by_name: bool, peaks: Any, places: Any, order: Any, single: Any,
        done: Any,
    ) -> None:  # fmt: skip
        depth = order.shape[1]
        for row in range(len(scores)):
            count = contenders(scores[row], depth, peaks, places)
            # In the order of the candidates, by which ties may be broken.
            pool = np.sort(places[:count])
            mine, known = scores[row][pool].reshape(1, count), names[pool]
            second = np.argsort(-known) if by_name else np.arange(count)
            keys = np.empty((1, count), np.uint64)
            pack(mine, second, keys)
            keys[0].sort()
            places_of = np.empty((1, count), np.int64)
            written = np.empty((1, count), np.float32)
            done[row] = finish(mine, second, known, keys, places_of, written)
            order[row] = pool[places_of[0, :depth]]
            single[row] = written[0, :depth]

    made: Callable[..., Any] = leading
    return made

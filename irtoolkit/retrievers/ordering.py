"""From scores to an order: score descending, ties by a rule, and float32 scores that keep it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from irtoolkit.errors import InputError
from irtoolkit.ids import Ints
from irtoolkit.retrievers.base import Scores

Ties = Literal["trec", "pool"]
Singles = NDArray[np.float32]

_LOWEST = np.finfo(np.float32).min
# Up to so many candidates, ordering all of them at once is faster than selecting the best first.
_SORTED_WHOLE = 1 << 15


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
    if count <= _SORTED_WHOLE or depth is None or depth >= count:
        for row, order in zip(scores, _sorted(scores, names, ties), strict=True):
            kept = order[:depth]
            yield kept, separate(row[kept], names[kept])
        return
    for row in scores:
        # Everything tied with the last kept score competes for its place.
        bound = np.partition(row, count - depth)[count - depth]
        pool = np.flatnonzero(row >= bound)
        second = pool if ties == "pool" else -names[pool]
        kept = pool[np.lexsort((second, -row[pool]))][:depth]
        yield kept, separate(row[kept], names[kept])


def _sorted(scores: Scores, names: Ints, ties: Ties) -> Ints:
    """(q, c) positions of all candidates, best first.

    A score in single precision and the place among ties make one whole number of 64 bits, which
    numpy sorts several times faster than it finds an order. Scores that only differ in double
    precision are put right afterwards: they are few, and next to each other.
    """
    second = np.arange(len(names)) if ties == "pool" else np.argsort(-names)
    laid = scores[:, second]
    single = laid.astype(np.float32) + np.float32(0)  # no negative zero
    bits = single.view(np.uint32)
    falling = np.where(bits >> 31, bits, bits ^ np.uint32(0x7FFFFFFF))
    keys = falling.astype(np.uint64) << np.uint64(32) | np.arange(len(names), dtype=np.uint64)
    keys.sort(axis=1)
    places = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    if scores.dtype != np.float32:
        ordered = np.take_along_axis(laid, places, axis=1)
        for row in np.flatnonzero((ordered[:, 1:] > ordered[:, :-1]).any(axis=1)):
            _resort(places[row], ordered[row])
    order: Ints = second[places]
    return order


def _resort(places: Ints, scores: Scores) -> None:
    """Orders the runs of a row that are equal in single precision by their scores."""
    single = scores.astype(np.float32)
    starts = np.flatnonzero(np.concatenate([[True], single[1:] != single[:-1]]))
    ends = np.append(starts[1:], len(single))
    wrong = np.flatnonzero(scores[1:] > scores[:-1])
    for run in np.unique(np.searchsorted(starts, wrong, side="right") - 1):
        part = slice(starts[run], ends[run])
        places[part] = places[part][np.lexsort((places[part], -scores[part]))]


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
    single = np.asarray(scores, dtype=np.float32)
    # Among equals the later id would be put first.
    wrong = np.flatnonzero((single[1:] == single[:-1]) & (names[1:] > names[:-1])) + 1
    if not len(wrong):
        return single
    single, done = single.copy(), 0
    for first in wrong.tolist():
        i = max(first, done)
        while i < len(single):
            above, after = single[i - 1], names[i] > names[i - 1]
            if single[i] < above or (single[i] == above and not after):
                break  # what follows stands as it should, up to the next wrong row
            if after and above == _LOWEST:
                raise InputError(
                    f"scores near {_LOWEST} leave no room to tell tied documents apart",
                    remedy="scale the scores, or use ties=trec",
                )
            single[i] = np.nextafter(above, _LOWEST) if after else above
            i += 1
        done = i
    return single

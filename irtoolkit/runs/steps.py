"""Float32 scores that keep an order: each is lowered by the fewest steps until it is below the one before it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ids, Ints, Singles, rank_ids

# How scores of a run that is read are compared: as trec_eval 9 does, or as trec_eval 10.
Precision = Literal["single", "double"]

_LOWEST = np.finfo(np.float32).min
_SIGN = 1 << 31


def stepped(scores: Singles, queries: Ints) -> Singles | None:
    """Returns scores lowered by the fewest steps until each is below the one before it of its query.

    None if they are not finite, or would not stay so.
    """
    if not np.isfinite(scores).all():
        return None
    bits = scores.view(np.int32).astype(np.int64)
    # Whole numbers in the order of the scores, one for each step: what is negative counts downwards.
    steps = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    place = np.arange(len(steps))
    # Each query's numbers are below all of the query before it, so the least begins anew with it.
    apart = queries.astype(np.int64) * ((1 << 33) + len(steps))
    lowered = np.minimum.accumulate(steps + place - apart) - place + apart
    if lowered.min() < -int(np.float32(-_LOWEST).view(np.int32)):
        return None
    moved = np.where(lowered < 0, _SIGN - lowered, lowered).astype(np.uint32).view(np.float32)
    return np.where(lowered == steps, scores, moved)


def compared_in(
    precision: Precision, queries: Ints, doc_ids: Ids, docs: Ints, scores: Floats | Singles
) -> Floats | Singles:
    """Returns scores that order rows, in single precision, as the given scores do in a precision.

    Args:
        precision: with "single", or a score that is not finite, the scores are returned as they are.
        queries: (N,) index of each row's query.
        doc_ids: (D,) ids that `docs` points into.
        docs: (N,) index of each row's document; equal scores are ordered by id descending.
        scores: (N,) scores.

    Raises:
        InputError: scores near the lowest float32 leave no room.
    """
    with np.errstate(over="ignore"):
        singles = scores.astype(np.float32)
    if precision == "single" or not np.isfinite(singles).all() or not len(scores):
        return scores
    order = np.lexsort((-rank_ids(doc_ids)[docs], -scores, queries))
    lowered = stepped(singles[order], queries[order])
    if lowered is None:
        raise InputError("scores leave no room to tell documents apart", remedy="scale the scores")
    singles[order] = lowered
    return singles

"""The precision in which the scores of a run that is read are compared."""

from __future__ import annotations

from typing import Literal

import numpy as np

from irtoolkit.base.ids import Floats, Ids, Ints, Singles
from irtoolkit.runs import order

# How scores of a run that is read are compared: as trec_eval 9 does, or as trec_eval 10.
Precision = Literal["single", "double"]


def compared_in(
    precision: Precision, queries: Ints, doc_ids: Ids, docs: Ints, scores: Floats | Singles
) -> Floats | Singles:
    """Returns scores that give rows, in single precision, the order that they have in a precision.

    Args:
        precision: with "single", or if a score is not finite, the scores are returned unchanged.
        queries: (N,) index of each row's query.
        doc_ids: (D,) ids that `docs` points into.
        docs: (N,) index of each row's document, whose id orders equal scores.
        scores: (N,) scores.

    Raises:
        InputError: scores near the lowest float32 leave no room.
    """
    with np.errstate(over="ignore"):
        singles = scores.astype(np.float32)
    if precision == "single" or not np.isfinite(singles).all() or not len(scores):
        return scores
    rows = order.row_order(queries, scores, order.keys(doc_ids)[docs])
    singles[rows] = order.separate(singles[rows], queries=queries[rows])
    return singles

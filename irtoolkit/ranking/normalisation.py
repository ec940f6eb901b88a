"""Normalisation of a run's scores within each query, before they are fused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from irtoolkit.base.arguments import shown_value
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.base.near import did_you_mean
from irtoolkit.runs import Run

Normalise = Literal["minmax", "zscore", "sum", "none"]

# Reduces the values of each query to one number and repeats it for each row of the query.
_Each = Callable[[np.ufunc, Floats], Floats]


def normalised(run: Run, method: Normalise) -> Floats:
    """(N,) the scores of a run, normalised within each query.

    minmax: (s - min) / (max - min). zscore: (s - mean) / population standard deviation of the
    query's scores. sum: (s - min) / sum of (s - min). none: unchanged. Where all scores of a query
    are equal, the first three give 0.
    """
    scores = run.scores.astype(np.float64)
    return _NORMALISATIONS[method](scores, partial(_each, run))


def _each(run: Run, reduction: np.ufunc, values: Floats) -> Floats:
    counts = np.diff(run.offsets)
    filled = counts > 0
    reduced = reduction.reduceat(values, run.offsets[:-1][filled])
    return np.repeat(reduced, counts[filled])


def _above(scores: Floats, per_query: _Each) -> Floats:
    """Distances from the lowest score, which are exactly 0 where all scores are equal."""
    return scores - per_query(np.minimum, scores)


def _ratio(values: Floats, scale: Floats) -> Floats:
    return np.divide(values, scale, out=np.zeros_like(values), where=scale > 0)


def _minmax(scores: Floats, per_query: _Each) -> Floats:
    above = _above(scores, per_query)
    return _ratio(above, per_query(np.maximum, above))


def _sum(scores: Floats, per_query: _Each) -> Floats:
    above = _above(scores, per_query)
    return _ratio(above, per_query(np.add, above))


def _zscore(scores: Floats, per_query: _Each) -> Floats:
    above, count = _above(scores, per_query), per_query(np.add, np.ones_like(scores))
    off = above - per_query(np.add, above) / count
    return _ratio(off, np.sqrt(per_query(np.add, off**2) / count))


def _none(scores: Floats, per_query: _Each) -> Floats:
    return scores


_NORMALISATIONS: dict[str, Callable[[Floats, _Each], Floats]] = {
    "minmax": _minmax,
    "zscore": _zscore,
    "sum": _sum,
    "none": _none,
}


def check_normalisation(method: Any, names: Sequence[str] = get_args(Normalise)) -> None:
    """Raises InputError where there is no such normalisation."""
    if not isinstance(method, str) or method not in names:
        guess = did_you_mean(method, names) if isinstance(method, str) else ""
        raise InputError(
            f"no normalisation {shown_value(method)}",
            remedy=f"{guess}there are {', '.join(names)}",
        )

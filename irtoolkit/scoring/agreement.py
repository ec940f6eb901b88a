"""Agreement between judges of the same things: correlation, alpha, kappa, equal judgments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Floats

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"]


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns Spearman's rank correlation ρ; NaN if one of the two never varies."""
    from scipy.stats import spearmanr

    if len(set(first)) < 2 or len(set(second)) < 2:
        return float("nan")
    return float(spearmanr(first, second).statistic)


def alpha(raters: Sequence[Sequence[float]], level: Level = "ordinal") -> float:
    """Returns Krippendorff's α of two raters or more; NaN if all judgments are the same.

    Args:
        raters: (R, N) the judgments of each rater, NaN for a missing one.
        level: level of measurement.

    Raises:
        InputError: krippendorff is not installed.
    """
    try:
        import krippendorff
    except ImportError:
        raise needs_extra("krippendorff", "analyse") from None
    table = np.asarray(raters, dtype=np.float64)
    shared = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    if len(np.unique(shared[~np.isnan(shared)])) < 2:
        return float("nan")
    return float(krippendorff.alpha(reliability_data=shared, level_of_measurement=level))


def kappa(
    first: Sequence[float], second: Sequence[float], *, weights: Weights | None = None
) -> float:
    """Returns Cohen's κ of two raters; NaN if both give every judgment the same grade.

    Args:
        first: (N,) judgments.
        second: (N,) judgments.
        weights: weight of a difference of whole grades, linear or quadratic; by default any
            difference counts the same.
    """
    from sklearn.metrics import cohen_kappa_score

    used_labels = {*first, *second}
    if len(used_labels) < 2:
        return float("nan")
    # A grade that nobody gave separates its neighbours, too.
    labels = (
        None if weights is None else np.arange(int(min(used_labels)), int(max(used_labels)) + 1)
    )
    return float(
        cohen_kappa_score(np.asarray(first), np.asarray(second), labels=labels, weights=weights)
    )


def percent_equal(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns the percentage of judgments that are equal."""
    return 100 * float(np.mean(np.asarray(first) == np.asarray(second)))


# Name to statistic of two raters, in the order of CSFCube's Table 2.
STATISTICS: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "ρ": spearman,
    "α": lambda first, second: alpha([first, second]),
    "κ": kappa,
    "%": percent_equal,
}


def agreement(first: Sequence[float], second: Sequence[float]) -> Floats:
    """Returns (4,) ρ, α, κ and the percentage of equal judgments; see `STATISTICS`.

    Raises:
        InputError: the raters have not judged the same number of things, or nothing.
    """
    if not len(first) or len(first) != len(second):
        raise InputError(f"{len(first)} and {len(second)} judgments cannot be compared")
    return np.array([statistic(first, second) for statistic in STATISTICS.values()])


def agreement_with(
    first: Sequence[float], second: Sequence[float], grades: Sequence[float]
) -> Floats:
    """Returns (4,) the mean of each rater's agreement with the adjudicated grades."""
    return (agreement(first, grades) + agreement(second, grades)) / 2


def medians(rows: Sequence[Floats]) -> list[float]:
    """Returns (4,) the median of each statistic over queries.

    One that a query does not have is left out.
    """
    columns = [column[~np.isnan(column)] for column in np.array(rows).T]
    return [float(np.median(column)) if len(column) else float("nan") for column in columns]

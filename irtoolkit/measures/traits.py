"""Traits of a measure, which a caller needs before it compares or averages the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
from ir_measures.measures import Measure
from ir_measures.measures.base import MeanAgg, SumAgg
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats


def _themselves(values: Floats) -> Floats:
    return values


@dataclass(frozen=True)
class Summary:
    """The way from the values of queries to a measure's figure, for intervals and tests.

    Attributes:
        name: the figure in words.
        figures: maps (N, Q) values to the N figures: the same as the measure's aggregator.
        tested: maps (Q,) values to those whose means the figures compare, for example the logarithms
            of a geometric mean: paired tests and Cohen's d are computed from them.
        tests: the names of the paired tests that suit the figure; empty if it does not tell
            which system is better.
        effect: whether Cohen's d, which is of a mean, suits the figure.
        adds: whether the figure of several groups of queries is the sum of theirs.
        instead: the measure to compare by if a test does not suit this one.
    """

    name: str
    figures: Callable[[NDArray[np.float64]], NDArray[Any]]
    tested: Callable[[Floats], Floats] = _themselves
    tests: tuple[str, ...] = ("student", "fisher", "wilcoxon")
    effect: bool = True
    adds: bool = False
    instead: str = ""


MEAN = Summary("mean", lambda values: values.mean(axis=1))
SUM = Summary("sum", lambda values: values.sum(axis=1), adds=True)


@dataclass(frozen=True)
class Traits:
    """Properties of a measure that its name and parameters do not show.

    Attributes:
        lower_is_better: whether a smaller value is a better one, as for a rank.
        whole_pool: whether the measure is only meaningful for a run that lists every candidate of
            the pool, because it takes the listed documents for the pool.
        exact_ranks: whether the measure uses the exact ranks of the relevant documents over all
            candidates, if these are stored beside a run that was cut at some depth.
        summary: the way from the values of queries to the figure, for a measure whose aggregator is
            neither a mean nor a sum.
    """

    lower_is_better: bool = False
    whole_pool: bool = False
    exact_ranks: bool = False
    summary: Summary | None = None


# ir_measures' measures that depend only on the ranks of the relevant documents: with the exact
# ranks stored beside a cut run, their values are those of the whole ranking.
_BY_RANK = Traits(exact_ranks=True)
STANDARD_TRAITS: Mapping[str, Traits] = {
    "AP": _BY_RANK,
    "IPrec": _BY_RANK,
    "P": _BY_RANK,
    "R": _BY_RANK,
    "RBP": _BY_RANK,
    "RR": _BY_RANK,
    "Rprec": _BY_RANK,
    "Success": _BY_RANK,
    "nDCG": _BY_RANK,
}


def traits(measure: Measure | str) -> Traits:
    """Returns the traits of a measure.

    A measure declares them in an attribute or property `traits`; `ColumnarMeasure` has one, and a
    measure of another package only needs to have it too. STANDARD_TRAITS has those of ir_measures'
    own measures. Every other measure has the defaults of `Traits`.

    Args:
        measure: a measure with its parameters, or its name in ir_measures' notation.

    Raises:
        NameError: no measure has this name.
    """
    if isinstance(measure, str):
        measure = ir_measures.parse_measure(measure)
    declared = getattr(measure, "traits", None)
    if isinstance(declared, Traits):
        return declared
    return STANDARD_TRAITS.get(measure.NAME, Traits())


def summary_of(measure: Measure) -> Summary | None:
    """Returns the summary of a measure's values; None if neither traits nor aggregator give one."""
    declared = traits(measure).summary
    if declared is not None:
        return declared
    aggregator = measure.aggregator()
    if isinstance(aggregator, MeanAgg):
        return MEAN
    return SUM if isinstance(aggregator, SumAgg) else None

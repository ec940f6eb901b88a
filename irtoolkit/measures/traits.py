"""Traits of a measure: what a caller must know before it compares or averages the values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import ir_measures
from ir_measures.measures import Measure


@dataclass(frozen=True)
class Traits:
    """Properties of a measure that its name and parameters do not show.

    Attributes:
        lower_is_better: whether a smaller value is a better one, as for a rank.
        whole_pool: whether the measure is only meaningful for a run that lists every candidate of
            the pool, because it takes the listed documents for the pool.
        exact_ranks: whether the measure uses the exact ranks of the relevant documents over all
            candidates, where these are stored beside a run that was cut at some depth.
    """

    lower_is_better: bool = False
    whole_pool: bool = False
    exact_ranks: bool = False


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
    """The traits of a measure.

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

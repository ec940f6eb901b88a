"""The building blocks of measures: relevant rows, counts, shares and running sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from ir_measures import ParamInfo
from ir_measures.measures import Measure
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.measures.judged import JudgedRun, RankedRows, within
from irtoolkit.measures.traits import traits

# The parameter that most measures have.
REL = ParamInfo(dtype=int, default=1, desc="minimum grade that counts as relevant")


def relevant_rows(measure: Measure, judged: JudgedRun) -> RankedRows:
    """Returns the rows with a relevant document, up to the cutoff."""
    rows = judged_rows(measure, judged)
    return rows.where((rows.grades >= lowest(measure)) & (rows.ranks <= cut(measure)))


def judged_rows(measure: Measure, judged: JudgedRun) -> RankedRows:
    """Returns the rows with a judged document, those of the whole ranking if the measure can."""
    return judged.exact if traits(measure).exact_ranks else judged.hits


def number_relevant(measure: Measure, judged: JudgedRun) -> Floats:
    """Returns (Q,) R, the number of relevant documents, retrieved or not."""
    return each(judged.pool_queries[judged.pool_grades >= lowest(measure)], judged)


def lowest(measure: Measure) -> int:
    """Returns the lowest grade that is relevant.

    Raises:
        InputError: it is below 1.
    """
    rel = int(measure["rel"])
    if rel < 1:
        raise InputError(f"measure {measure!r}: every document has grade 0", remedy="rel=1 or more")
    return rel


def cut(measure: Measure) -> float:
    """Returns the rank at which the list is cut, infinite if it is not."""
    return float(measure.params.get("cutoff", np.inf))


def each(queries: Ints, judged: JudgedRun) -> Floats:
    """Returns (Q,) number of occurrences of each query in `queries`."""
    return np.bincount(queries, minlength=len(judged.query_ids)).astype(np.float64)


def share(part: Floats, whole: NDArray[Any]) -> Floats:
    """Returns the part over the whole, 0 if the whole is 0; of the same shape."""
    ratio: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return ratio


def running(offsets: Ints, values: Floats) -> Floats:
    """Returns (N,) sums of the values up to each item in its group; `offsets` delimit the groups.

    Partial sums are added in pairs, so that no group has the rounding of those before it.
    """
    totals, places, step = values.astype(np.float64), within(offsets), 1
    rest = np.flatnonzero(places > step)
    while len(rest):
        totals[rest] = totals[rest] + totals[rest - step]
        step *= 2
        rest = rest[places[rest] > step]
    return totals


def numbers(measure: Measure, parameter: str) -> list[float]:
    """Returns the numbers of a parameter that lists them, as in '0.2,0.5,0.8'.

    Raises:
        InputError: it has something else.
    """
    text = str(measure[parameter])
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"measure {measure!r}: {parameter} has no numbers", remedy="as in '0.2,0.5,0.8'"
        ) from None

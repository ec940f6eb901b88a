"""Geometric means over queries: trec_eval's gm_map and gm_bpref."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from ir_measures import AP, Bpref
from ir_measures.measures import Measure
from ir_measures.measures.base import Agg
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.parts import REL, lowest
from irtoolkit.measures.standard import STANDARD
from irtoolkit.measures.traits import Summary, Traits

# The least value of a query, MIN_GEO_MEAN of trec_eval: a logarithm of 0 would decide all.
LEAST = 0.00001


class _GeometricMean(Agg):  # type: ignore[misc]
    def __init__(self) -> None:
        self._logarithms: list[float] = []

    def add(self, value: float) -> None:
        self._logarithms.append(math.log(max(value, LEAST)))

    def result(self) -> float:
        count = len(self._logarithms)
        return math.exp(math.fsum(self._logarithms) / count) if count else math.nan


def _logarithms(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(values, LEAST))


_SUMMARY = Summary(
    "geometric mean",
    figures=lambda values: np.exp(_logarithms(values).mean(axis=1)),
    tested=_logarithms,
)


class _Geometric(ColumnarMeasure):
    """Base class of geometric means; OF is the measure that a subclass averages."""

    OF: ClassVar[Measure]
    TRAITS = Traits(summary=_SUMMARY)
    SUPPORTED_PARAMS: ClassVar = {
        "rel": REL,
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        compute, _ = STANDARD[self.OF.NAME]
        return compute(self.OF(rel=lowest(self)), judged)

    def aggregator(self) -> Agg:
        return _GeometricMean()


class _GMAP(_Geometric):
    """Geometric mean over queries of the average precision (Robertson 2006; trec_eval's gm_map).

    The value of a query is its AP. A query counts at least 0.00001 in the mean, so that the hardest
    queries weigh most and no single one decides.
    """

    __name__ = "GMAP"
    NAME = __name__
    PRETTY_NAME = "Geometric mean average precision"
    SHORT_DESC = "trec_eval's gm_map"
    TRAITS = Traits(exact_ranks=True, summary=_SUMMARY)
    OF = AP


class _GMBpref(_Geometric):
    """Geometric mean over queries of the binary preference (trec_eval's gm_bpref, m_gm_bpref.c).

    The value of a query is its Bpref (Buckley and Voorhees 2004). A query counts at least 0.00001 in
    the mean, as in `GMAP`.
    """

    __name__ = "GMBpref"
    NAME = __name__
    PRETTY_NAME = "Geometric mean binary preference"
    SHORT_DESC = "trec_eval's gm_bpref"
    OF = Bpref


GMAP = _GMAP()
GMBpref = _GMBpref()

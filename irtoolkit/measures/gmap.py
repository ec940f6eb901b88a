"""Geometric mean of the average precision: trec_eval's gm_map."""

from __future__ import annotations

import math
from typing import ClassVar

from ir_measures import AP, ParamInfo
from ir_measures.measures.base import Agg

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.standard import vectorised
from irtoolkit.measures.traits import Traits

# What a query counts at least, MIN_GEO_MEAN of trec_eval: a logarithm of 0 would decide all.
LEAST = 0.00001


class _GMAP(ColumnarMeasure):
    """Geometric mean over queries of the average precision (Robertson 2006; trec_eval's gm_map).

    The value of a query is its AP. A query counts at least 0.00001 in the mean, so that a system is
    told by its hardest queries and not by a single one.
    """

    __name__ = "GMAP"
    NAME = __name__
    PRETTY_NAME = "Geometric mean average precision"
    SHORT_DESC = "trec_eval's gm_map"
    TRAITS = Traits(exact_ranks=True)
    SUPPORTED_PARAMS: ClassVar = {
        "rel": ParamInfo(dtype=int, default=1, desc="minimum grade that counts as relevant"),
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        compute = vectorised(AP(rel=self["rel"]))
        if compute is None:
            raise InputError(
                f"measure {self!r}: every document has grade 0", remedy="rel=1 or more"
            )
        return compute(judged)

    def aggregator(self) -> Agg:
        return _GeometricMean()


class _GeometricMean(Agg):  # type: ignore[misc]
    def __init__(self) -> None:
        self._logarithms: list[float] = []

    def add(self, value: float) -> None:
        self._logarithms.append(math.log(max(value, LEAST)))

    def result(self) -> float:
        count = len(self._logarithms)
        return math.exp(math.fsum(self._logarithms) / count) if count else math.nan


GMAP = _GMAP()

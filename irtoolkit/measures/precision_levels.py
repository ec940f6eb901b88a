"""Precision at levels that depend on R: trec_eval's 11pt_avg and Rprec_mult."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np
from ir_measures import IPrec, ParamInfo

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.parts import (
    REL,
    each,
    lowest,
    number_relevant,
    numbers,
    relevant_rows,
    share,
)
from irtoolkit.measures.standard import STANDARD
from irtoolkit.measures.traits import Traits


class _IPrecAvg(ColumnarMeasure):
    """Mean of the interpolated precision at 11 levels of recall (trec_eval's 11pt_avg, m_11pt_avg.c).

    The interpolated precision at a recall is the best precision from the document on that reaches
    it. A recall of x is reached with ⌊x·R + 0.9⌋ relevant documents, as in trec_eval 9; version 10
    rounds x·R. It is the mean of `IPrec` at these levels.

    Raises:
        InputError: a level that is not between 0 and 1, or rel below 1.
    """

    __name__ = "IPrecAvg"
    NAME = __name__
    PRETTY_NAME = "Mean interpolated precision"
    SHORT_DESC = "trec_eval's 11pt_avg"
    TRAITS = Traits(exact_ranks=True)
    SUPPORTED_PARAMS: ClassVar = {
        "recalls": ParamInfo(
            dtype=str, default="0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1", desc="levels of recall"
        ),
        "rel": REL,
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        recalls = numbers(self, "recalls")
        if not all(0 <= recall <= 1 for recall in recalls):
            raise InputError(f"measure {self!r}: a recall is not between 0 and 1")
        compute, _ = STANDARD["IPrec"]
        precision = IPrec(rel=lowest(self))
        values: Floats = np.array([compute(precision @ recall, judged) for recall in recalls])
        mean: Floats = values.mean(axis=0)
        return mean


class _RprecMult(ColumnarMeasure):
    """Precision at a multiple of R, the number of relevant documents (m_Rprec_mult.c).

    A multiple x is the rank ⌊x·R + 0.9⌋. A list that ends above it has no relevant document from
    there on. trec_eval's Rprec_mult has the multiples 0.2, 0.4, ..., 2.0. `RprecMult@1.0` is Rprec. A
    query without a relevant document scores 0.

    Raises:
        InputError: a multiple that is not above 0, or rel below 1.
    """

    __name__ = "RprecMult"
    NAME = __name__
    PRETTY_NAME = "Precision at a multiple of R"
    SHORT_DESC = "trec_eval's Rprec_mult"
    AT_PARAM = "multiple"
    TRAITS = Traits(exact_ranks=True)
    SUPPORTED_PARAMS: ClassVar = {
        "multiple": ParamInfo(dtype=Real, required=True, desc="rank of the cut, over R"),
        "rel": REL,
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        if not 0 < self["multiple"] < np.inf:
            raise InputError(f"measure {self!r}: its multiple is not above 0")
        last = np.floor(self["multiple"] * number_relevant(self, judged) + 0.9)
        rows = relevant_rows(self, judged)
        return share(each(rows.queries[rows.ranks <= last[rows.queries]], judged), last)


IPrecAvg = _IPrecAvg()
RprecMult = _RprecMult()

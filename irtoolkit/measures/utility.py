"""Counts of a list as a set: trec_eval's utility and num_nonrel_judged_ret."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from ir_measures import ParamInfo
from ir_measures.measures.base import Agg, SumAgg

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.parts import REL, each, lowest, number_relevant, numbers, relevant_rows
from irtoolkit.measures.traits import Traits


class _Utility(ColumnarMeasure):
    """Weighted sum of how many documents are retrieved or not, relevant or not (m_utility.c).

    The four weights are those of relevant documents that are listed, of others that are listed, of
    relevant documents that are missed, and of all others in the collection. A document without a
    judgment is not relevant. By default it is the number of relevant documents listed minus that of
    the others. A query that the run lacks scores 0, whatever it misses, as by trec_eval -c.

    Raises:
        InputError: other than four weights, a fourth weight without a number of documents, or rel
            below 1.
    """

    __name__ = "Utility"
    NAME = __name__
    PRETTY_NAME = "Set utility"
    SHORT_DESC = "trec_eval's utility"
    SUPPORTED_PARAMS: ClassVar = {
        "weights": ParamInfo(
            dtype=str,
            default="1,-1,0,0",
            desc="weights of relevant and of other documents listed, and of those not listed",
        ),
        "docs": ParamInfo(dtype=int, default=0, desc="number of documents in the collection"),
        "rel": REL,
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        weights = numbers(self, "weights")
        if len(weights) != 4:
            raise InputError(f"measure {self!r} has {len(weights)} weights", remedy="give four")
        if weights[3] and self["docs"] < 1:
            raise InputError(
                f"measure {self!r}: documents that are neither relevant nor listed are not counted",
                remedy="say how many the collection has: docs=1000",
            )
        listed, relevant_total = judged.counts, number_relevant(self, judged)
        relevant = each(relevant_rows(self, judged).queries, judged)
        counts = (
            relevant,
            listed - relevant,
            relevant_total - relevant,
            self["docs"] + relevant - listed - relevant_total,
        )
        total: Floats = np.sum(
            [w * count for w, count in zip(weights, counts, strict=True)], axis=0
        )
        return np.where(listed > 0, total, 0.0)


class _NumNonrelJudgedRet(ColumnarMeasure):
    """Number of listed documents that are judged not relevant (m_num_nonrel_judged_ret.c).

    Their grades are from 0 to below rel. A document with a negative grade or without a judgment does
    not count. The figure is the sum over the queries.
    """

    __name__ = "NumNonrelJudgedRet"
    NAME = __name__
    PRETTY_NAME = "Number of documents listed that are judged not relevant"
    SHORT_DESC = "trec_eval's num_nonrel_judged_ret"
    TRAITS = Traits(lower_is_better=True)
    SUPPORTED_PARAMS: ClassVar = {
        "rel": REL,
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        grades = judged.hits.grades
        return each(judged.hits.queries[(grades >= 0) & (grades < lowest(self))], judged)

    def aggregator(self) -> Agg:
        return SumAgg()


Utility = _Utility()
NumNonrelJudgedRet = _NumNonrelJudgedRet()

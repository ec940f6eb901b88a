"""Capped recall: PlotRetrieval's Recall@k."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.base.ids import Floats
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.parts import REL, each, share
from irtoolkit.measures.traits import Traits


class _RCap(ColumnarMeasure):
    """Recall at k with a denominator of at most k (BEIR, Thakur et al. 2021).

    It is the number of relevant documents among the first k over min(k, number of relevant
    documents). This is PlotRetrieval's "Recall", which is not R@k: its queries have several
    relevant chunks, and still Recall@1 equals MRR@1 in every row of Table 3, and Recall@10 is
    sometimes below MRR@10.

    A query without a relevant document scores 0.
    """

    __name__ = "RCap"
    NAME = __name__
    PRETTY_NAME = "Capped recall"
    SHORT_DESC = "BEIR's capped recall, PlotRetrieval's Recall"
    TRAITS = Traits(exact_ranks=True)
    SUPPORTED_PARAMS: ClassVar = {
        "cutoff": ParamInfo(dtype=int, required=True, desc="rank at which the list is cut"),
        "rel": REL,
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        cutoff = self.params["cutoff"]
        relevant = each(judged.pool_queries[judged.pool_grades >= self["rel"]], judged)
        rows = judged.exact
        rows = rows.where((rows.grades >= self["rel"]) & (rows.ranks <= cutoff))
        return share(each(rows.queries, judged), np.minimum(relevant, cutoff))


RCap = _RCap()

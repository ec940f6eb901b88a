"""Capped recall: PlotRetrieval's Recall@k."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import Floats, JudgedRun, sums
from irtoolkit.measures.traits import Traits


class _RCap(ColumnarMeasure):
    """Recall at k whose denominator is no more than k (BEIR, Thakur et al. 2021).

    Relevant documents among the first k over min(k, number of relevant documents). PlotRetrieval's
    "Recall" is this and not R@k: a query there has several relevant chunks, and yet its Recall@1
    equals its MRR@1 in every row of Table 3, and its Recall@10 may be below its MRR@10.

    A query without a relevant document scores 0.
    """

    __name__ = "RCap"
    NAME = __name__
    PRETTY_NAME = "Capped recall"
    SHORT_DESC = "BEIR's capped recall, PlotRetrieval's Recall"
    TRAITS = Traits(exact_ranks=True)
    SUPPORTED_PARAMS: ClassVar = {
        "cutoff": ParamInfo(dtype=int, required=True, desc="ranking cutoff threshold"),
        "rel": ParamInfo(dtype=int, default=1, desc="minimum grade that counts as relevant"),
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        cutoff = self.params["cutoff"]
        relevant = judged.pool_grades >= self["rel"]
        known = sums(judged.pool_queries, relevant.astype(np.float64), len(judged.query_ids))
        rows = judged.exact
        rows = rows.where((rows.grades >= self["rel"]) & (rows.ranks <= cutoff))
        found = sums(rows.queries, np.ones(len(rows.queries)), len(judged.query_ids))
        best: Floats = np.minimum(known, cutoff)
        return np.divide(found, best, out=np.zeros_like(found), where=best > 0)


RCap = _RCap()

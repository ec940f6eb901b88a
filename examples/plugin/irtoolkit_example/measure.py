"""A measure: the share of relevant documents in the first half of the list."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.base.ids import Floats
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun, sums


class _FirstHalf(ColumnarMeasure):
    """The relevant documents in the first half of the listed documents, over all relevant ones."""

    __name__ = "FirstHalf"
    NAME = __name__
    PRETTY_NAME = "Recall in the first half"
    SHORT_DESC = "share of the relevant documents that the first half of the list holds"
    SUPPORTED_PARAMS: ClassVar = {
        "rel": ParamInfo(dtype=int, default=1, desc="minimum grade that counts as relevant"),
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        count = len(judged.query_ids)
        relevant = judged.pool_grades >= self["rel"]
        known = sums(judged.pool_queries, relevant.astype(np.float64), count)
        hits = judged.hits.where(judged.hits.grades >= self["rel"])
        listed = np.diff(judged.offsets)
        early = hits.where(hits.ranks <= listed[hits.queries] / 2)
        found = sums(early.queries, np.ones(len(early.queries)), count)
        return np.divide(found, known, out=np.zeros_like(found), where=known > 0)


FirstHalf = _FirstHalf()

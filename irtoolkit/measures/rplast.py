"""Precision at the last relevant document: CSFCube's published "R-Precision"."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.base.ids import Floats
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.parts import each, share
from irtoolkit.measures.traits import Traits


class _RPlast(ColumnarMeasure):
    """Precision at the rank of the last relevant document that the run lists.

    CSFCube's scorer computes it, and Tables 3 and 4 of the paper print it as R-Precision (RP). It is
    not trec_eval's Rprec, the precision at rank R with R the number of relevant documents: one
    relevant document at the bottom of the list lowers RPlast to the share of relevant documents in
    the pool. A query scores 0 if the run lists no relevant document.
    """

    __name__ = "RPlast"
    NAME = __name__
    PRETTY_NAME = "Precision at the last relevant document"
    SHORT_DESC = 'CSFCube\'s "R-Precision"'
    ALWAYS_SHOWN = ("rel",)
    TRAITS = Traits(whole_pool=True)
    SUPPORTED_PARAMS: ClassVar = {
        "rel": ParamInfo(dtype=int, default=2, desc="minimum grade that counts as relevant"),
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        relevant = judged.grades >= self["rel"]
        last = np.zeros(len(judged.query_ids), dtype=np.int64)
        np.maximum.at(last, judged.queries[relevant], judged.ranks[relevant])
        return share(each(judged.queries[relevant], judged), last)


RPlast = _RPlast()

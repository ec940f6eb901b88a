"""Recall over the relevant documents that a run lists: CSFCube's published recall."""

from __future__ import annotations

from typing import ClassVar

from ir_measures import ParamInfo

from irtoolkit.base.ids import Floats
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.parts import each, share
from irtoolkit.measures.traits import Traits


class _RListed(ColumnarMeasure):
    """Relevant documents among the first k, over all relevant documents that the run lists.

    CSFCube's scorer computes it, and Tables 3 and 4 of the paper print it as R@20. Its denominator
    is not that of ir_measures' R, which counts the relevant documents that are judged: a document
    that the run omits does not lower RListed. The two agree for a run that lists the whole pool. A
    query scores 0 if the run lists no relevant document.
    """

    __name__ = "RListed"
    NAME = __name__
    PRETTY_NAME = "Recall over the relevant documents listed"
    SHORT_DESC = "CSFCube's R@20"
    ALWAYS_SHOWN = ("rel",)
    TRAITS = Traits(whole_pool=True)
    SUPPORTED_PARAMS: ClassVar = {
        "cutoff": ParamInfo(dtype=int, required=True, desc="rank at which the list is cut"),
        "rel": ParamInfo(dtype=int, default=2, desc="minimum grade that counts as relevant"),
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        relevant = judged.grades >= self["rel"]
        first = relevant & (judged.ranks <= self.params["cutoff"])
        return share(each(judged.queries[first], judged), each(judged.queries[relevant], judged))


RListed = _RListed()

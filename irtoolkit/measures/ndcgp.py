"""NDCG at a percentage of the ranked list: CSFCube's NDCG%20 and NDCG%100."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.base.ids import Ints, offsets_of
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import Floats, JudgedRun, Rows, sums, within
from irtoolkit.measures.traits import Traits


class _NDCGp(ColumnarMeasure):
    """Normalised discounted cumulative gain over the first p percent of a list.

    Defined as CSFCube's official scorer does (Mysore et al. 2021, §5 and Appendix F): the gain is
    the grade; ranks 1 and 2 are not discounted and rank i > 2 is divided by log2(i), which is
    Järvelin and Kekäläinen's first form and not trec_eval's; the cut is ⌊p/100 · n⌋; the ideal is
    the best order of the same n documents.

    `pool` says which n documents. "run", the official scorer's choice, takes the documents that
    the run lists, so a run must list the whole pool to mean anything: a shallower one is
    measured against a worse ideal. "qrels" takes the judged documents, as an ad hoc task would
    want; the two agree for every run that ranks exactly the judged pool.

    A list so short that the cut is 0 scores 0, as does a query with no positive grade.
    """

    __name__ = "nDCGp"
    NAME = __name__
    PRETTY_NAME = "nDCG at a percentage of the list"
    SHORT_DESC = "CSFCube's NDCG%p"
    ALWAYS_SHOWN = ("p",)
    SUPPORTED_PARAMS: ClassVar = {
        "p": ParamInfo(dtype=int, default=20, choices=range(1, 101), desc="percentage of the list"),
        "pool": ParamInfo(
            dtype=str,
            default="run",
            choices=["run", "qrels"],
            desc="the list that gives cut and ideal: what the run lists, or what is judged",
        ),
    }

    @property
    def traits(self) -> Traits:
        return Traits(whole_pool=self["pool"] == "run")

    def per_query(self, judged: JudgedRun) -> Floats:
        # A grade below zero gains nothing, as zero does.
        rows = judged.hits.where(judged.hits.grades > 0)
        if self["pool"] == "run":
            sizes = judged.counts
            order = np.lexsort((-rows.grades, rows.queries))
            places = within(offsets_of(rows.queries, len(sizes)))
            ideal = Rows(rows.queries, places, rows.grades[order])
        else:
            sizes = np.diff(judged.pool_offsets)
            ideal = Rows(*judged.pool).where(judged.pool[2] > 0)
        cuts = sizes * self["p"] // 100
        dcg, best = _dcg(rows, cuts), _dcg(ideal, cuts)
        return np.divide(dcg, best, out=np.zeros_like(dcg), where=best > 0)


def _dcg(rows: Rows, cuts: Ints) -> Floats:
    """(Q,) sums of grade over discount within each query's cut."""
    rows = rows.where(rows.ranks <= cuts[rows.queries])
    return sums(rows.queries, rows.grades / np.log2(np.maximum(rows.ranks, 2)), len(cuts))


nDCGp = _NDCGp()

"""NDCG at a percentage of the ranked list: CSFCube's NDCG%20 and NDCG%100."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.base.ids import Floats, Ints, offsets_of
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun, RankedRows, sums, within
from irtoolkit.measures.parts import share
from irtoolkit.measures.traits import Traits


class _NDCGp(ColumnarMeasure):
    """Normalised discounted cumulative gain over the first p percent of a list.

    The definition is that of CSFCube's official scorer (Mysore et al. 2021, §5 and Appendix F). The
    gain is the grade. Ranks 1 and 2 are not discounted and rank i > 2 is divided by log2(i), as in
    Järvelin and Kekäläinen's first form, unlike in trec_eval. The cutoff is ⌊p/100 · n⌋. The ideal
    is the best order of the same n documents.

    `pool` selects the n documents. "run", as in the official scorer, takes the documents that the
    run lists; the run must then list the whole candidate pool, because a shallower run is compared
    with a worse ideal. "qrels" takes the judged documents, as in ad hoc retrieval. The two agree
    for every run that ranks exactly the judged documents.

    A query scores 0 if its list is so short that the cutoff is 0, or if it has no positive grade.
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
            desc="documents that cutoff and ideal are computed from: those listed, or those judged",
        ),
    }

    @property
    def traits(self) -> Traits:
        return Traits(whole_pool=self["pool"] == "run")

    def per_query(self, judged: JudgedRun) -> Floats:
        # A negative grade has no gain, like grade 0.
        rows = judged.hits.where(judged.hits.grades > 0)
        if self["pool"] == "run":
            sizes = judged.counts
            order = np.lexsort((-rows.grades, rows.queries))
            places = within(offsets_of(rows.queries, len(sizes)))
            ideal = RankedRows(rows.queries, places, rows.grades[order])
        else:
            sizes = np.diff(judged.pool_offsets)
            ideal = judged.pool.where(judged.pool.grades > 0)
        cuts = sizes * self["p"] // 100
        return share(_dcg(rows, cuts), _dcg(ideal, cuts))


def _dcg(rows: RankedRows, cuts: Ints) -> Floats:
    """Returns (Q,) sums of grade over discount, up to the cutoff of each query."""
    rows = rows.where(rows.ranks <= cuts[rows.queries])
    return sums(rows.queries, rows.grades / np.log2(np.maximum(rows.ranks, 2)), len(cuts))


nDCGp = _NDCGp()

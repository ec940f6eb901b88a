"""nDCG averaged over ranks that the judgments give: trec_eval's ndcg_rel and Rndcg."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from irtoolkit.base.ids import Floats
from irtoolkit.measures.gain import GainMeasure
from irtoolkit.measures.judged import JudgedRun, sums
from irtoolkit.measures.parts import REL, number_relevant, share
from irtoolkit.measures.traits import Traits


class _NDCGrel(GainMeasure):
    """nDCG averaged over the documents with a gain (trec_eval's ndcg_rel, m_ndcg_rel.c).

    The nDCG of a document is that at its rank: the DCG of the run (Järvelin and Kekäläinen 2002,
    with the discount log2(rank + 1)) over that of the ideal order. A document that the run does not
    list has the DCG of the whole list, over the DCG of all judged documents. A query without a gain
    scores 0, and so does one whose sum is negative, which negative gains may cause.

    Raises:
        InputError: gains that are not numbers of grades from 0 on.
    """

    __name__ = "nDCGrel"
    NAME = __name__
    PRETTY_NAME = "nDCG averaged over the relevant documents"
    SHORT_DESC = "trec_eval's ndcg_rel"

    def per_query(self, judged: JudgedRun) -> Floats:
        discounted, ideal = self.listed_gains(judged).discounted, self.ideal(judged).discounted
        count = len(judged.query_ids)
        best = ideal.running.up_to(discounted.queries, discounted.ranks)
        hits = discounted.values > 0
        points = sums(discounted.queries[hits], share(discounted.running.values, best)[hits], count)
        missed = np.diff(ideal.offsets) - np.bincount(discounted.queries[hits], minlength=count)
        points += missed * share(discounted.totals, ideal.totals)
        return share(np.maximum(points, 0), np.diff(ideal.offsets))


class _RnDCG(GainMeasure):
    """nDCG averaged over the ranks at which the ideal gain falls (trec_eval's Rndcg, m_Rndcg.c).

    If 5 documents have the grade 3, 3 the grade 2 and 10 the grade 1, the ranks are 5, 8 and 18. The
    end of the list is one more if it is below the rank that follows them, here 19. The nDCG is that
    of Järvelin and Kekäläinen (2002) with the discount log2(rank + 1). A query without a relevant
    document or without a gain scores 0; it is all that rel decides.

    Raises:
        InputError: gains that are not numbers of grades from 0 on, or rel below 1.
    """

    __name__ = "RnDCG"
    NAME = __name__
    PRETTY_NAME = "nDCG averaged over the levels of R"
    SHORT_DESC = "trec_eval's Rndcg"
    SUPPORTED_PARAMS: ClassVar = GainMeasure.SUPPORTED_PARAMS | {"rel": REL}

    @property
    def traits(self) -> Traits:
        # The end of the list is one of the ranks.
        return Traits()

    def per_query(self, judged: JudgedRun) -> Floats:
        discounted, gains = self.listed_gains(judged).discounted, self.ideal(judged)
        ideal = gains.discounted
        count, sizes = len(judged.query_ids), np.diff(gains.offsets)
        last = np.ones(len(gains.values), dtype=bool)
        last[:-1] = (np.diff(gains.values) != 0) | (np.diff(gains.queries) != 0)
        queries, ranks = gains.queries[last], gains.ranks[last]
        ratios = discounted.running.up_to(queries, ranks) / ideal.running.values[last]
        ends = judged.counts > sizes + 1
        points = sums(queries, ratios, count) + ends * share(discounted.totals, ideal.totals)
        value = share(points, np.bincount(queries, minlength=count) + ends)
        return np.where(number_relevant(self, judged) > 0, value, 0.0)


nDCGrel = _NDCGrel()
RnDCG = _RnDCG()

"""N-RODCG: gain for passages that stand near the gold in the book (PlotRetrieval §3.3)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.base.ids import Ints, offsets_of
from irtoolkit.base.spans import positions
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import Floats, JudgedRun, look_up, sums, within


class _NRODCG(ColumnarMeasure):
    """Normalised relative-offset-distance discounted cumulative gain (Eq. 1-4).

    A passage's position is the mean index of its sentences; d is its distance to the nearest
    passage of the same book with grade ≥ rel, infinite in another book. Its gain is 1/(d+1) for
    d < window, else 0, and rank i divides it by log2(i+1). The ideal is the best order of every
    document known for the query: those judged (at any grade) and those of the run. A collection
    whose qrels list each candidate within the window of a gold passage, with grade 0 where it is
    none, so has the theoretical maximum for its ideal, whatever the depth of the run.

    A query without a relevant passage scores 0.

    Raises:
        InputError: a document id that is no span; see `irtoolkit.base.spans`.
    """

    __name__ = "NRODCG"
    NAME = __name__
    PRETTY_NAME = "Normalised relative offset distance DCG"
    SHORT_DESC = "PlotRetrieval's N-RODCG"
    SUPPORTED_PARAMS: ClassVar = {
        "cutoff": ParamInfo(dtype=int, required=False, desc="ranking cutoff threshold"),
        "window": ParamInfo(
            dtype=int, default=5, desc="distance from which a passage gains nothing"
        ),
        "rel": ParamInfo(dtype=int, default=1, desc="minimum grade that counts as relevant"),
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        count = len(judged.query_ids)
        gold = judged.pool_grades >= self["rel"]
        near = _near(
            judged.pool_queries[gold],
            judged.pool_docs[gold],
            *positions(judged.doc_ids),
            self["window"],
        )
        width = len(judged.doc_ids)
        listed = look_up(
            judged.offsets, judged.docs, offsets_of(near.queries, count), near.docs, width
        )
        at = np.flatnonzero(listed >= 0)
        queries, ranks, _ = judged.rows(at)
        found = listed[at]
        cutoff = self.params.get("cutoff", np.inf)
        dcg = _dcg(queries, ranks, near.gains[found], cutoff, count)

        # What the ideal may order: the judged and the listed.
        known = np.isin(
            near.queries * width + near.docs, judged.pool_queries * width + judged.pool_docs
        )
        known[found] = True
        queries, gains = near.queries[known], near.gains[known]
        gains = gains[np.lexsort((-gains, queries))]
        best = _dcg(queries, within(offsets_of(queries, count)), gains, cutoff, count)
        return np.divide(dcg, best, out=np.zeros(count), where=best > 0)


def _dcg(queries: Ints, ranks: Ints, gains: Floats, cutoff: float, count: int) -> Floats:
    return sums(queries, gains / np.log2(ranks + 1) * (ranks <= cutoff), count)


class _Near(NamedTuple):
    """The documents that gain something for a query, by query; the arrays are parallel."""

    queries: Ints
    docs: Ints
    gains: Floats


def _near(queries: Ints, golds: Ints, book: Ints, middle: Ints, window: int) -> _Near:
    """Every document within the window of a gold passage: few, whatever the depth of a run.

    Args:
        queries, golds: (G,) the gold passages.
        book, middle: (D,) where each document stands, middles doubled; see `positions`.
        window: the distance from which a document gains nothing.
    """
    last = int(middle.max(initial=0)) + 1
    reach = max(0, min(2 * window, last))
    # One key for book and position, in which another book is out of reach.
    keys = book * (last + reach) + middle
    order = np.argsort(keys)
    first = np.searchsorted(keys[order], keys[golds] - reach, side="right")
    sizes = np.searchsorted(keys[order], keys[golds] + reach, side="left") - first
    sizes = np.maximum(sizes, 0)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    docs = order[np.repeat(first, sizes) + within(offsets) - 1]
    queries = np.repeat(queries, sizes)
    gains = 1 / (np.abs(middle[docs] - np.repeat(middle[golds], sizes)) / 2 + 1)
    # Of several golds the nearest counts.
    best = np.lexsort((-gains, docs, queries))
    queries, docs, gains = queries[best], docs[best], gains[best]
    new = np.ones(len(docs), dtype=bool)
    new[1:] = (queries[1:] != queries[:-1]) | (docs[1:] != docs[:-1])
    return _Near(queries[new], docs[new], gains[new])


NRODCG = _NRODCG()

"""N-RODCG: gain for passages that stand near the gold in the book (PlotRetrieval §3.3)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.ids import Ints, offsets_of
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import Floats, JudgedRun, sums, within
from irtoolkit.spans import positions


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
        InputError: a document id that is no span; see `irtoolkit.spans`.
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
        book, middle = positions(judged.doc_ids)
        gold = judged.pool_grades >= self["rel"]
        nearest = _Nearest(judged.pool_queries[gold], judged.pool_docs[gold], book, middle)
        rows = nearest.gains(judged.queries, judged.docs, self["window"])
        cutoff = self.params.get("cutoff", len(rows) + len(judged.pool_docs) + 1)

        # What the ideal may order: the judged, then the rows that are not among them.
        width = len(judged.doc_ids)
        pairs = judged.pool_queries * width + judged.pool_docs
        extra = ~np.isin(judged.queries * width + judged.docs, pairs)
        pool = nearest.gains(judged.pool_queries, judged.pool_docs, self["window"])
        queries = np.concatenate([judged.pool_queries, judged.queries[extra]])
        gains = np.concatenate([pool, rows[extra]])
        order = np.lexsort((-gains, queries))
        queries, gains = queries[order], gains[order]
        best = _dcg(queries, within(offsets_of(queries, count)), gains, cutoff, count)
        dcg = _dcg(judged.queries, judged.ranks, rows, cutoff, count)
        return np.divide(dcg, best, out=np.zeros(count), where=best > 0)


def _dcg(queries: Ints, ranks: Ints, gains: Floats, cutoff: int, count: int) -> Floats:
    return sums(queries, gains / np.log2(ranks + 1) * (ranks <= cutoff), count)


class _Nearest:
    """Looks up the nearest gold passage in the same book for the same query.

    Golds are sorted by one key that orders them by query, book and position; the nearest of a
    passage is then a neighbour of the place its own key would take.
    """

    def __init__(self, queries: Ints, docs: Ints, book: Ints, middle: Ints) -> None:
        self._book, self._middle = book, middle
        self._books = int(book.max(initial=0)) + 1
        # Wide enough that a step to another book or query is further than any distance in one.
        self._width = 2 * int(middle.max(initial=0)) + 2
        self._golds = np.sort(self._keys(queries, docs))

    def _keys(self, queries: Ints, docs: Ints) -> Ints:
        return (queries * self._books + self._book[docs]) * self._width + self._middle[docs]

    def gains(self, queries: Ints, docs: Ints, window: int) -> Floats:
        """The gain 1/(d+1) of each (query, document), 0 from the window on."""
        if not len(self._golds):
            return np.zeros(len(queries))
        keys = self._keys(queries, docs)
        after = np.minimum(np.searchsorted(self._golds, keys), len(self._golds) - 1)
        before = np.maximum(after - 1, 0)
        doubled = np.minimum(np.abs(self._golds[after] - keys), np.abs(self._golds[before] - keys))
        same = doubled <= self._width // 2
        distance = np.where(same, doubled / 2, np.inf)
        return np.where(distance < window, 1 / (distance + 1), 0.0)


NRODCG = _NRODCG()

"""N-RODCG: gain for passages close to a relevant one in the book (PlotRetrieval §3.3)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.base.ids import Floats, Ints, offsets_of
from irtoolkit.base.spans import positions
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun, look_up, sums, within
from irtoolkit.measures.parts import REL, share


class _NRODCG(ColumnarMeasure):
    """Normalised relative-offset-distance discounted cumulative gain (Eq. 1-4).

    The position of a passage is the mean index of its sentences, and d is its distance to the
    nearest passage of the same book with grade ≥ rel; it is infinite in another book. The gain is
    1/(d+1) if d < window and otherwise 0, and is divided by log2(i+1) at rank i. The ideal is the
    best order of all documents known for the query: those judged (at any grade) and those of the
    run. If the judgments list every candidate within the window of a relevant passage, with grade 0
    if it is not relevant, the ideal is the theoretical maximum, whatever the depth of the run.

    A query without a relevant passage scores 0.

    Raises:
        InputError: a document id is not a span; see `irtoolkit.base.spans`.
    """

    __name__ = "NRODCG"
    NAME = __name__
    PRETTY_NAME = "Normalised relative offset distance DCG"
    SHORT_DESC = "PlotRetrieval's N-RODCG"
    SUPPORTED_PARAMS: ClassVar = {
        "cutoff": ParamInfo(dtype=int, required=False, desc="rank at which the list is cut"),
        "window": ParamInfo(
            dtype=int, default=5, desc="distance from which on a passage has no gain"
        ),
        "rel": REL,
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
        rows = np.flatnonzero(listed >= 0)
        queries, ranks, _ = judged.rows(rows)
        grades = listed[rows]
        cutoff = self.params.get("cutoff", np.inf)
        dcg = _dcg(queries, ranks, near.gains[grades], cutoff, count)

        # The ideal orders the judged and the listed documents.
        judged_pools = np.isin(
            near.queries * width + near.docs, judged.pool_queries * width + judged.pool_docs
        )
        judged_pools[grades] = True
        queries, gains = near.queries[judged_pools], near.gains[judged_pools]
        gains = gains[np.lexsort((-gains, queries))]
        best = _dcg(queries, within(offsets_of(queries, count)), gains, cutoff, count)
        return share(dcg, best)


def _dcg(queries: Ints, ranks: Ints, gains: Floats, cutoff: float, count: int) -> Floats:
    return sums(queries, gains / np.log2(ranks + 1) * (ranks <= cutoff), count)


class _Near(NamedTuple):
    """The documents with a gain, ordered by query; the arrays are parallel."""

    queries: Ints
    docs: Ints
    gains: Floats


def _near(queries: Ints, golds: Ints, book: Ints, middle: Ints, window: int) -> _Near:
    """Returns the documents within the window of a relevant passage.

    Args:
        queries, golds: (G,) queries and relevant passages.
        book, middle: (D,) book of each document and its position, doubled; see `positions`.
        window: distance from which on a document has no gain.
    """
    last = int(middle.max(initial=0)) + 1
    reach = max(0, min(2 * window, last))
    # One key for book and position; keys of different books are out of each other's reach.
    keys = book * (last + reach) + middle
    order = np.argsort(keys)
    first = np.searchsorted(keys[order], keys[golds] - reach, side="right")
    sizes = np.searchsorted(keys[order], keys[golds] + reach, side="left") - first
    sizes = np.maximum(sizes, 0)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    docs = order[np.repeat(first, sizes) + within(offsets) - 1]
    queries = np.repeat(queries, sizes)
    gains = 1 / (np.abs(middle[docs] - np.repeat(middle[golds], sizes)) / 2 + 1)
    # The nearest of several relevant passages counts.
    best = np.lexsort((-gains, docs, queries))
    queries, docs, gains = queries[best], docs[best], gains[best]
    new = np.ones(len(docs), dtype=bool)
    new[1:] = (queries[1:] != queries[:-1]) | (docs[1:] != docs[:-1])
    return _Near(queries[new], docs[new], gains[new])


NRODCG = _NRODCG()

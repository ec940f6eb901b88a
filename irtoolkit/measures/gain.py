"""Gains of graded documents, and the measures of gain: trec_eval's G and binG."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
from ir_measures import ParamInfo

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Grades, Ints, offsets_of
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun, sums, within
from irtoolkit.measures.parts import (
    REL,
    judged_rows,
    number_relevant,
    relevant_rows,
    running,
    share,
)
from irtoolkit.measures.traits import Traits


class Gains(NamedTuple):
    """Gains of documents, ordered by query and rank; the arrays are parallel.

    Attributes:
        offsets: (Q+1,) offsets of the documents of each query.
        queries: index of each document's query.
        ranks: rank of each document within its query, from 1.
        values: gain of each document.
    """

    offsets: Ints
    queries: Ints
    ranks: Ints
    values: Floats

    @property
    def totals(self) -> Floats:
        """(Q,) sum of the gains of each query."""
        return sums(self.queries, self.values, len(self.offsets) - 1)

    @property
    def discounted(self) -> Gains:
        """Each gain over log2(rank + 1)."""
        return self._replace(values=self.values / np.log2(self.ranks + 1))

    @property
    def running(self) -> Gains:
        """The sum of the gains up to each document."""
        return self._replace(values=running(self.offsets, self.values))

    def up_to(self, queries: Ints, ranks: Ints) -> Floats:
        """Returns the value of a query's last document up to a rank, and 0 above the first one.

        Args:
            queries, ranks: (N,) indices of queries, and ranks in them.
        """
        if not len(self.values):
            return np.zeros(len(queries))
        width = max(self.ranks.max(), ranks.max(initial=0)) + 1
        keys = self.queries * width + self.ranks
        index = np.searchsorted(keys, queries * width + ranks, side="right") - 1
        return np.where(index < self.offsets[queries], 0.0, self.values[index])


class GainMeasure(ColumnarMeasure):
    """Base class of measures of graded relevance, in which a document has the gain of its grade.

    The gain is the grade, unless `gains` has another one for it. A document without a judgment or
    with a negative grade has no gain. Gains may be 0 or negative; the ideal is the judged documents
    whose gain is above 0, by descending gain.
    """

    SUPPORTED_PARAMS: ClassVar = {
        "gains": ParamInfo(
            dtype=dict,
            default={},
            desc="gains of grades for which it is not the grade: {1: 3.5, 2: 9}",
        ),
    }

    @property
    def traits(self) -> Traits:
        # The exact ranks of documents of grade 0 are not known.
        return Traits(exact_ranks=not self["gains"].get(0))

    def listed_gains(self, judged: JudgedRun) -> Gains:
        """Returns the documents of the run whose gain is not 0."""
        rows = judged_rows(self, judged)
        values = self._of(rows.grades)
        gaining = np.flatnonzero(values)
        queries = rows.queries[gaining]
        offsets = offsets_of(queries, len(judged.query_ids))
        return Gains(offsets, queries, rows.ranks[gaining], values[gaining])

    def ideal(self, judged: JudgedRun) -> Gains:
        """Returns the judged documents whose gain is above 0, in the ideal order."""
        values = self._of(judged.pool_grades)
        rows = np.flatnonzero(values > 0)
        rows = rows[np.lexsort((-values[rows], judged.pool_queries[rows]))]
        queries = judged.pool_queries[rows]
        offsets = offsets_of(queries, len(judged.query_ids))
        return Gains(offsets, queries, within(offsets), values[rows])

    def _of(self, grades: Grades) -> Floats:
        """Returns the gain of each grade.

        Raises:
            InputError: `gains` has something else than numbers for grades from 0 on.
        """
        values = np.maximum(grades, 0).astype(np.float64)
        for grade, gain in self["gains"].items():
            valid = isinstance(grade, int) and grade >= 0
            if not (valid and isinstance(gain, int | float) and math.isfinite(gain)):
                raise InputError(
                    f"measure {self!r}: gains are numbers of grades from 0 on",
                    remedy="as in {1: 3.5, 2: 9}",
                )
            values[grades == grade] = gain
        return values


class _G(GainMeasure):
    """Normalised gain, discounted by the deficit of the ranking (trec_eval's G, m_G.c).

    The deficit at a rank is the gain of the ideal order up to it, in which each rank counts at least
    1, minus the gain of the ranking. The gain of a document is divided by log2(2 + deficit). The sum
    is divided by the gain of all judged documents. G lies between AP and nDCG: a document that is
    retrieved late costs little if those above it are as good. A query without a gain scores 0.

    Raises:
        InputError: gains that are not numbers of grades from 0 on.
    """

    __name__ = "G"
    NAME = __name__
    PRETTY_NAME = "Normalised gain"
    SHORT_DESC = "trec_eval's G"

    def per_query(self, judged: JudgedRun) -> Floats:
        listed, ideal = self.listed_gains(judged), self.ideal(judged)
        above_one = ideal._replace(values=np.maximum(ideal.values - 1, 0)).running
        owed = listed.ranks + above_one.up_to(listed.queries, listed.ranks) - listed.running.values
        counted = listed._replace(values=listed.values / np.log2(2 + owed))
        return share(counted.totals, ideal.totals)


class _BinG(ColumnarMeasure):
    """Mean over the relevant documents of 1 / log2(2 + n) (trec_eval's binG, m_binG.c).

    n is the number of non-relevant documents above a relevant document. A relevant document that
    the run does not list counts 0. It equals `G` if all relevant documents have the gain 1. A query
    without a relevant document scores 0.
    """

    __name__ = "binG"
    NAME = __name__
    PRETTY_NAME = "Binary normalised gain"
    SHORT_DESC = "trec_eval's binG"
    TRAITS = Traits(exact_ranks=True)
    SUPPORTED_PARAMS: ClassVar = {"rel": REL}

    def per_query(self, judged: JudgedRun) -> Floats:
        queries, ranks, _ = relevant_rows(self, judged)
        count = len(judged.query_ids)
        others = ranks - within(offsets_of(queries, count))
        return share(sums(queries, 1 / np.log2(2 + others), count), number_relevant(self, judged))


G = _G()
binG = _BinG()

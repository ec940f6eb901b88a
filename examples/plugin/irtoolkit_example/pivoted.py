"""A retriever with an index: pivoted length normalisation.

`Lexical` turns texts into postings, in memory or in the shards of a folder; `Weighting` is the
formula, which is all that is written here. Pools, corpora, folders, exact ranks, statistics of the
candidates, processes and Ray come with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.formula import Weighting
from irtoolkit.retrievers.lexical import Lexical


@dataclass(frozen=True)
class PivotedWeighting(Weighting):
    """The weight of a term: its idf, times a function of its count and the document's length."""

    slope: float

    def idf(self, size: int, found: Ints, all_found: Callable[[], Ints]) -> Floats:
        return np.log((size + 1) / found)

    def weights(self, counts: Ints, lengths: Ints, average: float) -> Floats:
        pivoted = 1 - self.slope + self.slope * lengths / (average or 1.0)
        return np.asarray((1 + np.log(1 + np.log(counts))) / pivoted)


@dataclass(frozen=True)
class Pivoted(Lexical):
    """TF-IDF with pivoted length normalisation (Singhal et al. 1996).

    The sum over the query's terms of qtf · (1 + ln(1 + ln tf)) / (1 - s + s·dl/avgdl) · ln((N + 1) / n).

    Attributes:
        slope: s, how much long documents are held against them.
    """

    name: ClassVar[str] = "pivoted"
    ranges: ClassVar = {"slope": (0, 1)}

    slope: float = 0.2

    def weighting(self) -> PivotedWeighting:
        return PivotedWeighting(self.slope)

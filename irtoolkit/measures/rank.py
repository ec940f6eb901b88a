"""Rank of the relevant document: mean, median and standard deviation (RELiC, QuoteR, EgRet)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from ir_measures import ParamInfo
from ir_measures.measures.base import Agg

from irtoolkit.base.ids import Floats
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.judged import JudgedRun
from irtoolkit.measures.parts import REL
from irtoolkit.measures.traits import Summary, Traits


class _Rank(ColumnarMeasure):
    """Rank of the first relevant document, averaged over queries. Lower is better.

    The first document of a ranking has rank 1, or rank 0 with start=0, as QuoteR's released code
    counts its mean rank.

    It is the rank over the whole candidate pool if exact ranks are stored with the run, as
    `irtoolkit retrieve` does. Otherwise it is infinite for a query without a relevant document in
    the run: the rank below the depth of the run is unknown, and a mean that hid this would be
    wrong.
    """

    __name__ = "Rank"
    NAME = __name__
    PRETTY_NAME = "Mean rank of the first relevant document"
    SHORT_DESC = "The rank of the first relevant document"
    DEFAULT = float("inf")
    TRAITS = Traits(lower_is_better=True, exact_ranks=True)
    SUPPORTED_PARAMS: ClassVar = {
        "rel": REL,
        "start": ParamInfo(
            dtype=int, choices=[0, 1], default=1, desc="rank of the first document of a ranking"
        ),
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        first = np.full(len(judged.query_ids), np.inf)
        ranks = judged.exact_ranks if judged.best_ranks is None else judged.best_ranks
        if ranks is not None:
            relevant_pool = judged.pool_grades >= self["rel"]
            np.minimum.at(first, judged.pool_queries[relevant_pool], ranks[relevant_pool])
        relevant = judged.grades >= self["rel"]
        np.minimum.at(first, judged.queries[relevant], judged.ranks[relevant])
        first += self["start"] - 1
        return first


class _MedianRank(_Rank):
    """Median over queries of the rank of the first relevant document; see `Rank`."""

    __name__ = "MedianRank"
    NAME = __name__
    PRETTY_NAME = "Median rank of the first relevant document"
    TRAITS = Traits(
        lower_is_better=True,
        exact_ranks=True,
        summary=Summary(
            "median",
            figures=lambda values: np.median(values, axis=1),
            tests=("wilcoxon",),
            effect=False,
            instead="Rank",
        ),
    )

    def aggregator(self) -> Agg:
        return _Median()


class _StdRank(_Rank):
    """Standard deviation (population) over queries of the rank of the first relevant document."""

    __name__ = "StdRank"
    NAME = __name__
    PRETTY_NAME = "Standard deviation of the rank of the first relevant document"
    TRAITS = Traits(
        lower_is_better=True,
        exact_ranks=True,
        summary=Summary(
            "standard deviation",
            figures=lambda values: values.std(axis=1),
            tests=(),
            effect=False,
            instead="Rank",
        ),
    )

    def aggregator(self) -> Agg:
        return _Deviation()


class _Collected(Agg):  # type: ignore[misc]
    """Aggregator of all values; subclasses compute the result."""

    def __init__(self) -> None:
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)


class _Median(_Collected):
    def result(self) -> float:
        return float(np.median(self._values)) if self._values else float("nan")


class _Deviation(_Collected):
    def result(self) -> float:
        # With an unknown rank the deviation is unknown too; numpy would only warn.
        if not np.isfinite(self._values).all():
            return float("inf")
        return float(np.std(self._values)) if self._values else float("nan")


Rank = _Rank()
MedianRank = _MedianRank()
StdRank = _StdRank()

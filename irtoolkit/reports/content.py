"""The content of a report, before it becomes a page, a table or a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from irtoolkit.base.ids import Floats, Ids
from irtoolkit.reports.facts import Facts
from irtoolkit.reports.first_relevant import FirstRelevant
from irtoolkit.reports.pairs import MeasureColumn
from irtoolkit.reports.texts import ReportTexts
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.significance import Correction, PairedTest


@dataclass(frozen=True)
class ReportedSystem:
    """A system of a report.

    Attributes:
        name: the name shown; no two systems have the same.
        letter: the letter that stands for the system beside figures that are significantly better.
        file: the name of the run's file, without folders; empty for a run in memory.
        made: (name, value) pairs about how the run was made, from its ir_metadata record.
        command: the command that made the run, from its record; empty where that has none.
    """

    name: str
    letter: str
    file: str
    made: Facts
    command: str = ""


@dataclass(frozen=True)
class BreakdownPart:
    """One part of the queries, such as one facet or one book.

    Attributes:
        name: the name of the part.
        queries: the number of judged queries in it.
        figures: measure to the figure of each system over those queries.
    """

    name: str
    queries: int
    figures: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class ReportContent:
    """A comparison of systems on one dataset.

    Attributes:
        dataset_id: the id of the dataset.
        facts: (name, value) pairs about the dataset.
        url: the web address of the paper or dataset, or None.
        systems: the systems in order.
        evaluations: the values of each system.
        columns: the results of each measure, the main one first.
        averaging: how figures are averaged, in words.
        test: the paired test.
        correction: the correction for the number of tests.
        baseline: the position of the system that others are tested against; None for every pair.
        chart: the measure that the report opens with, and that charts show first.
        pair: positions of the two systems that charts show first; equal where there is only one.
        first_relevant: ranks of the first relevant documents.
        breakdowns: name of a breakdown to its parts.
        texts: texts of queries and documents.
        notes: warnings about the runs, each with the name of its system.
        analyses: further sections of the page: a word for its address, its title, and its HTML.
    """

    dataset_id: str
    facts: Facts
    url: str | None
    systems: tuple[ReportedSystem, ...]
    evaluations: tuple[Evaluation, ...]
    columns: tuple[MeasureColumn, ...]
    averaging: str
    test: PairedTest
    correction: Correction
    baseline: int | None
    chart: str
    pair: tuple[int, int]
    first_relevant: FirstRelevant
    breakdowns: Mapping[str, tuple[BreakdownPart, ...]]
    texts: ReportTexts
    notes: tuple[str, ...]
    analyses: tuple[tuple[str, str, str], ...] = ()

    @property
    def query_ids(self) -> Ids:
        """(Q,) ids of the judged queries."""
        return self.evaluations[0].query_ids

    @property
    def sorted(self) -> bool:
        """Whether the systems are in the order of their figures on the main measure."""
        ranked = self.column(self.chart).ranked()
        return ranked == sorted(ranked)

    @property
    def reference(self) -> int:
        """The position of the baseline, or of the best system on the main measure without one."""
        if self.baseline is not None:
            return self.baseline
        return next(iter(self.column(self.chart).ranked()), 0)

    def column(self, measure: str) -> MeasureColumn:
        """The results of a measure."""
        return next(column for column in self.columns if column.measure == measure)

    def gains(self, measure: str) -> Floats:
        """(Q,) by how much the first system of the pair is better; NaN where it is unknown."""
        first, second = (self.evaluations[i].per_query(measure) for i in self.pair)
        with np.errstate(invalid="ignore"):
            gain = np.where(first == second, 0.0, first - second)
        gain = np.where(np.isfinite(first) & np.isfinite(second), gain, np.nan)
        return -gain if self.column(measure).lower else gain

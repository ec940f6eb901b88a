"""CSFCube, Table 2: how far the two annotators agree, and each with the adjudicated grade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.datasets.csfcube_records import AFTER, AGREEMENT, BEFORE, CSFCubeQrel
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._queries import facets_of
from irtoolkit.papers.analyses.base import Analysis, Column, FigureTable, Findings, Given, Printed


@dataclass(frozen=True)
class CSFCubeAgreement(Analysis):
    """Agreement of CSFCube's annotators: medians over queries.

    Before adjudication, the two ratings of a query's candidates are compared; after it, each with
    the adjudicated grades, and the two figures are averaged.

    Attributes:
        missing: the treatment of a missing rating: "zero", grade 0, as in the paper, or "drop",
            which leaves the candidate out.
    """

    name: ClassVar[str] = "csfcube-agreement"
    title: ClassVar[str] = (
        "CSFCube, Table 2: agreement of annotators, before and after adjudication"
    )
    datasets: ClassVar[tuple[str, ...]] = ("csfcube",)
    judgments: ClassVar[int | None] = 6244
    reported: ClassVar[Mapping[str, Printed]] = {"agreement": AGREEMENT}

    remarks: ClassVar[tuple[str, ...]] = (
        "background before, ρ: the median of 16 queries is the mean of the middle two. The lower of"
        " the two alone rounds to the printed figure, but the row's other figures need the mean."
        " Missing ratings, the query's own paper as a candidate, and leaving a query out do not"
        " explain it.",
    )

    missing: Literal["zero", "drop"] = "zero"

    def find(self, inputs: Given) -> Findings:
        from irtoolkit.scoring.agreement import STATISTICS, medians

        (dataset,) = inputs.datasets[:1]
        grades = judged(dataset)
        figures = {}
        for stage in (BEFORE, AFTER):
            for facet, queries in facets_of(dataset).items():
                stages = [self.of_query(grades[query], stage) for query in queries]
                figures[facet, stage] = medians(stages)
        columns = [Column(name) for name in STATISTICS]
        title = "Agreement of the annotators: medians over queries"
        table = FigureTable.of("agreement", title, ("facet", "adjudication"), columns, figures)
        return Findings((table,), notes=(self._about_missing(grades),))

    def of_query(self, rows: Sequence[CSFCubeQrel], stage: str) -> Floats:
        """Returns (4,) ρ, α, κ and the percentage of equal grades of one query's candidates."""
        from irtoolkit.scoring.agreement import agreement, agreement_with

        complete_rows = [row for row in rows if self.missing == "zero" or min(row.ratings) >= 0]
        first, second = ([max(row.ratings[i], 0) for row in complete_rows] for i in (0, 1))
        if stage == BEFORE:
            return agreement(first, second)
        return agreement_with(first, second, [row.relevance for row in complete_rows])

    def _about_missing(self, grades: Mapping[str, Sequence[CSFCubeQrel]]) -> str:
        count = sum(
            rating < 0 for rows in grades.values() for row in rows for rating in row.ratings
        )
        treatment = (
            "taken for grade 0" if self.missing == "zero" else "left out with their candidates"
        )
        return f"Missing ratings of one annotator: {count}, {treatment} (missing={self.missing})."


def judged(dataset: Dataset) -> dict[str, list[CSFCubeQrel]]:
    """Returns query id to its judgments, each with the ratings of two annotators.

    Raises:
        InputError: the judgments have no ratings of single annotators.
    """
    by_query: dict[str, list[CSFCubeQrel]] = {}
    for row in dataset.qrels_iter() if dataset.has("qrels") else ():
        if len(getattr(row, "ratings", ())) != 2:
            raise InputError(
                f"the judgments of {dataset.id} have no ratings of two annotators",
                remedy="agreement needs a dataset in CSFCube's form, such as csfcube",
            )
        by_query.setdefault(row.query_id, []).append(row)
    if not by_query:
        raise InputError(f"dataset {dataset.id} has no judgments")
    return by_query

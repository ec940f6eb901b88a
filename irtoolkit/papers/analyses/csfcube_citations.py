"""CSFCube, Appendix D: grades of the papers that a query paper cites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.base.tables import TableCell
from irtoolkit.datasets.csfcube_records import GRADES, CSFCubeQrel
from irtoolkit.papers.analyses._queries import facets_of
from irtoolkit.papers.analyses.base import (
    Analysis,
    Bars,
    Column,
    FigureTable,
    Findings,
    Given,
    Printed,
)

# The source that puts a cited paper into a pool.
CITED = "cited"
SHARE = "grade ≤ 1, %"


@dataclass(frozen=True)
class CSFCubeCitations(Analysis):
    """Grades of the candidates that the query paper cites, over all queries of a facet."""

    name: ClassVar[str] = "csfcube-citations"
    title: ClassVar[str] = "CSFCube, Appendix D: grades of the papers that a query paper cites"
    datasets: ClassVar[tuple[str, ...]] = ("csfcube",)
    judgments: ClassVar[int | None] = 6244
    reported: ClassVar[Mapping[str, Printed]] = {
        "grades": {
            ("background",): (None, None, None, None, None, 79.0),
            ("method",): (None, None, None, None, None, 88.0),
            ("result",): (None, None, None, None, None, 86.0),
        }
    }
    remarks: ClassVar[tuple[str, ...]] = ("The paper cuts the percentages off.",)

    def find(self, inputs: Given) -> Findings:
        dataset = inputs.datasets[0]
        of_query = {query: facet for facet, ids in facets_of(dataset).items() for query in ids}
        counts = {facet: dict.fromkeys(GRADES, 0) for facet in of_query.values()}
        for row in dataset.qrels_iter():
            if isinstance(row, CSFCubeQrel) and CITED in row.sources:
                counts[of_query[row.query_id]][row.relevance] += 1
        if not any(sum(grades.values()) for grades in counts.values()):
            raise InputError(
                f"no candidate of {dataset.id} has the source {CITED!r}",
                remedy="the file of pools must name what put a paper into a pool",
            )
        figures = {facet: _figures(grades) for facet, grades in counts.items()}
        columns = (
            Column("cited"),
            *(Column(f"grade {grade}") for grade in GRADES),
            Column(SHARE, printed=0, cut=True),
        )
        title = "Grades of the candidates that the query paper cites"
        shares = {
            facet: [100 * grades[grade] / max(1, sum(grades.values())) for grade in GRADES]
            for facet, grades in counts.items()
        }
        chart = Bars("grades", "grade", "% of cited papers", list(map(str, GRADES)), shares)
        return Findings((FigureTable.of("grades", title, "facet", columns, figures),), (chart,))


def _figures(grades: Mapping[int, int]) -> tuple[TableCell, ...]:
    """Returns the numbers of cited papers in all and by grade, and the percentages of 0 and 1."""
    total = sum(grades.values())
    low = 100 * (grades[0] + grades[1]) / total if total else float("nan")
    return total, *grades.values(), low

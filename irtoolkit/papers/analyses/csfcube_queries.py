"""CSFCube, Figure 3: a system's scores on a paper in each of its two facets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from irtoolkit.base.textwidth import shorten
from irtoolkit.papers.analyses._csfcube import pairs_of, queries_of
from irtoolkit.papers.analyses.base import (
    Analysis,
    Column,
    FigureRow,
    FigureTable,
    Findings,
    Given,
    complete,
)
from irtoolkit.papers.analyses.charts import Bars


@dataclass(frozen=True)
class CSFCubeQueries(Analysis):
    """Figures of single queries, for papers that are queries in two facets.

    Papers are in the order of the difference between their facets.

    Attributes:
        measure: the measure by its name in ir_measures.
    """

    name: ClassVar[str] = "csfcube-queries"
    title: ClassVar[str] = "CSFCube, Figure 3: what a system scores on two facets of one paper"
    datasets: ClassVar[tuple[str, ...]] = ("csfcube",)
    system: ClassVar[str] = "fabs_bm25"

    measure: str = "nDCGp(p=20)"

    def find(self, inputs: Given) -> Findings:
        from irtoolkit.scoring.score import score

        dataset = inputs.datasets[0]
        pairs = pairs_of(dataset)
        titles = {query.query_id: query.title for query in queries_of(dataset)}
        for name, run in inputs.runs.items():
            complete(run, name, dataset.query_ids())
        scores = score(dataset, dict(inputs.runs), self.measure)
        tables = []
        for name in scores.systems:
            values = dict(zip(scores.query_ids, scores.values(name, self.measure), strict=True))
            for facets, queries in pairs.items():
                parts = [*facets, *([name] if len(scores) > 1 else [])]
                title = f"{self.measure} of {name} in percent, {' and '.join(facets)}"
                table = FigureTable("-".join(parts), title, ("paper",), _columns(facets), ())
                gains = sorted(
                    (values[second] - values[first], first, second) for first, second in queries
                )
                rows = [
                    FigureRow(
                        (titles[first],),
                        (*(100 * float(values[q]) for q in (first, second)), 100 * float(gain)),
                    )
                    for gain, first, second in gains
                ]
                tables.append(replace(table, rows=tuple(rows)))
        charts = tuple(_chart(table, self.measure) for table in tables)
        return Findings(tuple(tables), charts, tuple(map(str, scores.notes)))


def _columns(facets: tuple[str, str]) -> tuple[Column, ...]:
    return (*(Column(facet) for facet in facets), Column("difference"))


def _chart(table: FigureTable, measure: str) -> Bars:
    """Returns two bars for each paper, one for each facet."""
    names = [shorten(row.names[0], 24) for row in table.rows]
    facets = {
        column.name: [float(str(row.values[i])) for row in table.rows]
        for i, column in enumerate(table.columns[:2])
    }
    return Bars(table.name, "", f"{measure}, %", names, facets)

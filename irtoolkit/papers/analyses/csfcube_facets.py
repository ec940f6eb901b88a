"""CSFCube, Figures 2 and 3: grades and scores of a paper that is a query in two facets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.base.textwidth import shorten
from irtoolkit.datasets.csfcube_records import GRADES
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._queries import pairs_of, paper_queries
from irtoolkit.papers.analyses.base import (
    Analysis,
    Bars,
    Column,
    FigureRow,
    FigureTable,
    Findings,
    Given,
    Grids,
)


@dataclass(frozen=True)
class CSFCubeFacets(Analysis):
    """Numbers of candidates by their grades in the two facets of a paper."""

    name: ClassVar[str] = "csfcube-facets"
    title: ClassVar[str] = "CSFCube, Figure 2: grades of candidates in two facets of one paper"
    datasets: ClassVar[tuple[str, ...]] = ("csfcube",)

    def find(self, inputs: Given) -> Findings:
        dataset = inputs.datasets[0]
        counted_facets = counted(dataset)
        figures = {
            (f"{first} / {second}", str(grade)): counts[grade].tolist()
            for (first, second), counts in counted_facets.items()
            for grade in GRADES
        }
        columns = tuple(Column(f"second {grade}") for grade in GRADES)
        title = "Candidates by their grades in the first and the second facet"
        panels = {pair: counts.tolist() for pair, counts in counted_facets.items()}
        grids = Grids("grades", list(map(str, GRADES)), panels)
        papers = ", ".join(
            f"{len(pairs)} in {first} and {second}"
            for (first, second), pairs in pairs_of(dataset).items()
        )
        return Findings(
            (FigureTable.of("grades", title, ("facets", "first"), columns, figures),),
            (grids,),
            (f"Papers that are queries in two facets: {papers}.",),
        )


def counted(dataset: Dataset) -> Mapping[tuple[str, str], Ints]:
    """Returns two facets to (4, 4) numbers of candidates by grade in the first and the second."""
    grades = dataset.qrels.as_dict()
    by_facet = {}
    for facets, pairs in pairs_of(dataset).items():
        counts = np.zeros((len(GRADES), len(GRADES)), dtype=np.int64)
        for first, second in pairs:
            for doc_id in grades[first].keys() & grades[second].keys():
                counts[grades[first][doc_id], grades[second][doc_id]] += 1
        by_facet[facets] = counts
    return by_facet


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
        titles = {query.query_id: query.title for query in paper_queries(dataset)}
        inputs.check_complete(dataset.query_ids())
        scores = score(dataset, dict(inputs.runs), self.measure)
        tables = []
        for name in scores.systems:
            values = dict(zip(scores.query_ids, scores.values(name, self.measure), strict=True))
            for facets, queries in pairs.items():
                parts = [*facets, *([name] if len(scores) > 1 else [])]
                title = f"{self.measure} of {name} in percent, {' and '.join(facets)}"
                gains = sorted(
                    (values[second] - values[first], first, second) for first, second in queries
                )
                rows = tuple(
                    FigureRow(
                        (titles[first],),
                        (*(100 * float(values[q]) for q in (first, second)), 100 * float(gain)),
                    )
                    for gain, first, second in gains
                )
                columns = (*(Column(facet) for facet in facets), Column("difference"))
                tables.append(FigureTable("-".join(parts), title, ("paper",), columns, rows))
        charts = tuple(_chart(table, self.measure) for table in tables)
        return Findings(tuple(tables), charts, tuple(map(str, scores.notes)))


def _chart(table: FigureTable, measure: str) -> Bars:
    """Returns two bars for each paper, one for each facet."""
    names = [shorten(row.names[0], 24) for row in table.rows]
    facets = {
        column.name: [float(str(row.values[i])) for row in table.rows]
        for i, column in enumerate(table.columns[:2])
    }
    return Bars(table.name, "", f"{measure}, %", names, facets)

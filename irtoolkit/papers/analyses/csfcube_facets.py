"""CSFCube, Figure 2: the grades of candidates of a paper that is a query in two facets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.datasets.csfcube_records import GRADES
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._csfcube import pairs_of
from irtoolkit.papers.analyses.base import Analysis, Column, FigureRow, FigureTable, Findings, Given
from irtoolkit.papers.analyses.charts import Grids


@dataclass(frozen=True)
class CSFCubeFacets(Analysis):
    """Numbers of candidates by their grades in the two facets of a paper."""

    name: ClassVar[str] = "csfcube-facets"
    title: ClassVar[str] = "CSFCube, Figure 2: grades of candidates in two facets of one paper"
    datasets: ClassVar[tuple[str, ...]] = ("csfcube",)

    def find(self, inputs: Given) -> Findings:
        dataset = inputs.datasets[0]
        counted_facets = counted(dataset)
        rows = tuple(
            FigureRow((f"{first} / {second}", str(grade)), (*counts[grade].tolist(),))
            for (first, second), counts in counted_facets.items()
            for grade in GRADES
        )
        columns = tuple(Column(f"second {grade}") for grade in GRADES)
        title = "Candidates by their grades in the first and the second facet"
        panels = {pair: counts.tolist() for pair, counts in counted_facets.items()}
        grids = Grids("grades", list(map(str, GRADES)), panels)
        papers = ", ".join(
            f"{len(pairs)} in {first} and {second}"
            for (first, second), pairs in pairs_of(dataset).items()
        )
        return Findings(
            (FigureTable("grades", title, ("facets", "first"), columns, rows),),
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

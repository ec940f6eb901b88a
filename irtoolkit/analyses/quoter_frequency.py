"""QuoteR, §6.5 and Figure 2: how well quotes are found that train has rarely or often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.analyses._quoter import contexts_of, golds_of
from irtoolkit.analyses.base import (
    Analysis,
    Column,
    FigureRow,
    FigureTable,
    Findings,
    Given,
    complete,
)
from irtoolkit.analyses.charts import Bars

MEASURES = ("RR", "nDCG@5")


@dataclass(frozen=True)
class QuoterFrequency(Analysis):
    """RR and nDCG@5 of contexts, by how often train has their quote.

    The paper draws the figures and prints none, and does not print the bounds of its ranges.
    """

    name: ClassVar[str] = "quoter-frequency"
    title: ClassVar[str] = "QuoteR, Figure 2: results by how often train has the quote"
    datasets: ClassVar[tuple[str, ...]] = ("quoter/zh/test",)
    system: ClassVar[str] = "bm25"
    depth: ClassVar[int | None] = 100

    def find(self, given: Given) -> Findings:
        from irtoolkit.scoring.score import score

        dataset = given.datasets[0]
        ids, golds = list(contexts_of(dataset)), golds_of(dataset)
        for name, run in given.runs.items():
            complete(run, name, ids)
        scores = score(dataset, dict(given.runs), list(MEASURES))
        parts = dataset.breakdown("frequency")
        rows = tuple(
            FigureRow((name, part), _figures(queries, golds, scores[name].over(queries)))
            for name in scores.systems
            for part, queries in parts.items()
        )
        columns = (Column("contexts", 0), Column("quotes", 0), *(Column(m, 3) for m in MEASURES))
        title = "Results by how often train has the quote"
        table = FigureTable("frequency", title, ("system", "quote"), columns, rows)
        series = {
            measure if len(scores) == 1 else f"{measure}, {name}": [
                float(str(row.values[place])) for row in rows if row.names[0] == name
            ]
            for name in scores.systems
            for place, measure in enumerate(MEASURES, 2)
        }
        chart = Bars("frequency", "quote", "mean", list(parts), series)
        return Findings((table,), (chart,), tuple(map(str, scores.notes)))


def _figures(
    queries: list[str], golds: Mapping[str, str], means: Mapping[str, float]
) -> tuple[float, ...]:
    """Contexts, quotes, and the mean of each measure."""
    return len(queries), len({golds[q] for q in queries}), *(means[m] for m in MEASURES)

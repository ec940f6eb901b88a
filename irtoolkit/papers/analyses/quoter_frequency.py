"""QuoteR, §6.5 and Figure 2: retrieval of quotes by how often they occur in train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.datasets.quoter_release import band_names
from irtoolkit.papers.analyses._queries import golds_of, quote_contexts
from irtoolkit.papers.analyses.base import (
    Analysis,
    Bars,
    Column,
    FigureTable,
    Findings,
    Given,
    Printed,
)

MEASURES = ("RR", "nDCG@5")


@dataclass(frozen=True)
class QuoterFrequency(Analysis):
    """RR and nDCG@5 of contexts, by how often train has their quote.

    The paper draws the results and prints the numbers of quotes alone.
    """

    name: ClassVar[str] = "quoter-frequency"
    title: ClassVar[str] = "QuoteR, Figure 2: results by how often train has the quote"
    datasets: ClassVar[tuple[str, ...]] = ("quoter/zh/test",)
    reported: ClassVar[Mapping[str, Printed]] = {
        "quotes": {
            (part,): (None, quotes)
            for part, quotes in zip(
                band_names(), (100, 843, 985, 437, 283, 225, 74, 47), strict=True
            )
        }
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "The paper does not print the bounds of its ranges: those here are a guess.",
    )
    system: ClassVar[str] = "bm25"
    depth: ClassVar[int | None] = 100

    def find(self, inputs: Given) -> Findings:
        from irtoolkit.scoring.score import score

        dataset = inputs.datasets[0]
        ids, golds = list(quote_contexts(dataset)), golds_of(dataset)
        inputs.check_complete(ids)
        scores = score(dataset, dict(inputs.runs), list(MEASURES))
        parts = dataset.breakdown("frequency")
        counts = {
            part: (len(queries), len({golds[query] for query in queries}))
            for part, queries in parts.items()
        }
        figures = {
            (name, part): [scores[name].over(queries)[m] for m in MEASURES]
            for name in scores.systems
            for part, queries in parts.items()
        }
        title = "Results by how often train has the quote"
        columns = tuple(Column(measure, 3) for measure in MEASURES)
        of_counts = (Column("contexts", 0), Column("quotes", 0))
        tables = (
            FigureTable.of("quotes", "Contexts and their quotes", "quote", of_counts, counts),
            FigureTable.of("frequency", title, ("system", "quote"), columns, figures),
        )
        series = {
            measure if len(scores) == 1 else f"{measure}, {name}": [
                figures[name, part][i] for part in parts
            ]
            for name in scores.systems
            for i, measure in enumerate(MEASURES)
        }
        chart = Bars("frequency", "quote", "mean", list(parts), series)
        return Findings(tables, (chart,), tuple(map(str, scores.notes)))

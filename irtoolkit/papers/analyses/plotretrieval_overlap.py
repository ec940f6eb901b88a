"""PlotRetrieval, Table 2: the words of a query that its relevant documents have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from irtoolkit.papers.analyses.base import (
    Analysis,
    Bars,
    Column,
    FigureTable,
    Findings,
    Given,
    Printed,
)


def _printed() -> Printed:
    """Returns the figures of the experiment table, by the dataset that each is of."""
    from irtoolkit.papers.catalogue import find_table

    return {
        (row.command.split()[-1],): (*next(iter(row.reported.values())), None)
        for row in find_table("plotretrieval-overlap").rows
        if row.command is not None
    }


@dataclass(frozen=True)
class PlotOverlap(Analysis):
    """Shares of a query's words that a relevant document has, as `irtoolkit overlap` measures them.

    Attributes:
        words: the source of tokens and stop words: "nltk", as in the paper, which needs NLTK's data, or
            "sklearn"; "auto" takes NLTK's if its data are installed.
        rel: the lowest relevant grade.
    """

    name: ClassVar[str] = "plotretrieval-overlap"
    title: ClassVar[str] = "PlotRetrieval, Table 2: words of a query that relevant documents have"
    datasets: ClassVar[tuple[str, ...]] = ("plotretrieval/test",)
    several: ClassVar[bool] = True
    reported: ClassVar[Mapping[str, Printed]] = {"overlap": _printed()}

    words: Literal["auto", "nltk", "sklearn"] = "auto"
    rel: int = 1

    def differs(self) -> str | None:
        if self._source() == "nltk":
            return None
        return "Tokens and stop words are scikit-learn's, not NLTK's: the paper's figures are not shown."

    def _source(self) -> Literal["nltk", "sklearn"]:
        from irtoolkit.datasets.word_overlap import missing_words

        if self.words == "auto":
            return "nltk" if missing_words("nltk") is None else "sklearn"
        return self.words

    def find(self, inputs: Given) -> Findings:
        from irtoolkit.datasets.word_overlap import word_sets
        from irtoolkit.scoring.query_overlap import query_overlap

        source = self._source()
        alone = self.words == "auto" and source == "sklearn"
        missing = "NLTK's data are not here: tokens and stop words are scikit-learn's."
        notes = [missing] if alone else []
        words = word_sets(source)
        overlaps = {
            dataset.id: query_overlap(dataset, words, rel=self.rel) for dataset in inputs.datasets
        }
        rows = {
            name: (100 * overlap.by_pair, 100 * overlap.by_query)
            for name, overlap in overlaps.items()
        }
        columns = (Column("overlap"), Column("by query"))
        title = "Words of a query that a relevant document has, percent"
        table = FigureTable.of("overlap", title, "dataset", columns, rows)
        heights = [by_pair for by_pair, _ in rows.values()]
        chart = Bars("overlap", "", "word overlap, %", list(overlaps), {"overlap": heights})
        return Findings((table,), (chart,), tuple(notes))

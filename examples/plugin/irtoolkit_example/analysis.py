"""An analysis: how long the texts of a dataset are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.papers.analyses.base import Analysis, Column, FigureRow, FigureTable, Findings, Given


@dataclass(frozen=True)
class TextLengths(Analysis):
    """Words of the shortest and of the longest text.

    Attributes:
        least: words that a text must have to be counted.
    """

    name: ClassVar[str] = "text-lengths"
    title: ClassVar[str] = "Example: how long the texts of a dataset are"
    datasets: ClassVar[tuple[str, ...]] = ("proverbs",)

    least: int = 1

    def find(self, given: Given) -> Findings:
        texts = [doc.default_text() for doc in given.datasets[0].docs_iter()]
        counts = [count for text in texts if (count := len(text.split())) >= self.least]
        row = FigureRow((given.datasets[0].id,), (len(counts), min(counts), max(counts)))
        columns = (Column("texts", 0), Column("shortest", 0), Column("longest", 0))
        return Findings((FigureTable("lengths", self.title, ("dataset",), columns, (row,)),))

"""RELiC, Appendix A.3: the share of a book that is quoted, and the lengths of quotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.spans import Span
from irtoolkit.base.tables import TableCell
from irtoolkit.papers.analyses._relic import quotations_of, windows_of
from irtoolkit.papers.analyses.base import (
    Analysis,
    Column,
    FigureRow,
    FigureTable,
    Findings,
    Given,
    Printed,
)
from irtoolkit.papers.analyses.charts import Bars

EACH = "mean of the books"


@dataclass(frozen=True)
class RelicQuotations(Analysis):
    """Quoted sentences of each book, and the lengths of quotations.

    A sentence is quoted as often as windows quote a passage that has it.
    """

    name: ClassVar[str] = "relic-quotations"
    title: ClassVar[str] = "RELiC, App. A.3 and Figure 2: how much is quoted, and in what lengths"
    datasets: ClassVar[tuple[str, ...]] = ("relic/train", "relic/val")
    several: ClassVar[bool] = True
    reported: ClassVar[Mapping[str, Printed]] = {
        "books": {(EACH,): (673, None, 12.58, None), ("most",): (None, None, None, 49)}
    }
    remarks: ClassVar[tuple[str, ...]] = ("The paper counts the hidden test split, too.",)

    def find(self, inputs: Given) -> Findings:
        quoted: dict[str, Counter[int]] = {}
        windows: Counter[str] = Counter()
        lengths: Counter[int] = Counter()
        sizes: dict[str, int] = {}
        for dataset in inputs.datasets:
            queries = {window.query_id: window for window in windows_of(dataset)}
            passages = dataset.passages()
            assert passages is not None
            sizes |= {book.name: len(book.sentences) for book, _, _ in passages.groups}
            for query, doc in quotations_of(dataset).items():
                span = Span.parse(doc)
                windows[span.book] += 1
                lengths[queries[query].length] += 1
                counts = quoted.setdefault(span.book, Counter())
                counts.update(range(span.start, span.stop))
        rows = [
            FigureRow((book,), _figures(windows[book], counts, sizes[book]))
            for book, counts in sorted(quoted.items())
        ]
        return Findings((_books(rows), _lengths(lengths)), (_chart(lengths),))


def _figures(windows: int, counts: Counter[int], sentences: int) -> tuple[TableCell, ...]:
    """Windows, sentences, the percentage that is quoted, and how often the most quoted one is."""
    return windows, sentences, 100 * len(counts) / sentences, max(counts.values())


def _books(rows: list[FigureRow]) -> FigureTable:
    columns = (
        Column("windows", 1, printed=0),
        Column("sentences", 1),
        Column("quoted, %"),
        Column("most quoted", 0),
    )
    values = np.array([row.values for row in rows], dtype=np.float64)
    means = values.mean(axis=0)
    rows.append(FigureRow((EACH,), (*(float(mean) for mean in means[:3]), None)))
    rows.append(FigureRow(("most",), (None, None, None, int(values[:, 3].max()))))
    return FigureTable("books", "Sentences that are quoted", ("book",), columns, tuple(rows))


def _lengths(lengths: Counter[int]) -> FigureTable:
    total = sum(lengths.values())
    rows = tuple(
        FigureRow((str(length),), (count, 100 * count / total))
        for length, count in sorted(lengths.items())
    )
    columns = (Column("quotations", 0), Column("%", 1))
    return FigureTable("lengths", "Lengths of quotations", ("sentences",), columns, rows)


def _chart(lengths: Counter[int]) -> Bars:
    counted = sorted(lengths.items())
    return Bars(
        "lengths",
        "sentences of the quotation",
        "quotations",
        [str(n) for n, _ in counted],
        {"quotations": [count for _, count in counted]},
    )

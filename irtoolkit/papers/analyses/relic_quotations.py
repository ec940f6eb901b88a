"""RELiC, Appendix A.3: the share of a book that is quoted, and the lengths of quotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.spans import Span
from irtoolkit.papers.analyses._queries import golds_of, windows_of
from irtoolkit.papers.analyses.base import (
    Analysis,
    Bars,
    Column,
    FigureTable,
    Findings,
    Given,
    Printed,
)

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
            for query, doc in golds_of(dataset).items():
                span = Span.parse(doc)
                windows[span.book] += 1
                lengths[queries[query].length] += 1
                counts = quoted.setdefault(span.book, Counter())
                counts.update(range(span.start, span.stop))
        books = {
            book: (
                windows[book],
                sizes[book],
                100 * len(counts) / sizes[book],
                max(counts.values()),
            )
            for book, counts in sorted(quoted.items())
        }
        return Findings((_books(books), _lengths(lengths)), (_chart(lengths),))


def _books(books: Mapping[str, tuple[float, ...]]) -> FigureTable:
    """Returns windows, sentences, the share that is quoted, and the windows of the most quoted one."""
    columns = (
        Column("windows", 1, printed=0),
        Column("sentences", 1),
        Column("quoted, %"),
        Column("most quoted", 0),
    )
    values = np.array(list(books.values()), dtype=np.float64)
    rows: dict[str, tuple[float | None, ...]] = {
        **books,
        EACH: (*values.mean(axis=0)[:3].tolist(), None),
        "most": (None, None, None, int(values[:, 3].max())),
    }
    return FigureTable.of("books", "Sentences that are quoted", "book", columns, rows)


def _lengths(lengths: Counter[int]) -> FigureTable:
    total = sum(lengths.values())
    rows = {str(n): (count, 100 * count / total) for n, count in sorted(lengths.items())}
    columns = (Column("quotations", 0), Column("%", 1))
    return FigureTable.of("lengths", "Lengths of quotations", "sentences", columns, rows)


def _chart(lengths: Counter[int]) -> Bars:
    counted = sorted(lengths.items())
    return Bars(
        "lengths",
        "sentences of the quotation",
        "quotations",
        [str(n) for n, _ in counted],
        {"quotations": [count for _, count in counted]},
    )

"""QuoteR, Table 4: how many quotes have how many contexts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from irtoolkit.datasets.quoter_release import FILES, SPLITS
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

# The most contexts of a quote in each range but the last.
BOUNDS = (10, 20, 50, 100)


@dataclass(frozen=True)
class QuoterContexts(Analysis):
    """Quotes by the number of their contexts, over all splits of a language."""

    name: ClassVar[str] = "quoter-contexts"
    title: ClassVar[str] = "QuoteR, Table 4: how many quotes have how many contexts"
    datasets: ClassVar[tuple[str, ...]] = tuple(
        f"quoter/{lang}/{split}" for lang in FILES for split in SPLITS
    )
    several: ClassVar[bool] = True
    reported: ClassVar[Mapping[str, Printed]] = {
        "quotes": {
            ("quoter/en",): (6108, 2994, 1456, 1233, 257, 168),
            ("quoter/zh",): (3004, 2207, 371, 272, 79, 75),
            ("quoter/lzh",): (4438, 1995, 1074, 761, 316, 292),
        }
    }

    def find(self, inputs: Given) -> Findings:
        counts: dict[str, Counter[str]] = {}
        for dataset in inputs.datasets:
            quote_contexts(dataset)
            whole = "/".join(part for part in dataset.id.split("/") if part not in SPLITS)
            counts.setdefault(whole, Counter()).update(golds_of(dataset).values())
        rows = {whole: _ranges(counter) for whole, counter in counts.items()}
        names = _names()
        columns = (Column("quotes", 0), *(Column(name, 0) for name in names))
        title = "Quotes by the number of their contexts"
        table = FigureTable.of("quotes", title, "dataset", columns, rows)
        series = {whole: ranges[1:] for whole, ranges in rows.items()}
        return Findings((table,), (Bars("quotes", "contexts of a quote", "quotes", names, series),))


def _ranges(counts: Counter[str]) -> tuple[int, ...]:
    """Returns the number of quotes, and of those in each range."""
    starts, ends = (0, *BOUNDS), (*BOUNDS, max(counts.values(), default=0) + 1)
    ranges = [
        sum(low < n <= high for n in counts.values())
        for low, high in zip(starts, ends, strict=True)
    ]
    return len(counts), *ranges


def _names() -> list[str]:
    inner = [f"{low + 1}-{high}" for low, high in pairwise(BOUNDS)]
    return [f"to {BOUNDS[0]}", *inner, f"over {BOUNDS[-1]}"]

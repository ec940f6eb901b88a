"""QuoteR, §6.7 and Tables 3 and 7-9: the quotes that a system recommends for single contexts."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.papers.analyses._queries import MASK, at_least_one, golds_of, quote_contexts
from irtoolkit.papers.analyses.base import Analysis, Column, FigureTable, Findings, Given


@dataclass(frozen=True)
class QuoterCases(Analysis):
    """The best quotes for some contexts; the true one is marked.

    Attributes:
        query: the id of a context; by default some are drawn.
        cases: the number of contexts to draw.
        hits: quotes that are shown for each context.
        seed: the seed of the draw.
    """

    name: ClassVar[str] = "quoter-cases"
    title: ClassVar[str] = "QuoteR, Tables 3 and 7-9: quotes recommended for single contexts"
    datasets: ClassVar[tuple[str, ...]] = ("quoter/en/test",)
    system: ClassVar[str] = "bm25"
    depth: ClassVar[int | None] = 100

    query: str | None = None
    cases: int = 3
    hits: int = 5
    seed: int = 0

    def find(self, inputs: Given) -> Findings:
        at_least_one(cases=self.cases, hits=self.hits)
        dataset = inputs.datasets[0]
        contexts, golds, quotes = quote_contexts(dataset), golds_of(dataset), dataset.docs_store()
        if self.query is not None and self.query not in contexts:
            guess = did_you_mean(self.query, contexts)
            raise InputError(f"no context {self.query!r} in {dataset.id}", remedy=guess or None)
        ids = list(contexts)
        drawn = random.Random(self.seed).sample(ids, min(self.cases, len(ids)))
        chosen = [self.query] if self.query is not None else drawn
        inputs.check_complete(chosen)
        tables = []
        for name, run in inputs.runs.items():
            for query in chosen:
                rows = {
                    str(rank): (
                        row.score,
                        "*" if row.doc_id == golds.get(query) else "",
                        quotes.get(row.doc_id).text,
                    )
                    for rank, row in enumerate(run.ranking(query)[: self.hits], 1)
                }
                columns = (Column("score", 3), Column("gold"), Column("quote"))
                label = query if len(inputs.runs) == 1 else f"{query}-{name}"
                title = f"{query}, {name}: {contexts[query].with_mask(MASK)}"
                tables.append(FigureTable.of(label, title, "rank", columns, rows))
        marked = any("*" in row.values for table in tables for row in table.rows)
        return Findings(
            tuple(tables), notes=("* the quote that was in the context.",) if marked else ()
        )

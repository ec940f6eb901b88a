"""QuoteR, §6.6: scores of rankings by the quotes that annotators judge to suit a context."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.papers.analyses._queries import MASK, at_least_one, golds_of, quote_contexts
from irtoolkit.papers.analyses._sheets import FilledSheets, Sheet, check_keys, majority
from irtoolkit.papers.analyses.base import Analysis, Column, FigureTable, Findings, Given, Printed
from irtoolkit.papers.analyses.labelling import agreement_of

LABEL, YES, NO = "suitable", "yes", "no"
SHEET = Sheet(("query", "doc"), ("context", "quote"), {LABEL: (YES, NO)})
# Query id to the ids of its best documents.
Best = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class QuoterSuitability(Analysis):
    """Scores with the quotes that people find suitable in place of the true one.

    The quote that counts is the best ranked one that most people find suitable. A context without one
    counts 0.

    Attributes:
        queries: contexts in the sample.
        hits: quotes of each context that are judged.
        seed: the seed of the draw.
    """

    name: ClassVar[str] = "quoter-suitability"
    title: ClassVar[str] = "QuoteR, §6.6: recommended quotes that suit a context"
    datasets: ClassVar[tuple[str, ...]] = ("quoter/zh/val",)
    reported: ClassVar[Mapping[str, Printed]] = {
        "judged": {
            ("the quote that was there",): (0.439, 0.36, 0.64, None),
            ("any that suits",): (0.661, 0.50, 0.92, 1.76),
        }
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "The paper's figures are of its own system and its own sample of 50 contexts.",
    )
    system: ClassVar[str] = "bm25"
    depth: ClassVar[int | None] = 100
    people: ClassVar[bool] = True

    queries: int = 50
    hits: int = 10
    seed: int = 0

    def find(self, inputs: Given) -> Findings:
        at_least_one(queries=self.queries, hits=self.hits)
        dataset = inputs.datasets[0]
        contexts, golds = quote_contexts(dataset), golds_of(dataset)
        ids = [query for query in contexts if query in golds]
        drawn = random.Random(self.seed).sample(ids, min(self.queries, len(ids)))
        if len(inputs.runs) > 1:
            raise InputError(f"{len(inputs.runs)} runs", remedy="people judge one system at a time")
        inputs.check_complete(drawn)
        (run,) = inputs.runs.values()
        best = {q: [row.doc_id for row in run.ranking(q)[: self.hits]] for q in drawn}
        if inputs.sheet is None:
            return self._counted(SHEET.read(inputs.sheets), best, golds)
        quotes = dataset.docs_store()
        SHEET.write(
            inputs.sheet,
            [
                {
                    "query": query,
                    "doc": doc,
                    "quote": quotes.get(doc).text,
                    "context": contexts[query].with_mask(MASK),
                }
                for query, docs in best.items()
                for doc in docs
            ],
        )
        return Findings((), notes=(f"{LABEL}: {YES} or {NO}, whether the quote suits.",))

    def _counted(self, filled: FilledSheets, best: Best, golds: Mapping[str, str]) -> Findings:
        """Returns the figures of contexts with a judgment."""
        keys = [(query, doc) for query, docs in best.items() for doc in docs]
        remedy = "give the dataset, run and settings that the sheet was made with"
        check_keys(filled, {*keys}, "the sample", remedy)
        suitable = {
            key: majority([sheet[key][LABEL] for sheet in filled.values() if key in sheet])
            for key in keys
        }
        answered = {q: docs for q, docs in best.items() if any(suitable[q, doc] for doc in docs)}
        suits = {
            q: [doc for doc in docs if suitable[q, doc] == YES] for q, docs in answered.items()
        }
        with_gold = {q: [doc for doc in docs if doc == golds[q]] for q, docs in answered.items()}
        mean = sum(map(len, suits.values())) / len(suits)
        rows = {
            "the quote that was there": (*measured(answered, with_gold), None),
            "any that suits": (*measured(answered, suits), mean),
        }
        columns = (
            Column("nDCG@5", 3),
            Column("R@1"),
            Column(f"R@{self.hits}"),
            Column("suitable quotes"),
        )
        title = f"{len(answered)} contexts, the quote that counts"
        notes = []
        if len(filled) > 1:
            alpha = agreement_of(filled, keys, LABEL, (NO, YES))
            notes.append(f"{len(filled)} people, Krippendorff's α (nominal) {alpha:.3f}.")
        table = FigureTable.of("judged", title, "relevant", columns, rows)
        return Findings((table,), notes=tuple(notes))


def measured(best: Best, right: Best) -> tuple[float, float, float]:
    """Returns nDCG@5, and recall at 1 and at all hits.

    The first right document is the relevant one.
    """
    ranks = [
        next((position for position, doc in enumerate(docs, 1) if doc in right[query]), None)
        for query, docs in best.items()
    ]
    gains = [1 / np.log2(rank + 1) if rank is not None and rank <= 5 else 0.0 for rank in ranks]
    first = [rank == 1 for rank in ranks]
    ranked = [rank is not None for rank in ranks]
    return float(np.mean(gains)), float(np.mean(first)), float(np.mean(ranked))

"""EgRet, §4.1: why ROUGE does not say how good an example is."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.papers.analyses._queries import best_others, example_contexts
from irtoolkit.papers.analyses._rouge import Rouge
from irtoolkit.papers.analyses.base import Analysis, Column, FigureTable, Findings, Given

TOP = "highest ROUGE-L"
# Query id, or who gives an example, to the id of the example and its ROUGE-L.
Scored = Mapping[str, tuple[str, float]]


@dataclass(frozen=True)
class EgretRouge(Analysis):
    """ROUGE-L with the true example: of a system's best, of any example, of the highest.

    The example itself is left out everywhere: a system's best is its best other one.

    Attributes:
        queries: contexts in the sample.
        cases: contexts whose examples are shown.
        seed: the seed of the draw.
    """

    name: ClassVar[str] = "egret-rouge"
    title: ClassVar[str] = "EgRet, §4.1: ROUGE-L of retrieved examples, and the highest of any"
    datasets: ClassVar[tuple[str, ...]] = ("egret/dev/left",)
    system: ClassVar[str] = "bm25"
    depth: ClassVar[int | None] = 100

    queries: int = 50
    cases: int = 3
    seed: int = 0

    def find(self, inputs: Given) -> Findings:
        dataset = inputs.datasets[0]
        contexts, relevant = example_contexts(dataset), dataset.relevant()
        if self.queries < 1 or self.cases < 0:
            raise InputError(f"{self.queries} queries and {self.cases} cases")
        ids = [query for query in contexts if query in relevant]
        drawn = random.Random(self.seed).sample(ids, min(self.queries, len(ids)))
        golds = {query: relevant[query][0] for query in drawn}
        docs = {doc.doc_id: doc.default_text() for doc in dataset.docs_iter()}
        rouge = Rouge(list(docs.values()))
        highest = _highest(rouge, golds, docs)
        inputs.check_complete(drawn)
        rows: dict[str, tuple[float | None, ...]] = {
            "any example": (self._by_chance(rouge, golds, docs), None, None)
        }
        cases = []
        for name, run in inputs.runs.items():
            others = best_others(run, drawn, {query: [gold] for query, gold in golds.items()})
            scored = {q: (doc, rouge.of(docs[golds[q]], docs[doc])) for q, doc in others.items()}
            first = [run.ranking(query)[0].doc_id == gold for query, gold in golds.items()]
            rows[name] = _figures(scored, highest, first)
            cases += [
                _case(query, golds[query], {name: scored[query], TOP: highest[query]}, docs)
                for query in drawn[: self.cases]
                if query in scored
            ]
        top = float(np.mean([value for _, value in highest.values()]))
        rows[TOP] = (top, None, None)
        columns = (Column("ROUGE-L", 3), Column("is the highest, %"), Column("R@1, %"))
        title = f"ROUGE-L with the example that was there, {len(drawn)} contexts"
        return Findings((FigureTable.of("rouge", title, "example", columns, rows), *cases))

    def _by_chance(self, rouge: Rouge, golds: Mapping[str, str], docs: Mapping[str, str]) -> float:
        """Returns the mean ROUGE-L of an example drawn at random."""
        draw, texts = random.Random(self.seed), list(docs.values())
        return float(np.mean([rouge.of(docs[gold], draw.choice(texts)) for gold in golds.values()]))


def _highest(rouge: Rouge, golds: Mapping[str, str], docs: Mapping[str, str]) -> Scored:
    """Returns query id to the other example with the highest ROUGE-L."""
    from irtoolkit.base.progress import tqdm

    names = list(docs)
    order = {name: i for i, name in enumerate(names)}
    highest = {}
    for query, gold in tqdm(golds.items(), TOP, disable=None, leave=False):
        i, value = rouge.best(docs[gold], order[gold])
        highest[query] = (names[i], value)
    return highest


def _figures(scored: Scored, highest: Scored, first: Sequence[bool]) -> tuple[float, ...]:
    """Returns mean ROUGE-L, and the percentages of highest examples and of true ones first."""
    mean = float(np.mean([value for _, value in scored.values()])) if scored else float("nan")
    same = sum(scored[query][0] == highest[query][0] for query in scored)
    return mean, 100 * same / len(first), 100 * sum(first) / len(first)


def _case(query: str, gold: str, others: Scored, docs: Mapping[str, str]) -> FigureTable:
    """Returns the examples of one context.

    `others` is who gives an example to it and its ROUGE-L.
    """
    rows: dict[str, tuple[float | None, str]] = {"that was there": (None, docs[gold])}
    rows |= {name: (value, docs[doc]) for name, (doc, value) in others.items()}
    label = "-".join([query, *list(others)[:1]])
    columns = (Column("ROUGE-L", 3), Column("text"))
    return FigureTable.of(label, f"Context {query}", "example", columns, rows)

"""Causes of missed relevant documents: their ranks in each system, and the reasons people see."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._queries import at_least_one
from irtoolkit.papers.analyses._sheets import FilledSheets, Sheet, majority
from irtoolkit.papers.analyses.base import Analysis, Column, FigureTable, Findings, Given
from irtoolkit.papers.analyses.labelling import check_queries
from irtoolkit.reports.overlap import Overlap
from irtoolkit.runs import Run

REASON = "reason"
REASONS: Mapping[str, str] = {
    "general": "the query says what many passages show; it does not tell them apart",
    "inference": "what the query says must be inferred from the passage, or known of the whole work",
    "elsewhere": "the query is mostly about something else than what the passage shows",
    "reference": "who or what the passage is about stands outside it",
    "words": "the query's words lead to another passage that has them and means something else",
    "equal": "what is ranked first answers the query as well",
    "damaged": "the query, the passage or the judgment is damaged or wrong",
}
SHEET = Sheet(("query",), ("text", "relevant", "first", "ranks", "shared"), {REASON: [*REASONS]})


class Case(NamedTuple):
    """A query and the ranks at which systems have its first relevant document.

    Attributes:
        query: its id.
        text: its text.
        relevant: the text of its first relevant document.
        ranks: of each system, in their order; None if the run does not list the document.
    """

    query: str
    text: str
    relevant: str
    ranks: tuple[int | None, ...]


@dataclass(frozen=True)
class Failures(Analysis):
    """Queries whose relevant documents a system does not rank high enough.

    Counts for each system the queries that it finds within the cutoff, those that it alone finds,
    and those that the first system misses and it finds; and the terms that query and relevant
    document share. With `--sheet`, a sample of the queries that the first system misses is written
    with the texts to read. With `--sheets`, the reasons are counted, and how many queries of each
    reason every other system finds.

    Attributes:
        cutoff: the rank from which on a relevant document counts as missed.
        queries: queries in the sample.
        seed: the seed of the draw.
    """

    name: ClassVar[str] = "failures"
    title: ClassVar[str] = "Why relevant documents are missed, and which system finds them"
    datasets: ClassVar[tuple[str, ...]] = ("relic/val",)
    system: ClassVar[str] = "bm25"
    people: ClassVar[bool] = True

    cutoff: int = 10
    queries: int = 30
    seed: int = 0

    def find(self, inputs: Given) -> Findings:
        at_least_one(cutoff=self.cutoff, queries=self.queries)
        study = _Study(inputs.datasets[0], inputs.runs, self.cutoff)
        missed = [case for case in study.cases if not study.finds(case, 0)]
        if inputs.sheet is not None:
            if not missed:
                raise InputError(f"{study.systems[0]} finds every query at rank {self.cutoff}")
            drawn = random.Random(self.seed).sample(missed, min(self.queries, len(missed)))
            SHEET.write(inputs.sheet, [study.row(case) for case in drawn])
            return Findings((study.found(),), notes=(_meanings(),))
        if not inputs.sheets:
            return Findings((study.found(), study.shared()))
        return Findings(
            (study.found(), study.shared(), study.reasons(SHEET.read(inputs.sheets))),
            notes=(_meanings(),),
        )


def _meanings() -> str:
    return "Reasons: " + "; ".join(f"{name}: {meaning}" for name, meaning in REASONS.items()) + "."


class _Study:
    """The queries of a dataset with the rankings of several systems."""

    def __init__(self, dataset: Dataset, runs: Mapping[str, Run], cutoff: int) -> None:
        self.dataset, self.runs, self.cutoff = dataset, dict(runs), cutoff
        self.systems = list(runs)
        self.overlap = Overlap(dataset.lang)

    @cached_property
    def cases(self) -> list[Case]:
        """Every query with a relevant document."""
        relevant, docs = self.dataset.relevant(), self.dataset.docs_store()
        cases = []
        for record in self.dataset.queries:
            golds = relevant.get(record.query_id)
            if golds:
                ranks = tuple(
                    next(
                        (
                            n
                            for n, row in enumerate(run.ranking(record.query_id), 1)
                            if row.doc_id in golds
                        ),
                        None,
                    )
                    for run in self.runs.values()
                )
                text = str(docs.get(golds[0]).default_text())
                cases.append(Case(record.query_id, record.default_text(), text, ranks))
        if not cases:
            raise InputError(f"dataset {self.dataset.id} has no query with a relevant document")
        return cases

    def finds(self, case: Case, system: int) -> bool:
        """Returns whether a system has a relevant document of a query within the cutoff."""
        rank = case.ranks[system]
        return rank is not None and rank <= self.cutoff

    def share(self, case: Case) -> set[str]:
        """Returns the terms that a query and its relevant document share."""
        return self.overlap.terms(case.text) & self.overlap.terms(case.relevant)

    def row(self, case: Case) -> dict[str, str]:
        """Returns a query's row of the sheet."""
        best = self.runs[self.systems[0]].ranking(case.query)
        first = self.dataset.docs_store().get(best[0].doc_id).default_text() if best else ""
        ranks = zip(self.systems, case.ranks, strict=True)
        return {
            "query": case.query,
            "text": case.text,
            "relevant": case.relevant,
            "first": str(first),
            "ranks": ", ".join(f"{name} {rank or '-'}" for name, rank in ranks),
            "shared": " ".join(sorted(self.share(case))),
        }

    def found(self) -> FigureTable:
        """Returns the table of the queries that each system finds."""
        grid = np.array(
            [[self.finds(case, i) for i in range(len(self.systems))] for case in self.cases]
        )
        alone = grid & (grid.sum(axis=1) == 1)[:, None]
        rescued = grid & ~grid[:, :1]
        rows: dict[str, tuple[int | None, ...]] = {
            name: tuple(int(part[:, i].sum()) for part in (grid, alone, rescued))
            for i, name in enumerate(self.systems)
        }
        rows["any of them"] = (int(grid.any(axis=1).sum()), None, None)
        columns = (
            Column(f"found at {self.cutoff}", 0),
            Column("alone", 0),
            Column(f"missed by {self.systems[0]}", 0),
        )
        title = f"what each system finds of {len(self.cases)} queries"
        return FigureTable.of("found", title, "system", columns, rows)

    def shared(self) -> FigureTable:
        """Returns the terms that queries share with relevant documents, found or missed."""
        parts: dict[str, list[int]] = {"found": [], "missed": []}
        for case in self.cases:
            parts["found" if self.finds(case, 0) else "missed"].append(len(self.share(case)))
        rows = {
            part: (len(counts), float(np.mean(counts)), 100 * float(np.mean(np.equal(counts, 0))))
            for part, counts in parts.items()
            if counts
        }
        columns = (Column("queries", 0), Column("shared terms"), Column("% without any", 1))
        return FigureTable.of("shared", f"by {self.systems[0]}", "relevant", columns, rows)

    def reasons(self, filled: FilledSheets) -> FigureTable:
        """Returns the reasons, and how many queries of each the other systems find."""
        by_query = {case.query: case for case in self.cases}
        check_queries(filled, by_query, self.dataset.id)
        by_reason: dict[str, list[Case]] = {reason: [] for reason in REASONS}
        for key in sorted({key for sheet in filled.values() for key in sheet}):
            reason = majority([sheet[key][REASON] for sheet in filled.values() if key in sheet])
            if reason is not None:
                by_reason[reason].append(by_query[key[0]])
        others = range(1, len(self.systems))
        rows = {
            reason: (len(cases), *(sum(self.finds(case, i) for case in cases) for i in others))
            for reason, cases in by_reason.items()
        }
        columns = (Column("queries", 0), *(Column(f"{self.systems[n]} finds", 0) for n in others))
        count = sum(map(len, by_reason.values()))
        title = f"{count} queries that {self.systems[0]} misses, by reason"
        return FigureTable.of("reasons", title, REASON, columns, rows)

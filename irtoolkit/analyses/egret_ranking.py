"""EgRet, §4.2 and Appendix A: people rank and rate the example that was there and retrieved ones."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.analyses._egret import best_others, contexts_of
from irtoolkit.analyses._labelling import agreement_of
from irtoolkit.analyses._sheets import Filled, Sheet
from irtoolkit.analyses.base import (
    Analysis,
    Column,
    FigureRow,
    FigureTable,
    Findings,
    Given,
    complete,
)
from irtoolkit.base.errors import InputError
from irtoolkit.base.tables import TableCell

GOLD, RANK, RATING = "that was there", "rank", "rating"
RATINGS = ("1", "2", "3", "4", "5")
LETTERS = "ABCDEFGHIJ"
# Sheet by file name: (query, letter) to what was written.
Sheets = Mapping[str, Mapping[tuple[str, ...], Filled]]


@dataclass(frozen=True)
class EgretRanking(Analysis):
    """What people think of examples that systems retrieve, beside the one that was there.

    Each context has the example that was there and the best one of each system, which are not told
    apart and are in random order. Contexts whose example a system finds first are left out, as in the
    paper. People give equal ranks to equally good examples.

    Attributes:
        queries: contexts in the sample.
        seed: the seed of the draw.
    """

    name: ClassVar[str] = "egret-ranking"
    title: ClassVar[str] = "EgRet, §4.2: people rank and rate retrieved examples and the true one"
    datasets: ClassVar[tuple[str, ...]] = ("egret/dev/left",)
    system: ClassVar[str] = "bm25"
    depth: ClassVar[int | None] = 100
    people: ClassVar[bool] = True

    queries: int = 100
    seed: int = 0

    def find(self, given: Given) -> Findings:
        if self.queries < 1 or len(given.runs) >= len(LETTERS):
            raise InputError(f"{self.queries} queries of {len(given.runs)} systems")
        shown = self._shown(given)
        ranks = tuple(str(n) for n in range(1, len(given.runs) + 2))
        sheet = Sheet(
            ("query", "example"), ("question", "before", "text"), {RANK: ranks, RATING: RATINGS}
        )
        if given.sheet is None:
            filled = sheet.read(given.sheets)
            return _counted(filled, shown, [GOLD, *given.runs], ranks)
        contexts, docs = contexts_of(given.datasets[0]), given.datasets[0].docs_store()
        rows = [
            {"query": query, "example": letter, "question": contexts[query].question,
             "before": contexts[query].left, "text": docs.get(doc).default_text()}
            for query, letters in shown.items() for letter, (_, doc) in letters.items()
        ]  # fmt: skip
        sheet.write(given.sheet, rows)
        return Findings(
            (),
            notes=(
                f"{RANK}: {ranks[0]} for the best example of a context to {ranks[-1]}, equal ones"
                f" alike; {RATING}: {RATINGS[0]} to {RATINGS[-1]}, how well it fits the context.",
            ),
        )

    def _shown(self, given: Given) -> dict[str, dict[str, tuple[str, str]]]:
        """Query id to letter to (who gives the example, its id), in random order."""
        dataset = given.datasets[0]
        golds = dataset.relevant()
        kept = [query for query in contexts_of(dataset) if query in golds]
        found = {}
        for name, run in given.runs.items():
            complete(run, name, kept)
            found[name] = best_others(run, kept, golds)
            kept = [
                query for query in kept
                if query in found[name] and run.ranking(query)[0].doc_id == found[name][query]
            ]  # fmt: skip
        draw = random.Random(self.seed)
        shown = {}
        for query in draw.sample(kept, min(self.queries, len(kept))):
            given_by = [
                (GOLD, golds[query][0]),
                *((name, one[query]) for name, one in found.items()),
            ]
            draw.shuffle(given_by)
            shown[query] = dict(zip(LETTERS, given_by, strict=False))
        if not shown:
            raise InputError("no context is left", remedy="its example is found first in each")
        return shown


def _counted(
    filled: Sheets,
    shown: Mapping[str, Mapping[str, tuple[str, str]]],
    systems: Sequence[str],
    ranks: tuple[str, ...],
) -> Findings:
    """The figures of each system."""
    for name, one in filled.items():
        strange = next((key for key in one if key[1] not in shown.get(key[0], ())), None)
        if strange is not None:
            raise InputError(
                f"{' '.join(strange)} is not in the sample", file=name,
                remedy="give the dataset, runs and settings that the sheet was made with",
            )  # fmt: skip
    rows = []
    for system in systems:
        keys = [
            (query, letter)
            for query, letters in shown.items()
            for letter, (whose, _) in letters.items()
            if whose == system
        ]
        alphas: list[TableCell] = [None, None]
        if len(filled) > 1:
            alphas = [
                agreement_of(filled, keys, column, words, "ordinal")
                for column, words in ((RANK, ranks), (RATING, RATINGS))
            ]
        figures = (_mean(filled, keys, RANK), alphas[0], _mean(filled, keys, RATING), alphas[1])
        rows.append(FigureRow((system,), figures))
    columns = (Column("mean rank"), Column("α of ranks", 3), Column("mean rating"),
               Column("α of ratings", 3))  # fmt: skip
    title = f"{len(shown)} contexts, judged by {len(filled)}"
    return Findings((FigureTable("ranking", title, ("example",), columns, tuple(rows)),))


def _mean(filled: Sheets, keys: Sequence[tuple[str, str]], column: str) -> float:
    """The mean of what was written, NaN where nothing was."""
    values = [
        int(one[key][column]) for one in filled.values() for key in keys
        if key in one and one[key][column]
    ]  # fmt: skip
    return float(np.mean(values)) if values else float("nan")

"""EgRet, §4.2 and Appendix A: people rank and rate true, retrieved and generated examples."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.tables import TableCell
from irtoolkit.datasets.strictjson import read_jsonl
from irtoolkit.papers.analyses._egret import best_others, contexts_of
from irtoolkit.papers.analyses._labelling import agreement_of
from irtoolkit.papers.analyses._sheets import Filled, Sheet
from irtoolkit.papers.analyses.base import (
    Analysis,
    Column,
    FigureRow,
    FigureTable,
    Findings,
    Given,
    complete,
)
from irtoolkit.runs import Run

GOLD, RANK, RATING = "that was there", "rank", "rating"
RATINGS = ("1", "2", "3", "4", "5")
LETTERS = "ABCDEFGHIJ"
# Sheet by file name: (query, letter) to what was written.
Sheets = Mapping[str, Mapping[tuple[str, ...], Filled]]


@dataclass(frozen=True)
class EgretRanking(Analysis):
    """People's judgments of examples that systems retrieve, beside the true one.

    Each context has the true example, the best one of each system, and what a model has generated;
    they are not told apart and are in random order. Contexts whose example a system ranks first are
    left out, as in the paper. People give equal ranks to equally good examples.

    Attributes:
        queries: contexts in the sample.
        seed: the seed of the draw.
        generated: files of JSON lines with a query and a text, one for each model, separated by
            commas; contexts without a text are left out.
        begins: the beginning of examples whose contexts are drawn; "For example" in the paper.
    """

    name: ClassVar[str] = "egret-ranking"
    title: ClassVar[str] = "EgRet, §4.2: people rank and rate retrieved examples and the true one"
    datasets: ClassVar[tuple[str, ...]] = ("egret/dev/left",)
    system: ClassVar[str] = "bm25"
    depth: ClassVar[int | None] = 100
    people: ClassVar[bool] = True

    queries: int = 100
    seed: int = 0
    generated: str = ""
    begins: str = ""

    def find(self, given: Given) -> Findings:
        made = _generated(self.generated, given.runs)
        systems = [*given.runs, *made]
        if self.queries < 1 or len(systems) >= len(LETTERS):
            raise InputError(f"{self.queries} queries of {len(systems)} systems")
        shown = self._shown(given, made)
        ranks = tuple(str(n) for n in range(1, len(systems) + 2))
        sheet = Sheet(
            ("query", "example"), ("question", "before", "text"), {RANK: ranks, RATING: RATINGS}
        )
        if given.sheet is None:
            filled = sheet.read(given.sheets)
            return _counted(filled, shown, [GOLD, *systems], ranks)
        contexts = contexts_of(given.datasets[0])
        rows = [
            {
                "query": query,
                "example": letter,
                "question": contexts[query].question,
                "before": contexts[query].left,
                "text": text,
            }
            for query, letters in shown.items()
            for letter, (_, text) in letters.items()
        ]
        sheet.write(given.sheet, rows)
        return Findings(
            (),
            notes=(
                f"{RANK}: {ranks[0]} for the best example of a context to {ranks[-1]}, equal ones"
                f" alike; {RATING}: {RATINGS[0]} to {RATINGS[-1]}, how well it fits the context.",
            ),
        )

    def _shown(
        self, given: Given, made: Mapping[str, Mapping[str, str]]
    ) -> dict[str, dict[str, tuple[str, str]]]:
        """Returns query id to letter to (who gives the example, the example), in random order."""
        dataset = given.datasets[0]
        golds, docs = dataset.relevant(), dataset.docs_store()

        def text(doc: str) -> str:
            return str(docs.get(doc).default_text())

        kept = _generated_for(made, [q for q in contexts_of(dataset) if q in golds], dataset.id)
        if self.begins:
            kept = [q for q in kept if text(golds[q][0]).lower().startswith(self.begins.lower())]
        kept, found = _not_first(given.runs, kept, golds)
        draw = random.Random(self.seed)
        shown = {}
        for query in draw.sample(kept, min(self.queries, len(kept))):
            given_by = [
                (GOLD, text(golds[query][0])),
                *((name, text(one[query])) for name, one in found.items()),
                *((name, texts[query]) for name, texts in made.items()),
            ]
            draw.shuffle(given_by)
            shown[query] = dict(zip(LETTERS, given_by, strict=False))
        if not shown:
            why = "its example is found first in each"
            if made or self.begins:
                why += ", has no generated text, or begins with other words"
            raise InputError("no context is left", remedy=why)
        return shown


def _generated_for(
    made: Mapping[str, Mapping[str, str]], queries: Sequence[str], dataset: str
) -> list[str]:
    """Returns the queries that every model has a text for."""
    known = frozenset(queries)
    for name, texts in made.items():
        strange = next((query for query in texts if query not in known), None)
        if strange is not None:
            raise InputError(f"{name} has a text for {strange}, which is no query of {dataset}")
    return [query for query in queries if all(query in texts for texts in made.values())]


def _not_first(
    runs: Mapping[str, Run], queries: Sequence[str], golds: Mapping[str, Sequence[str]]
) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Returns the queries whose example no system ranks first, and each system's best other one."""
    kept, found = list(queries), {}
    for name, run in runs.items():
        complete(run, name, kept)
        found[name] = best_others(run, kept, golds)
        kept = [
            query
            for query in kept
            if query in found[name] and run.ranking(query)[0].doc_id == found[name][query]
        ]
    return kept, found


def _generated(files: str, runs: Mapping[str, Run]) -> dict[str, dict[str, str]]:
    """Returns name of a file to query id to the text that a model has generated.

    Raises:
        InputError: a line is not a query with a text, or a query or name is repeated.
    """
    found: dict[str, dict[str, str]] = {}
    for path in map(Path, filter(None, files.split(","))):
        if path.name in found or path.name in runs:
            raise InputError(f"two systems are named {path.name}", remedy="rename one of the files")
        texts = found[path.name] = {}
        for line, record in read_jsonl(path, own=True):
            one = record if isinstance(record, dict) else {}
            query, text = one.get("query"), one.get("text")
            if not isinstance(query, str) or not isinstance(text, str) or not text.strip():
                raise InputError(
                    "no query with a text",
                    file=path,
                    line=line,
                    remedy='a line is an object such as {"query": "q1.1.1", "text": "..."}',
                )
            if query in texts:
                raise InputError(f"query {query} is there twice", file=path, line=line)
            texts[query] = text
    return found


def _counted(
    filled: Sheets,
    shown: Mapping[str, Mapping[str, tuple[str, str]]],
    systems: Sequence[str],
    ranks: tuple[str, ...],
) -> Findings:
    """Returns the figures of each system."""
    for name, one in filled.items():
        strange = next((key for key in one if key[1] not in shown.get(key[0], ())), None)
        if strange is not None:
            raise InputError(
                f"{' '.join(strange)} is not in the sample",
                file=name,
                remedy="give the dataset, runs and settings that the sheet was made with",
            )
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
        ranked = _values(filled, keys, RANK)
        first = 100 * ranked.count(1) / len(ranked) if ranked else float("nan")
        rated = _values(filled, keys, RATING)
        figures = (_mean(ranked), first, alphas[0], _mean(rated), alphas[1])
        rows.append(FigureRow((system,), figures))
    columns = (
        Column("mean rank"),
        Column("ranked best, %", 1),
        Column("α of ranks", 3),
        Column("mean rating"),
        Column("α of ratings", 3),
    )
    title = f"{len(shown)} contexts, judged by {len(filled)}"
    return Findings((FigureTable("ranking", title, ("example",), columns, tuple(rows)),))


def _values(filled: Sheets, keys: Sequence[tuple[str, str]], column: str) -> list[int]:
    """Returns people's values in a column."""
    return [
        int(one[key][column])
        for one in filled.values()
        for key in keys
        if key in one and one[key][column]
    ]


def _mean(values: Sequence[int]) -> float:
    return float(np.mean(values)) if values else float("nan")

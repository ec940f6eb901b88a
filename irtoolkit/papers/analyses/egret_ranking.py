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
from irtoolkit.papers.analyses._queries import best_others, example_contexts
from irtoolkit.papers.analyses._sheets import FilledSheets, Sheet, check_keys
from irtoolkit.papers.analyses.base import (
    Analysis,
    Column,
    FigureTable,
    Findings,
    Given,
    check_complete,
)
from irtoolkit.papers.analyses.labelling import agreement_of
from irtoolkit.runs import Run

GOLD, RANK, RATING = "that was there", "rank", "rating"
RATINGS = ("1", "2", "3", "4", "5")
LETTERS = "ABCDEFGHIJ"


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

    def find(self, inputs: Given) -> Findings:
        generated = _generated(self.generated, inputs.runs)
        systems = [*inputs.runs, *generated]
        if self.queries < 1 or len(systems) >= len(LETTERS):
            raise InputError(f"{self.queries} queries of {len(systems)} systems")
        items = self._shown(inputs, generated)
        ranks = tuple(str(n) for n in range(1, len(systems) + 2))
        sheet = Sheet(
            ("query", "example"), ("question", "before", "text"), {RANK: ranks, RATING: RATINGS}
        )
        if inputs.sheet is None:
            filled = sheet.read(inputs.sheets)
            return _counted(filled, items, [GOLD, *systems], ranks)
        contexts = example_contexts(inputs.datasets[0])
        rows = [
            {
                "query": query,
                "example": letter,
                "question": contexts[query].question,
                "before": contexts[query].left,
                "text": text,
            }
            for query, letters in items.items()
            for letter, (_, text) in letters.items()
        ]
        sheet.write(inputs.sheet, rows)
        return Findings(
            (),
            notes=(
                f"{RANK}: {ranks[0]} for the best example of a context to {ranks[-1]}, equal ones"
                f" alike; {RATING}: {RATINGS[0]} to {RATINGS[-1]}, how well it fits the context.",
            ),
        )

    def _shown(
        self, inputs: Given, generated: Mapping[str, Mapping[str, str]]
    ) -> dict[str, dict[str, tuple[str, str]]]:
        """Returns query id to letter to (who gives the example, the example), in random order."""
        dataset = inputs.datasets[0]
        golds, docs = dataset.relevant(), dataset.docs_store()

        def text(doc: str) -> str:
            return str(docs.get(doc).default_text())

        queries = _generated_for(
            generated, [q for q in example_contexts(dataset) if q in golds], dataset.id
        )
        if self.begins:
            queries = [
                q for q in queries if text(golds[q][0]).lower().startswith(self.begins.lower())
            ]
        queries, outputs = _not_first(inputs.runs, queries, golds)
        draw = random.Random(self.seed)
        items = {}
        for query in draw.sample(queries, min(self.queries, len(queries))):
            given_by = [
                (GOLD, text(golds[query][0])),
                *((name, text(output[query])) for name, output in outputs.items()),
                *((name, texts[query]) for name, texts in generated.items()),
            ]
            draw.shuffle(given_by)
            items[query] = dict(zip(LETTERS, given_by, strict=False))
        if not items:
            why = "its example is found first in each"
            if generated or self.begins:
                why += ", has no generated text, or begins with other words"
            raise InputError("no context is left", remedy=why)
        return items


def _generated_for(
    generated: Mapping[str, Mapping[str, str]], queries: Sequence[str], dataset: str
) -> list[str]:
    """Returns the queries that every model has a text for."""
    wanted_ids = frozenset(queries)
    for name, texts in generated.items():
        strange = next((query for query in texts if query not in wanted_ids), None)
        if strange is not None:
            raise InputError(f"{name} has a text for {strange}, which is no query of {dataset}")
    return [query for query in queries if all(query in texts for texts in generated.values())]


def _not_first(
    runs: Mapping[str, Run], queries: Sequence[str], golds: Mapping[str, Sequence[str]]
) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Returns the queries whose example no system ranks first, and each system's best other one."""
    remaining, outputs = list(queries), {}
    for name, run in runs.items():
        check_complete(run, name, remaining)
        outputs[name] = best_others(run, remaining, golds)
        remaining = [
            query
            for query in remaining
            if query in outputs[name] and run.ranking(query)[0].doc_id == outputs[name][query]
        ]
    return remaining, outputs


def _generated(files: str, runs: Mapping[str, Run]) -> dict[str, dict[str, str]]:
    """Returns name of a file to query id to the text that a model has generated.

    Raises:
        InputError: a line is not a query with a text, or a query or name is repeated.
    """
    generated: dict[str, dict[str, str]] = {}
    for path in map(Path, filter(None, files.split(","))):
        if path.name in generated or path.name in runs:
            raise InputError(f"two systems are named {path.name}", remedy="rename one of the files")
        texts = generated[path.name] = {}
        for line, record in read_jsonl(path, by_user=True):
            fields = record if isinstance(record, dict) else {}
            query, text = fields.get("query"), fields.get("text")
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
    return generated


def _counted(
    filled: FilledSheets,
    items: Mapping[str, Mapping[str, tuple[str, str]]],
    systems: Sequence[str],
    ranks: tuple[str, ...],
) -> Findings:
    """Returns the figures of each system."""
    check_keys(
        filled,
        {(query, letter) for query, letters in items.items() for letter in letters},
        "the sample",
        "give the dataset, runs and settings that the sheet was made with",
    )
    rows = {}
    for system in systems:
        keys = [
            (query, letter)
            for query, letters in items.items()
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
        rows[system] = (_mean(ranked), first, alphas[0], _mean(rated), alphas[1])
    columns = (
        Column("mean rank"),
        Column("ranked best, %", 1),
        Column("α of ranks", 3),
        Column("mean rating"),
        Column("α of ratings", 3),
    )
    title = f"{len(items)} contexts, judged by {len(filled)}"
    return Findings((FigureTable.of("ranking", title, "example", columns, rows),))


def _values(filled: FilledSheets, keys: Sequence[tuple[str, str]], column: str) -> list[int]:
    """Returns people's values in a column."""
    return [
        int(sheet[key][column])
        for sheet in filled.values()
        for key in keys
        if key in sheet and sheet[key][column]
    ]


def _mean(values: Sequence[int]) -> float:
    return float(np.mean(values)) if values else float("nan")

"""Analyses in which people label a sample: what critics quote for, and what readers' texts say of a plot."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.plotretrieval_release import PlotQuery
from irtoolkit.papers.analyses._queries import golds_of, windows_of
from irtoolkit.papers.analyses._sheets import Filled, FilledSheets, Sheet, check_keys, majority
from irtoolkit.papers.analyses.base import (
    Analysis,
    Bars,
    Column,
    FigureTable,
    Findings,
    Given,
    Printed,
    records,
)

LABEL = "label"


@dataclass(frozen=True)
class Labelling(Analysis):
    """A random sample of queries that people label by kind.

    With `--sheet` the sample is written. With `--sheets` labels are counted; with several people,
    the majority's.

    Attributes:
        queries: the number of queries in the sample.
        seed: the seed of the draw.
        labels: label to its meaning.
        texts: the columns of the sheet that people read.
    """

    people: ClassVar[bool] = True
    labels: ClassVar[Mapping[str, str]]
    texts: ClassVar[tuple[str, ...]]

    queries: int = 200
    seed: int = 0

    def rows(self, dataset: Dataset) -> Sequence[Mapping[str, str]]:
        """Returns a row of the sheet for each query that can be drawn.

        Raises:
            InputError: the dataset is of another form.
        """
        raise NotImplementedError

    def find(self, inputs: Given) -> Findings:
        sheet = Sheet(("query",), self.texts, {LABEL: tuple(self.labels)})
        meanings = "; ".join(f"{label}: {meaning}" for label, meaning in self.labels.items())
        if inputs.sheet is not None:
            rows = self.rows(inputs.datasets[0])
            sheet.write(inputs.sheet, self._drawn(rows))
            return Findings((), notes=(f"Labels: {meanings}.",))
        filled = sheet.read(inputs.sheets)
        dataset = inputs.datasets[0]
        check_queries(filled, dataset.query_ids(), dataset.id)
        return self._counted(filled, meanings)

    def _drawn(self, rows: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
        if not self.queries > 0:
            raise InputError(f"queries is {self.queries}, not at least 1")
        count = min(self.queries, len(rows))
        places = random.Random(self.seed).sample(range(len(rows)), count)
        return [rows[i] for i in sorted(places)]

    def _counted(self, filled: FilledSheets, meanings: str) -> Findings:
        keys = sorted({key for sheet in filled.values() for key in sheet})
        chosen = [
            majority([sheet[key][LABEL] for sheet in filled.values() if key in sheet])
            for key in keys
        ]
        total = sum(label is not None for label in chosen)
        counts = {label: chosen.count(label) for label in self.labels}
        figures = {label: (count, 100 * count / max(1, total)) for label, count in counts.items()}
        columns = (Column("examples", 0), Column("%", 1))
        table = FigureTable.of("labels", self.title, LABEL, columns, figures)
        notes = [f"Labels: {meanings}."]
        if len(filled) > 1:
            alpha = agreement_of(filled, keys, LABEL, tuple(self.labels))
            notes.append(
                f"{len(filled)} people, Krippendorff's α (nominal) {alpha:.3f}; of"
                f" {len(keys) - total} examples no label was written most often."
            )
        chart = Bars("labels", "", "examples", list(counts), {"examples": list(counts.values())})
        return Findings((table,), (chart,), tuple(notes))


def check_queries(filled: FilledSheets, query_ids: Iterable[str], dataset: str) -> None:
    """Raises InputError for a row that is not of a query of the dataset."""
    allowed = {(query_id,) for query_id in query_ids}
    check_keys(filled, allowed, dataset, "name the dataset that the sheet was made for")


def agreement_of(
    filled: Mapping[str, Mapping[Any, Filled]],
    keys: Sequence[Any],
    column: str,
    words: Sequence[str],
    level: Any = "nominal",
) -> float:
    """Returns Krippendorff's α of several people's words in a column; NaN if it is not defined."""
    from irtoolkit.scoring.agreement import alpha

    number_of = {word: float(number) for number, word in enumerate(words)}
    missing = float("nan")
    return alpha(
        [
            [number_of.get(sheet[k][column], missing) if k in sheet else missing for k in keys]
            for sheet in filled.values()
        ],
        level,
    )


# -- the analyses -----------------------------------------------------------------------------


@dataclass(frozen=True)
class RelicTypes(Labelling):
    """Types of quotations in a sample of windows, as people judge them."""

    name: ClassVar[str] = "relic-types"
    title: ClassVar[str] = "RELiC, §2.3 and Table 2: what critics quote for"
    datasets: ClassVar[tuple[str, ...]] = ("relic/val",)
    reported: ClassVar[Mapping[str, Printed]] = {
        "labels": {
            ("claim",): (153, None),
            ("paraphrase",): (25, None),
            ("other",): (13, None),
            ("damaged",): (10, None),
        }
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "The paper annotates 200 held-out windows; its four counts add up to 201.",
    )
    labels: ClassVar[Mapping[str, str]] = {
        "claim": "the quotation is evidence for a more general claim",
        "paraphrase": "it supports a paraphrase of the plot",
        "other": "the text is no literary analysis",
        "damaged": "scanning or cleaning has damaged the text",
    }
    texts: ClassVar[tuple[str, ...]] = ("book", "before", "quotation", "after")

    def rows(self, dataset: Dataset) -> Sequence[Mapping[str, str]]:
        quoted = golds_of(dataset)
        windows = [window for window in windows_of(dataset) if window.query_id in quoted]
        passages = dataset.docs_store()
        return [
            {
                "query": window.query_id,
                "book": window.book,
                "before": " ".join(window.left),
                "quotation": passages.get(quoted[window.query_id]).text,
                "after": " ".join(window.right),
            }
            for window in windows
        ]


@dataclass(frozen=True)
class PlotAssociations(Labelling):
    """Kinds of association between a sample of queries and their passages, as people judge them.

    The paper draws the shares and prints none.
    """

    name: ClassVar[str] = "plotretrieval-associations"
    title: ClassVar[str] = "PlotRetrieval, Figure 2: in what way a reader's text is about the plot"
    datasets: ClassVar[tuple[str, ...]] = ("plotretrieval/test",)
    labels: ClassVar[Mapping[str, str]] = {
        "summarization": "the text summarizes the plot abstractly",
        "expression": "it expresses feelings, analysis or comments",
        "description": "it depicts characters of the plot",
        "vision": "it describes what can be seen",
        "reminiscence": "the plot reminds of another event",
    }
    texts: ClassVar[tuple[str, ...]] = ("book", "text", "passage")

    def rows(self, dataset: Dataset) -> Sequence[Mapping[str, str]]:
        passages = dataset.docs_store()
        return [
            {
                "query": query.query_id,
                "book": query.book,
                "text": query.text,
                "passage": " … ".join(passages.get(span).text for span in query.spans),
            }
            for query in records(dataset, PlotQuery, "readers' texts on plots")
        ]

"""Analyses in which people give each of some examples one of several labels."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._sheets import Filled, Sheet, majority
from irtoolkit.papers.analyses.base import Analysis, Column, FigureRow, FigureTable, Findings, Given
from irtoolkit.papers.analyses.charts import Bars

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
        shown: the columns of the sheet that are read.
    """

    people: ClassVar[bool] = True
    labels: ClassVar[Mapping[str, str]]
    shown: ClassVar[tuple[str, ...]]

    queries: int = 200
    seed: int = 0

    def rows(self, dataset: Dataset) -> Sequence[Mapping[str, str]]:
        """Returns a row of the sheet for each query that can be drawn.

        Raises:
            InputError: the dataset is of another form.
        """
        raise NotImplementedError

    def find(self, inputs: Given) -> Findings:
        sheet = Sheet(("query",), self.shown, {LABEL: tuple(self.labels)})
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

    def _counted(
        self, filled: Mapping[str, Mapping[tuple[str, ...], Filled]], meanings: str
    ) -> Findings:
        keys = sorted({key for sheet in filled.values() for key in sheet})
        chosen = [
            majority([sheet[key][LABEL] for sheet in filled.values() if key in sheet])
            for key in keys
        ]
        total = sum(label is not None for label in chosen)
        counts = {label: chosen.count(label) for label in self.labels}
        rows = tuple(
            FigureRow((label,), (count, 100 * count / max(1, total)))
            for label, count in counts.items()
        )
        table = FigureTable(
            "labels", self.title, (LABEL,), (Column("examples", 0), Column("%", 1)), rows
        )
        notes = [f"Labels: {meanings}."]
        if len(filled) > 1:
            alpha = agreement_of(filled, keys, LABEL, tuple(self.labels))
            notes.append(
                f"{len(filled)} people, Krippendorff's α (nominal) {alpha:.3f}; of"
                f" {len(keys) - total} examples no label was written most often."
            )
        chart = Bars("labels", "", "examples", list(counts), {"examples": list(counts.values())})
        return Findings((table,), (chart,), tuple(notes))


def check_queries(
    filled: Mapping[str, Mapping[tuple[str, ...], Filled]], query_ids: Iterable[str], dataset: str
) -> None:
    """Raises InputError for sheets whose rows are not of the queries of a dataset.

    Raises:
        InputError: names the file and an unknown query.
    """
    allowed = {*query_ids}
    for name, sheet in filled.items():
        strange = next((key[0] for key in sheet if key[0] not in allowed), None)
        if strange is not None:
            raise InputError(
                f"query {strange} is not one of {dataset}",
                file=name,
                remedy="name the dataset that the sheet was made for",
            )


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

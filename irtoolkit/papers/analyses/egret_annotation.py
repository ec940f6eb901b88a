"""EgRet, §2.2 and §2.3: validity, kind and length of examples, as people judge them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.analyses._annotations import (
    ANCHOR,
    HYPOTHETICAL,
    KIND,
    LABELS,
    MEANINGS,
    NO,
    PERSONAL,
    REAL,
    SHEET,
    SPANS,
    UNIT,
    VALID,
    YES,
    Annotated,
    Text,
    pairs,
    read_annotations,
    unigram_overlap,
)
from irtoolkit.papers.analyses._queries import example_contexts
from irtoolkit.papers.analyses.base import (
    Analysis,
    Bars,
    Column,
    FigureRow,
    FigureTable,
    Findings,
    Given,
)
from irtoolkit.papers.analyses.labelling import agreement_of

Reported = Mapping[str, tuple[float | None, ...]]
# Table 2: valid examples, extracted ones, percent.
_VALID: Reported = {
    "ELI5": (87, 93, 94),
    "NQ": (89, 95, 94),
    "Books3": (85, 94, 90),
    "the paper's, all": (261, 282, 93),
}
# The text of §2.2: examples, percent real, hypothetical and personal; those of all from the counts of
# Table 3.
_KINDS: Reported = {
    "ELI5": (87, None, 32, 12),
    "NQ": (89, None, 16, None),
    "Books3": (85, None, 12, None),
    "the paper's, all": (261, 80, 20, 5),
}
# Table 3: examples, sentences and words of the anchor, sentences and words of the example.
_UNITS: Reported = {
    "ELI5": (87, 1.1, 16.6, 1.3, 29.2),
    "NQ": (89, 1.0, 15.4, 1.4, 25.1),
    "Books3": (85, 1.1, 17.0, 1.2, 25.1),
    REAL: (209, 1.1, 14.5, 1.3, 24.6),
    HYPOTHETICAL: (52, 1.2, 23.4, 1.2, 33.7),
    PERSONAL: (13, 1.1, 18.1, 2.0, 49.6),
    "not personal": (248, 1.1, 16.3, 1.2, 25.2),
}
# §2.3: two annotators, 50 examples.
_AGREED: Reported = {
    KIND: (50, None, 0.48, None, None),
    PERSONAL: (50, None, 0.48, None, None),
    ANCHOR: (50, None, None, None, 0.81),
    UNIT: (50, None, None, None, 0.92),
}
EVERYONE = "everyone"


@dataclass(frozen=True)
class EgretAnnotation(Analysis):
    """Annotations of a random sample of examples, of one dataset or several.

    Some examples of the sample are for every annotator, so that agreement can be computed; the
    others are divided among them.

    Attributes:
        queries: examples of each dataset in the sample.
        annotators: people who share the work.
        shared: examples that all of them annotate, of all datasets together.
        seed: the seed of the draw.
    """

    name: ClassVar[str] = "egret-annotation"
    title: ClassVar[str] = "EgRet, §2.2 and Tables 2 and 3: kinds and parts of examples"
    datasets: ClassVar[tuple[str, ...]] = ("egret/dev",)
    several: ClassVar[bool] = True
    people: ClassVar[bool] = True

    queries: int = 100
    annotators: int = 2
    shared: int = 50
    seed: int = 0

    def find(self, inputs: Given) -> Findings:
        if self.queries < 1 or self.annotators < 1 or self.shared < 0:
            raise InputError(
                f"{self.queries} queries, {self.annotators} annotators, {self.shared} shared",
                remedy="at least one query and annotator, and no negative number",
            )
        texts = {dataset.id: _texts(dataset) for dataset in inputs.datasets}
        if inputs.sheet is not None:
            SHEET.write(inputs.sheet, self._rows(texts))
            return Findings((), notes=MEANINGS)
        SHEET.check_sheets(inputs.sheets)
        return _findings(read_annotations(inputs.sheets, texts), list(texts), len(inputs.sheets))

    def _rows(self, texts: Mapping[str, Mapping[str, Text]]) -> list[dict[str, str]]:
        draw = random.Random(self.seed)
        rows = [
            texts[dataset][query].row(dataset)
            for dataset in texts
            for query in draw.sample(list(texts[dataset]), min(self.queries, len(texts[dataset])))
        ]
        draw.shuffle(rows)
        shared = len(rows) if self.annotators == 1 else self.shared
        for number, row in enumerate(rows):
            annotator = str(1 + (number - shared) % self.annotators)
            row["for"] = EVERYONE if number < shared else annotator
        # Each person's rows are together.
        return sorted(rows, key=lambda row: "" if row["for"] == EVERYONE else f"{row['for']:0>9}")


def _texts(dataset: Dataset) -> dict[str, Text]:
    """Returns query id to its example."""
    contexts, golds = example_contexts(dataset), dataset.relevant()
    docs = dataset.docs_store()
    return {
        query: Text(context, docs.get(golds[query][0]).default_text())
        for query, context in contexts.items()
        if query in golds
    }


def _findings(annotated: Sequence[Annotated], datasets: Sequence[str], people: int) -> Findings:
    valid = [item for item in annotated if item.valid]
    kinds = _kinds(valid, datasets)
    tables = [_valid(annotated, datasets), kinds, _units(valid, datasets)]
    undecided = sum(
        item.label(column) is None
        for item in annotated
        for column in (LABELS if item.valid else (VALID,))
    )
    notes = [
        f"{len(annotated)} examples, {people} sheets. reported: the paper's, of its own sample."
    ]
    if people > 1:
        tables.append(_agreement(annotated, valid))
        notes.append("overlap: F1 of the words of two people's anchors or examples.")
    if undecided:
        notes.append(f"{undecided} labels were written equally often; they count for neither.")
    names = [row.names[0] for row in kinds.rows if row.values]
    shares = {
        column.name: [float(row.values[i] or 0) for row in kinds.rows if row.values]
        for i, column in enumerate(kinds.columns)
        if i
    }
    return Findings(tuple(tables), (Bars("kinds", "", "%", names, shares),), tuple(notes))


def _table(
    name: str,
    title: str,
    columns: tuple[Column, ...],
    rows: Mapping[str, tuple[float | None, ...]],
    reported: Reported,
) -> FigureTable:
    """Returns measured rows, and below them those of the paper, whose sample was another one."""
    table_rows = [FigureRow((row,), values) for row, values in rows.items()]
    table_rows += [FigureRow((row,), (), values) for row, values in reported.items()]
    return FigureTable(name, title, ("examples",), columns, tuple(table_rows))


def _each(
    annotated: Sequence[Annotated],
    datasets: Sequence[str],
    figures: Callable[[Sequence[Annotated]], tuple[float | None, ...]],
) -> dict[str, tuple[float | None, ...]]:
    """Returns the figures of each dataset, and of all if there are several."""
    rows = {
        name: figures([item for item in annotated if item.dataset == name]) for name in datasets
    }
    return rows | ({"all": figures(annotated)} if len(datasets) > 1 else {})


def _percent(count: int, total: int) -> float:
    return 100 * count / total if total else float("nan")


def _valid(annotated: Sequence[Annotated], datasets: Sequence[str]) -> FigureTable:
    def figures(items: Sequence[Annotated]) -> tuple[float | None, ...]:
        valid = sum(item.valid for item in items)
        return valid, len(items), _percent(valid, len(items))

    columns = (Column("valid", 0), Column("extracted", 0), Column("valid, %", 0))
    title = "Extracted examples that are examples"
    return _table("valid", title, columns, _each(annotated, datasets, figures), _VALID)


def _kinds(valid: Sequence[Annotated], datasets: Sequence[str]) -> FigureTable:
    def figures(items: Sequence[Annotated]) -> tuple[float | None, ...]:
        kinds = [item.label(KIND) for item in items]
        decided = sum(kind is not None for kind in kinds)
        personal = [item.label(PERSONAL) for item in items]
        return (
            len(items),
            *(_percent(kinds.count(kind), decided) for kind in (REAL, HYPOTHETICAL)),
            _percent(personal.count(YES), sum(word is not None for word in personal)),
        )

    columns = (
        Column("valid", 0),
        Column("real, %", 0),
        Column("hypothetical, %", 0),
        Column("personal, %", 0),
    )
    return _table("kinds", "Kinds of examples", columns, _each(valid, datasets, figures), _KINDS)


def _units(valid: Sequence[Annotated], datasets: Sequence[str]) -> FigureTable:
    def figures(items: Sequence[Annotated]) -> tuple[float | None, ...]:
        means: list[float | None] = []
        for column in SPANS:
            lengths = [length for item in items if (length := item.lengths(column)) is not None]
            means += np.mean(lengths, axis=0).tolist() if lengths else [float("nan")] * 2
        return len(items), *means

    rows = _each(valid, datasets, figures)
    for column, label, name in (
        (KIND, REAL, REAL),
        (KIND, HYPOTHETICAL, HYPOTHETICAL),
        (PERSONAL, YES, PERSONAL),
        (PERSONAL, NO, "not personal"),
    ):
        rows[name] = figures([item for item in valid if item.label(column) == label])
    columns = (
        Column("valid", 0),
        *(Column(f"{part}, {unit}", 1) for part in SPANS for unit in ("sentences", "words")),
    )
    return _table("units", "Anchors and examples, means", columns, rows, _UNITS)


def _agreement(annotated: Sequence[Annotated], valid: Sequence[Annotated]) -> FigureTable:
    rows: dict[str, tuple[float | None, ...]] = {}
    for column, words in LABELS.items():
        items = annotated if column == VALID else valid
        rows[column] = (*_equal(items, column, words), None)
    for column in SPANS:
        overlaps = [unigram_overlap(first, second) for _, first, second in pairs(valid, column)]
        mean = float(np.mean(overlaps)) if overlaps else float("nan")
        rows[column] = (_by_two(valid, column), None, None, None, mean)
    columns = (
        Column("by two or more", 0),
        Column("equal, %", 1),
        Column("κ", 2),
        Column("α", 2),
        Column("overlap", 2),
    )
    table = _table("agreement", "Agreement of annotators", columns, rows, _AGREED)
    return FigureTable(table.name, table.title, ("judgment",), table.columns, table.rows)


def _by_two(annotated: Sequence[Annotated], column: str) -> int:
    return sum(sum(1 for row in item.given.values() if row[column]) > 1 for item in annotated)


def _equal(
    annotated: Sequence[Annotated], column: str, words: Sequence[str]
) -> tuple[float | None, ...]:
    """Examples of two people or more, equal labels in percent, κ (mean over pairs), and α."""
    from irtoolkit.scoring.agreement import kappa

    by_pair: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for names, word, second_word in pairs(annotated, column):
        by_pair.setdefault(names, []).append((words.index(word), words.index(second_word)))
    both = [labels for labels_found in by_pair.values() for labels in labels_found]
    kappas = [
        (kappa(*zip(*labels_found, strict=True)), len(labels_found))
        for labels_found in by_pair.values()
    ]
    defined = [(value, count) for value, count in kappas if not np.isnan(value)]
    mean = (
        float(np.average([v for v, _ in defined], weights=[n for _, n in defined]))
        if defined
        else float("nan")
    )
    filled: dict[str, dict[int, dict[str, str]]] = {}
    for number, item in enumerate(annotated):
        for name, row in item.given.items():
            filled.setdefault(name, {})[number] = row
    alpha = agreement_of(filled, range(len(annotated)), column, words)
    equal = _percent(sum(item == second_word for item, second_word in both), len(both))
    return _by_two(annotated, column), equal, mean, alpha

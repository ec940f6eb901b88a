"""People's annotations of examples: the columns of a sheet, and their evaluation (EgRet, §2.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.building.relic.words import Words
from irtoolkit.datasets.egret import ExampleQuery
from irtoolkit.datasets.examples import sentences
from irtoolkit.papers.analyses._sheets import Filled, Sheet, majority

VALID, KIND, PERSONAL, ANCHOR, UNIT = "valid", "type", "personal", "anchor", "example"
YES, NO = "yes", "no"
REAL, HYPOTHETICAL = "real", "hypothetical"
# Column to the words that may be written; none for a part of the text that is copied.
LABELS: dict[str, Sequence[str]] = {
    VALID: (YES, NO),
    KIND: (REAL, HYPOTHETICAL),
    PERSONAL: (YES, NO),
}
SPANS = (ANCHOR, UNIT)
MEANINGS = (
    f"{VALID}: {NO} where it is no example but an artifact, or the marker means something else,"
    " such as a figure or table",
    f"{KIND}: {REAL} of an entity or a fact, {HYPOTHETICAL} of a scenario that the author constructs",
    f"{PERSONAL}: {YES} where it is about the author",
    f"{ANCHOR}: the words that are exemplified, copied from the text",
    f"{UNIT}: the words that exemplify them, copied without the marker",
)
SHEET = Sheet(
    ("dataset", "query"),
    ("for", "question", "before", "text", "after"),
    {**LABELS, ANCHOR: (), UNIT: ()},
)
Key = tuple[str, ...]


@dataclass(frozen=True)
class Text:
    """An example that people annotate.

    Attributes:
        query: its context and question.
        text: the example as it was extracted.
    """

    query: ExampleQuery
    text: str

    def row(self, dataset: str) -> dict[str, str]:
        """Its row of a sheet."""
        return {
            "dataset": dataset,
            "query": self.query.query_id,
            "question": self.query.question,
            "before": self.query.left,
            "text": self.text,
            "after": self.query.right,
        }

    def has(self, span: str) -> bool:
        """Returns whether some words are in it; an ellipsis is for words that are left out."""
        whole = f" {Words.of(f'{self.query.left} {self.text} {self.query.right}').line} "
        parts = span.replace("\u2026", "...").replace("[...]", "...").split("...")
        return all(f" {Words.of(part).line} " in whole for part in parts if Words.of(part).line)


@dataclass(frozen=True)
class Annotated:
    """An example with the annotations of several people.

    Attributes:
        dataset: its dataset.
        given: file name to row.
    """

    dataset: str
    given: Mapping[str, Filled]

    def label(self, column: str) -> str | None:
        """Returns the majority's word in a column; None if two words are equally frequent."""
        return majority([row[column] for row in self.given.values() if row[column]])

    @property
    def valid(self) -> bool:
        """Whether most take it for an example."""
        return self.label(VALID) == YES

    def lengths(self, column: str) -> tuple[float, float] | None:
        """Sentences and words of the part that was copied, the mean of several people's."""
        spans = [row[column] for row in self.given.values() if row[column]]
        if not spans:
            return None
        counts = [(len(sentences(span)), len(span.split())) for span in spans]
        return float(np.mean([c for c, _ in counts])), float(np.mean([c for _, c in counts]))


def read_annotations(
    paths: Sequence[Path], texts: Mapping[str, Mapping[str, Text]]
) -> list[Annotated]:
    """Returns the examples that at least one person annotated.

    Args:
        paths: filled in sheets.
        texts: dataset to query id to its example.

    Raises:
        InputError: a file that is not such a sheet, an example that is not in the datasets, or an
            annotation that is incomplete or not of the text.
    """
    filled: dict[Key, dict[str, Filled]] = {}
    for (name, rows), path in zip(SHEET.read(paths).items(), paths, strict=True):
        for key, row in rows.items():
            dataset, query = key
            if dataset not in texts:
                raise InputError(
                    f"an example of {dataset}, which is not among {', '.join(texts)}",
                    file=path,
                    remedy="name the datasets that the sheet was made for",
                )
            if query not in texts[dataset]:
                raise InputError(f"{query} is not in {dataset}", file=path)
            problem = _problem(row, texts[dataset][query])
            if problem is not None:
                raise InputError(f"{dataset} {query}: {problem}", file=path)
            filled.setdefault(key, {})[name] = row
    return [Annotated(key[0], filled[key]) for key in sorted(filled)]


def _problem(row: Filled, text: Text) -> str | None:
    present = [name for name in (KIND, PERSONAL, *SPANS) if row[name]]
    if not row[VALID]:
        return f"{VALID} is empty, and {present[0]} is filled in"
    if row[VALID] == NO and present:
        return f"{VALID} is {NO}, and {present[0]} is filled in"
    absent = [name for name in (KIND, PERSONAL) if not row[name]]
    if row[VALID] == YES and absent:
        return f"{absent[0]} is empty"
    strange = next((name for name in SPANS if row[name] and not text.has(row[name])), None)
    if strange is not None:
        return f"{strange} {row[strange][:60]!r} is not in the text; copy its words"
    return None


def pairs(
    annotated: Sequence[Annotated], column: str
) -> Iterator[tuple[tuple[str, str], str, str]]:
    """Yields ((file, file), word, word) of each two people who filled in a column of an example."""
    for annotation in annotated:
        labels = [
            (name, row[column]) for name, row in sorted(annotation.given.items()) if row[column]
        ]
        for (first, word), (second, second_word) in combinations(labels, 2):
            yield (first, second), word, second_word


def unigram_overlap(left: str, right: str) -> float:
    """Returns the F1 of the words of two texts, with repetitions; from 0 to 1."""
    first, second = (Counter(Words.of(text).line.split()) for text in (left, right))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0

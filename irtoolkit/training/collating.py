"""Collating of training rows into the columns that a loss reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irtoolkit.base.ids import Ints
from irtoolkit.training.negatives import draw_negatives
from irtoolkit.training.recipes import Stage
from irtoolkit.training.training_set import TrainingSet

# Key of the numbers of a batch's rows, for messages.
ROWS = "rows"


class Collator:
    """A collator of row numbers into a batch, with negatives drawn anew in every epoch.

    Args:
        rows: the training set.
        stage: gives the negatives.
        layout: layout of a row, a key of LAYOUTS.
        seed: seed of the negatives that are drawn.
        inner: sentence-transformers' collator, which tokenizes the columns.
        epoch: returns the current epoch.
    """

    def __init__(
        self,
        rows: TrainingSet,
        stage: Stage,
        layout: str,
        seed: int,
        inner: Callable[[list[dict[str, Any]]], dict[str, Any]],
        epoch: Callable[[], int],
    ) -> None:
        self._rows, self._stage, self._layout = rows, stage, LAYOUTS[layout]
        self._seed, self._inner, self._epoch = seed, inner, epoch

    def __call__(self, features: Sequence[dict[str, int]]) -> dict[str, Any]:
        numbers = [feature["row"] for feature in features]
        items = [
            item for row in numbers for item in self._layout(self._rows, row, self._negatives(row))
        ]
        return {**self._inner(items), ROWS: numbers}

    def _negatives(self, row: int) -> Ints:
        """Returns the negatives of a row."""
        if self._stage.negatives == "random":
            return draw_negatives(self._rows, row, self._stage.count, self._seed, self._epoch())
        if self._rows.negatives is not None:
            mined: Ints = self._rows.negatives[row]
            return mined
        return self._rows.golds[:0]


def _texts(rows: TrainingSet, row: int, others: Ints) -> list[dict[str, Any]]:
    """Returns the texts of query, positive, negative_1, ..."""
    texts = {"query": rows.queries[row], "positive": rows.docs[int(rows.golds[row])]}
    return [texts | {f"negative_{i}": rows.docs[int(doc)] for i, doc in enumerate(others, 1)}]


def _numbered(rows: TrainingSet, row: int, others: Ints) -> list[dict[str, Any]]:
    """Returns the query with the number of its document as the label."""
    return [{"query": rows.queries[row], "label": int(rows.golds[row])}]


def _margins(rows: TrainingSet, row: int, others: Ints) -> list[dict[str, Any]]:
    """Returns the texts.

    The labels are the teacher's score of the positive minus that of each negative.
    """
    scores = _scores(rows, row)
    return [_texts(rows, row, others)[0] | {"label": [scores[0] - score for score in scores[1:]]}]


def _scored(rows: TrainingSet, row: int, others: Ints) -> list[dict[str, Any]]:
    """Returns the texts; the labels are the teacher's scores of the documents."""
    return [_texts(rows, row, others)[0] | {"label": _scores(rows, row)}]


def _pairs(rows: TrainingSet, row: int, others: Ints) -> list[dict[str, Any]]:
    """Returns the query with each document; the label is 1 for the relevant document, else 0."""
    docs = [int(rows.golds[row]), *map(int, others)]
    return [
        {"query": rows.queries[row], "document": rows.docs[doc], "label": int(i == 0)}
        for i, doc in enumerate(docs)
    ]


def _list(rows: TrainingSet, row: int, others: Ints) -> list[dict[str, Any]]:
    """Returns the query with its documents.

    The labels are 1 for the first, relevant one, else 0.
    """
    docs = [int(rows.golds[row]), *map(int, others)]
    labels = [1.0] + [0.0] * len(others)
    return [
        {"query": rows.queries[row], "documents": [rows.docs[d] for d in docs], "label": labels}
    ]


def _scores(rows: TrainingSet, row: int) -> list[float]:
    return [] if rows.scores is None else [float(score) for score in rows.scores[row]]


LAYOUTS: dict[str, Callable[[TrainingSet, int, Ints], list[dict[str, Any]]]] = {
    "texts": _texts,
    "numbered": _numbered,
    "margins": _margins,
    "scores": _scored,
    "pairs": _pairs,
    "list": _list,
}

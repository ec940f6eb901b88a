"""Texts that are given, and those of some of the queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irtoolkit.base.ids import Ids, Ints, Segments
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.texts import TextSource


class SingleSegments(Sequence[Segments]):
    """Texts as one segment each, which arrays of numbers may be taken from.

    Args:
        texts: the texts.
        positions: those that count, in order; by default all.
    """

    def __init__(self, texts: Sequence[str], positions: Ints | None = None) -> None:
        self._texts = texts
        self._positions = np.arange(len(texts)) if positions is None else positions

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice | np.ndarray):
            return SingleSegments(self._texts, self._positions[key])
        return (self._texts[int(self._positions[key])],)


class GivenTexts:
    """Texts that come with the task and have no views.

    Args:
        queries: (Q,) text of each query.
        docs: (D,) text of each document of the task; a sequence that takes arrays of indices.
    """

    def __init__(self, queries: Sequence[Segments], docs: Any) -> None:
        self._queries, self._docs = queries, docs

    def queries(self, name: str) -> list[Segments]:
        """(Q,) text of each query."""
        return list(self._queries)

    def docs(self, doc_ids: Ids, name: str, whole: bool) -> Any:
        """(D,) text of each document."""
        return self._docs

    def corpus(self, name: str) -> Iterator[tuple[str, Segments]]:
        """Numbers and texts of the task's documents, which are all there are."""
        return ((str(number), segments) for number, segments in enumerate(self._docs))

    @property
    def dataset(self) -> None:
        """None: the documents are given."""


@dataclass(frozen=True)
class SomeQueries:
    """The texts of a task with some of its queries.

    Attributes:
        whole: the texts of the task.
        kept: (q,) indices into its queries.
    """

    whole: TextSource
    kept: Ints

    def queries(self, name: str) -> list[Segments]:
        """(q,) text of each query under a view."""
        texts = self.whole.queries(name)
        return [texts[position] for position in self.kept.tolist()]

    def docs(self, doc_ids: Ids, name: str, whole: bool) -> Sequence[Segments]:
        """(D,) text of each document."""
        return self.whole.docs(doc_ids, name, whole)

    def corpus(self, name: str) -> Iterator[tuple[str, Segments]]:
        """Id and text of every document."""
        return self.whole.corpus(name)

    @property
    def dataset(self) -> Dataset | None:
        """The dataset that the documents are from."""
        return self.whole.dataset

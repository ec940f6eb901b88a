"""A training set in memory-mapped files: rows of a query and a document relevant to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from irtoolkit.base.ids import Ids, Ints, id_array
from irtoolkit.training.exclusions import Exclusions
from irtoolkit.training.ragged import Ragged


class MappedTexts(Sequence[str]):
    """The texts of a memory-mapped column, each read from disk when it is used."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice) -> SelectedTexts: ...
    def __getitem__(self, key: int | slice) -> str | SelectedTexts:
        if isinstance(key, slice):
            return SelectedTexts(self, np.arange(len(self))[key])
        text: str = self._column[key].as_py()
        return text

    def __iter__(self) -> Iterator[str]:
        for chunk in self._column.chunks:
            yield from chunk.to_pylist()


class SelectedTexts(Sequence[str]):
    """A view of some texts of a sequence, in any order and with repetitions."""

    def __init__(self, texts: Sequence[str], places: Ints) -> None:
        self._texts, self._places = texts, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, key: int) -> str: ...
    @overload
    def __getitem__(self, key: slice | Ints) -> SelectedTexts: ...
    def __getitem__(self, key: int | slice | Ints) -> str | SelectedTexts:
        if isinstance(key, slice | np.ndarray):
            return SelectedTexts(self._texts, self._places[key])
        return self._texts[int(self._places[key])]

    def __iter__(self) -> Iterator[str]:
        return (self._texts[number] for number in self._places.tolist())


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows to train on: n rows with q distinct queries and m documents.

    Attributes:
        queries: (n,) text of each row's query.
        golds: (n,) number of each row's relevant document.
        groups: (n,) number of each row's group, for example its book.
        docs: (m,) texts of the documents.
        query_of: (n,) number of each row's query, from 0 to q - 1.
        query_names: (n,) id of each row's query, memory-mapped.
        doc_names: (m,) ids of the documents, memory-mapped.
        exclusions: the documents that each query excludes as negatives.
        pool_of: (q,) number of each query's pool.
        pools: the documents of each pool, ascending.
        fingerprint: SHA-256 of everything above.
        what: the source of the rows, for messages.
        negatives: (n, count) mined negatives of each row; None if there are none.
        scores: (n, 1 + count) a teacher's scores of each row's relevant document and negatives;
            None without a teacher.
    """

    queries: Sequence[str]
    golds: Ints
    groups: Ints
    docs: Sequence[str]
    query_of: Ints
    query_names: Sequence[str]
    doc_names: Sequence[str]
    exclusions: Exclusions
    pool_of: Ints
    pools: Ragged
    fingerprint: str
    what: str
    negatives: Ints | None = None
    scores: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.golds)

    @cached_property
    def query_ids(self) -> Ids:
        """(n,) id of each row's query, in memory."""
        return id_array(list(self.query_names))

    @cached_property
    def doc_ids(self) -> Ids:
        """(m,) ids of the documents, in memory."""
        return id_array(list(self.doc_names))

    def excluded(self, row: int) -> Ints:
        """Returns the documents that may not be negatives of a row, ascending.

        They are the relevant documents of its query; with `near` also their near duplicates, and
        passages that share a sentence with one of them.
        """
        return self.exclusions.of_query(int(self.query_of[row]))

    def pool(self, row: int) -> Ints:
        """Returns the documents that a row's random negatives are drawn from, ascending.

        They are the candidates of its query that are in the set.
        """
        return self.pools[int(self.pool_of[self.query_of[row]])]

    def name(self, row: int) -> str:
        """Returns a name of a row, for messages."""
        doc = self.doc_names[int(self.golds[row])]
        return f"query {self.query_names[row]} with document {doc}"

    def select(self, rows: Ints) -> TrainingSet:
        """Returns a training set of some of the rows, in the given order, with all documents."""
        digest = hashlib.sha256(self.fingerprint.encode() + np.asarray(rows, np.int64).tobytes())
        return replace(
            self,
            queries=SelectedTexts(self.queries, rows),
            query_names=SelectedTexts(self.query_names, rows),
            golds=self.golds[rows],
            groups=self.groups[rows],
            query_of=self.query_of[rows],
            fingerprint=digest.hexdigest(),
            negatives=None if self.negatives is None else self.negatives[rows],
            scores=None if self.scores is None else self.scores[rows],
        )

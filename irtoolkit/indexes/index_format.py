"""The index format of a retriever: how documents become shards, and what searches them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from irtoolkit.base.ids import Ints, Segments, distinct_numbers, id_array
from irtoolkit.indexes.sharded import ShardSet
from irtoolkit.indexes.shards import OpenShard as OpenShard
from irtoolkit.indexes.writer import ShardMaker
from irtoolkit.runs import Run
from irtoolkit.runs.order import TopDocuments, separate


class Searcher(ABC):
    """Searches shards, here or in workers, for queries given as texts.

    Args:
        shards: a `ShardSet`.
    """

    def __init__(self, shards: Any) -> None:
        self.shards: Any = shards

    @abstractmethod
    def encoded(self, queries: Sequence[Segments]) -> Any:
        """Returns queries as the shards take them."""

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """Returns the best documents of each query; `fill` adds some that share no term with it."""
        hits: TopDocuments = self.shards.best(self.encoded(queries), depth, fill)
        return hits

    def ranks(
        self, queries: Sequence[Segments], documents: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """Returns the exact rank, from 1, of some documents of each query among all documents."""
        ranks: list[list[int]] = self.shards.ranks(self.encoded(queries), documents)
        return ranks

    def matched(self, query: Segments, text: str) -> list[tuple[int, int]]:
        """Returns where a text matches a query: first and last + 1 character of each match."""
        return []

    def best(self, query: str, depth: int) -> tuple[list[str], list[float]]:
        """Returns the ids and scores of the best documents of one query, as `run` has them."""
        hits = self.search([(query,)], depth)
        return self.shards.ids(hits.documents), separate(hits.scores).tolist()

    def run(
        self,
        query_ids: Any,
        queries: Sequence[Segments],
        depth: int,
        *,
        tag: str,
        fill: bool = False,
    ) -> Run:
        """Returns the best documents of some queries as a run without ties; see `search`."""
        hits = self.search(queries, depth, fill=fill)
        numbers, documents = distinct_numbers(hits.documents)
        ids = self.shards.column(numbers)
        owners = np.repeat(np.arange(len(queries)), np.diff(hits.offsets))
        return Run.ordered(
            query_ids,
            hits.offsets,
            lambda: id_array(ids.chosen(np.arange(len(ids)))),
            documents.astype(np.int32),
            separate(hits.scores, queries=owners),
            tag,
        )

    def exact_ranks(
        self,
        query_ids: Sequence[str],
        queries: Sequence[Segments],
        relevant: Mapping[str, Sequence[str]],
    ) -> dict[str, dict[str, int]]:
        """Returns the ranks of relevant documents among all documents, by query and document.

        A document that an approximate search has not found has none.
        """
        doc_ids = list(dict.fromkeys(doc for query in query_ids for doc in relevant.get(query, ())))
        places = zip(doc_ids, self.shards.places(doc_ids).tolist(), strict=True)
        numbers = {doc_id: number for doc_id, number in places if number >= 0}
        targets = [
            [doc for doc in relevant.get(query, ()) if doc in numbers] for query in query_ids
        ]
        ranks = self.ranks(queries, [[numbers[doc] for doc in docs] for docs in targets])
        located = {
            query: {doc: rank for doc, rank in zip(docs, row, strict=True) if rank}
            for query, docs, row in zip(query_ids, targets, ranks, strict=True)
        }
        return {query: ranked for query, ranked in located.items() if ranked}


class ShardWriter(Protocol):
    """Writes the arrays of a shard as documents come.

    Attributes:
        bytes: that it has taken in.
    """

    @property
    def bytes(self) -> int: ...
    def add(self, *arrays: Any) -> None: ...
    def close(self) -> None: ...


class EncodedMaker:
    """Makes shards of documents that a model encodes; a `ShardMaker`.

    Args:
        encode: gives of texts the arrays that a writer takes.
        open_writer: gives the writer of a shard in a folder.
        memory: bytes that a shard may take while it is made.
        finish: is called with the folder of a shard whose arrays are written.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[Segments]], Iterable[Any]],
        open_writer: Callable[[Path], ShardWriter],
        memory: int,
        finish: Callable[[Path], object] = lambda folder: None,
    ) -> None:
        self._encode, self._open_writer = encode, open_writer
        self._memory, self._finish = memory, finish

    def begin(self, folder: Path) -> None:
        """Begins a shard in a folder."""
        self._folder, self._writer = folder, self._open_writer(folder)

    def add(self, texts: Sequence[Segments]) -> None:
        """Takes in the texts of the next documents."""
        self._writer.add(*self._encode(texts))

    def is_full(self) -> bool:
        """Returns whether the shard takes as much memory as it may."""
        return self._writer.bytes >= self._memory

    def end(self) -> None:
        """Writes the arrays of the shard."""
        self._writer.close()
        self._finish(self._folder)


class IndexFormat(ABC):
    """How a retriever keeps its prepared documents.

    Attributes:
        kind: the kind of its shards.
        is_exact: whether rankings do not depend on how documents are split into shards.
    """

    kind: ClassVar[str]
    is_exact = True

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Everything that was done to the documents; a change needs another index."""
        raise NotImplementedError

    @abstractmethod
    def maker(self, memory: int) -> ShardMaker:
        """Makes shards of documents that come in blocks, each in so many bytes of memory."""

    def in_memory(self, texts: Iterable[Segments], ids: Sequence[str]) -> ShardSet | None:
        """Returns documents as shards in memory; None for a form that has none."""
        return None

    @abstractmethod
    def shards(self, shards: Sequence[OpenShard], first: int = 0) -> ShardSet:
        """Shards as one; `first` is the number of their first document."""

    @abstractmethod
    def searcher(self, shards: Any) -> Searcher:
        """Searches a set of shards, wherever it is open."""

    def open(self, shards: Sequence[OpenShard]) -> Searcher:
        """Searches shards."""
        return self.searcher(self.shards(shards))

    @abstractmethod
    def merge(self, shards: Sequence[OpenShard], places: Sequence[Ints], folder: Any) -> None:
        """Writes the arrays of one shard of all documents; `places` are their new numbers, or -1."""

"""The index format of a retriever: how documents become shards, and what searches them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Protocol

from irtoolkit.base.ids import Ints, Segments
from irtoolkit.indexes.sharded import ShardSet
from irtoolkit.indexes.shards import OpenShard as OpenShard
from irtoolkit.indexes.writer import ShardMaker
from irtoolkit.runs.order import TopDocuments


class Searcher(Protocol):
    """Shards that are searched as one.

    Attributes:
        shards: what knows their documents.
    """

    @property
    def shards(self) -> ShardSet: ...

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best documents of each query; `fill` lists such as have nothing of it, too."""
        ...

    def ranks(
        self, queries: Sequence[Segments], documents: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The exact rank of some documents of each query among all documents, from 1."""
        ...

    def matched(self, query: Segments, text: str) -> list[tuple[int, int]]:
        """Where a text matches a query: first and last + 1 character of each match."""
        ...


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

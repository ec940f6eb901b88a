"""Dense, sentence-level and late retrievers over kept vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Segments, Singles
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.index_format import IndexFormat, OpenShard
from irtoolkit.indexes.rounding import VectorPrecision
from irtoolkit.indexes.sharded import ShardSet
from irtoolkit.indexes.vector_search import VectorSearch
from irtoolkit.indexes.vectors import VectorShard, VectorsWriter, merge_vectors
from irtoolkit.runs.order import TopDocuments

# Texts to their vectors end to end, and how many each has.
Encode = Callable[[Sequence[Segments]], tuple[Singles, Ints]]


class VectorsMaker:
    """Makes shards of vectors.

    Args:
        encode: makes the vectors of documents.
        stored: their precision.
        memory: bytes of a shard's vectors.
    """

    def __init__(self, encode: Encode, stored: VectorPrecision, memory: int) -> None:
        self._encode, self._stored, self._memory = encode, stored, memory

    def begin(self, folder: Path) -> None:
        """Begins a shard in a folder."""
        self._writer = VectorsWriter(folder, self._stored)

    def add(self, texts: Sequence[Segments]) -> None:
        """Takes in the texts of the next documents."""
        self._writer.add(*self._encode(texts))

    def is_full(self) -> bool:
        """Whether the shard takes as much memory as it may."""
        return self._writer.bytes >= self._memory

    def end(self) -> None:
        """Writes the arrays of the shard."""
        self._writer.close()


class Sides(NamedTuple):
    """The encoders of both sides, and how vectors are compared.

    Attributes:
        query, document: make the vectors of texts of each side.
        compared: how they are compared.
    """

    query: Encode
    document: Encode
    compared: Callable[[], VectorComparison]

    def asked(self, queries: Sequence[Segments]) -> QueryVectors:
        """The vectors of queries, and how documents are compared with them."""
        vectors, counts = self.query(queries)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return QueryVectors.of(vectors, starts, self.compared())


class VectorIndex(IndexFormat):
    """How a retriever keeps the vectors of its documents."""

    kind = "vectors"

    def __init__(self, sides: Sides, stored: VectorPrecision, settings: Mapping[str, Any]) -> None:
        self._sides, self._stored, self.settings = sides, stored, settings

    def maker(self, memory: int) -> VectorsMaker:
        """Makes shards of vectors."""
        return VectorsMaker(self._sides.document, self._stored, memory)

    def shards(self, shards: Sequence[OpenShard], first: int = 0) -> VectorSearch:
        """Shards of vectors as one."""
        return VectorSearch.of(shards, first)

    def searcher(self, shards: ShardSet) -> VectorSearcher:
        """Searches shards of vectors."""
        return VectorSearcher(self._sides, shards)

    def merge(self, shards: Sequence[OpenShard], places: Sequence[Ints], folder: Any) -> None:
        """Writes the vectors of all documents as one shard."""
        merge_vectors(
            [VectorShard.open(shard.documents.folder) for shard in shards], places, folder
        )


class VectorSearcher:
    """Searches kept vectors; a `Searcher`.

    Args:
        sides: what a retriever says of its vectors.
        shards: a `ShardSet` of vectors.
    """

    def __init__(self, sides: Sides, shards: ShardSet) -> None:
        self._sides, self.shards = sides, shards

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best documents of each query; all documents have a score."""
        return self.shards.best(self._sides.asked(queries), depth)

    def ranks(
        self, queries: Sequence[Segments], documents: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The exact rank of some documents of each query among all documents, from 1."""
        return self.shards.ranks(self._sides.asked(queries), documents)

    def matched(self, query: Segments, text: str) -> list[tuple[int, int]]:
        """Nothing: vectors match no words."""
        return []


class ArrangedMaker(VectorsMaker):
    """Makes shards of vectors with an index each.

    Args:
        encode, stored, memory: see `VectorsMaker`.
        arrange: makes the index of the vectors in a folder.
    """

    def __init__(
        self, encode: Encode, stored: VectorPrecision, memory: int, arrange: Callable[[Path], None]
    ) -> None:
        super().__init__(encode, stored, memory)
        self._arrange = arrange

    def begin(self, folder: Path) -> None:
        """Begins a shard in a folder."""
        super().begin(folder)
        self._folder = folder

    def end(self) -> None:
        """Writes the vectors of the shard, and the index of them."""
        super().end()
        self._arrange(self._folder)


class Finding(Protocol):
    """A retriever that ranks what an index of each shard finds."""

    @property
    def hits(self) -> int: ...
    @property
    def stored(self) -> VectorPrecision: ...
    def index_settings(self) -> dict[str, Any]: ...
    def missing(self) -> str | None: ...


class ArrangedIndex(IndexFormat):
    """How vectors are kept beside an index of each shard, but for these indexes.

    Args:
        retriever: its settings.
        sides: what it says of its vectors.
    """

    def __init__(self, retriever: Finding, sides: Sides) -> None:
        self._finding, self._sides = retriever, sides

    def maker(self, memory: int) -> ArrangedMaker:
        """Makes shards of vectors with an index each."""
        return ArrangedMaker(self._sides.document, self._finding.stored, memory, self.arrange)

    def check_runnable(self) -> None:
        """Raises InputError for what the retriever needs and is not here."""
        reason = self._finding.missing()
        if reason is not None:
            raise InputError(reason)

    def searcher(self, shards: ShardSet) -> HitsSearcher:
        """Searches shards of vectors."""
        return HitsSearcher(self._sides, shards, self._finding.hits)

    def merge(self, shards: Sequence[OpenShard], places: Sequence[Ints], folder: Any) -> None:
        """Writes the vectors of all documents as one shard, and makes an index of them."""
        merge_vectors(
            [VectorShard.open(shard.documents.folder) for shard in shards], places, folder
        )
        self.arrange(folder)

    def arrange(self, folder: Path) -> None:
        """Makes the index of the vectors in a folder."""
        raise NotImplementedError


class HitsSearcher(VectorSearcher):
    """Searches kept vectors among those that an index of each shard finds; a `Searcher`."""

    def __init__(self, sides: Sides, shards: ShardSet, hits: int) -> None:
        super().__init__(sides, shards)
        self._hits = hits

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best of the documents that are found for each query."""
        return super().search(queries, min(depth, self._hits))

    def ranks(
        self, queries: Sequence[Segments], documents: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The rank of some documents of each query among those that are found, from 1; 0 where one
        is not found."""
        hits, ranks = self.search(queries, self._hits), []
        for query, docs in enumerate(documents):
            listed = hits.documents[hits.offsets[query] : hits.offsets[query + 1]].tolist()
            places = {doc: rank for rank, doc in enumerate(listed, 1)}
            ranks.append([places.get(doc, 0) for doc in docs])
        return ranks

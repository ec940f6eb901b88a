"""Dense, sentence-level and late retrievers over kept vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.form import OpenShard
from irtoolkit.indexes.top_documents import TopDocuments
from irtoolkit.indexes.vector_search import VectorSearch
from irtoolkit.indexes.vectors import (
    Comparison,
    QueryVectors,
    Stored,
    VectorShard,
    VectorsWriter,
    merge_vectors,
)
from irtoolkit.indexes.writer import Segments

# Texts to their vectors end to end, and how many each has.
Encode = Callable[[Sequence[Segments]], tuple[Singles, Ints]]


class VectorsMaker:
    """Makes shards of vectors.

    Args:
        encode: makes the vectors of documents.
        stored: their precision.
        memory: bytes of a shard's vectors.
    """

    def __init__(self, encode: Encode, stored: Stored, memory: int) -> None:
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
    """What a retriever says of its vectors.

    Attributes:
        query, document: make the vectors of texts of each side.
        compared: how they are compared.
    """

    query: Encode
    document: Encode
    compared: Callable[[], Comparison]


class VectorIndex:
    """How a retriever keeps the vectors of its documents; a `KeptForm`."""

    kind = "vectors"

    def __init__(self, sides: Sides, stored: Stored, settings: Mapping[str, Any]) -> None:
        self._sides, self._stored, self.settings = sides, stored, settings

    def maker(self, memory: int) -> VectorsMaker:
        """Makes shards of vectors."""
        return VectorsMaker(self._sides.document, self._stored, memory)

    def open(self, shards: Sequence[OpenShard]) -> VectorSearcher:
        """Searches shards of vectors."""
        return VectorSearcher(self._sides, shards)

    def merge(self, shards: Sequence[OpenShard], places: Sequence[Ints], folder: Any) -> None:
        """Writes the vectors of all documents as one shard."""
        merge_vectors([VectorShard(shard.documents.folder) for shard in shards], places, folder)


class VectorSearcher:
    """Searches kept vectors; a `Searcher`."""

    def __init__(self, sides: Sides, shards: Sequence[OpenShard]) -> None:
        self._sides = sides
        self._search = VectorSearch(
            [(VectorShard(docs.folder), docs, deleted) for docs, deleted in shards],
            sides.compared(),
        )

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best documents of each query; all documents have a score."""
        return self._search.search(self._vectors(queries), depth)

    def ranks(
        self, queries: Sequence[Segments], wanted: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The exact rank of some documents of each query among all documents, from 1."""
        return self._search.ranks(self._vectors(queries), wanted)

    def matched(self, query: Segments, text: str) -> list[tuple[int, int]]:
        """Nothing: vectors match no words."""
        return []

    def _vectors(self, queries: Sequence[Segments]) -> QueryVectors:
        vectors, counts = self._sides.query(queries)
        return QueryVectors(vectors, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

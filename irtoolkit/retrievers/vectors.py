"""Vectors of texts: compared in memory, and kept as shards of an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ints, Segments, Singles
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.comparison import Similarity as Similarity
from irtoolkit.indexes.index_format import EncodedMaker, IndexFormat, OpenShard, Searcher
from irtoolkit.indexes.rounding import VectorPrecision
from irtoolkit.indexes.sharded import ShardSet
from irtoolkit.indexes.vector_search import VectorSearch
from irtoolkit.indexes.vectors import VectorShard, VectorsWriter, merge_vectors
from irtoolkit.models.batches import in_halves
from irtoolkit.models.loading import torch_device
from irtoolkit.runs.order import TopDocuments

Vectors = NDArray[np.floating[Any]]

# Documents that a GPU multiplies at once in double precision.
_ON_GPU = 1 << 17


def prepared(
    docs: Vectors,
    similarity: Similarity | str,
    device: str | None = None,
    stored: VectorPrecision = "fp32",
) -> Callable[[Vectors], Floats]:
    """Returns what compares queries with some documents.

    Args:
        docs: (c, dimensions).
        similarity: "cosine", "dot", or "l2", the negated Euclidean distance.
        device: where products are computed; by default a GPU if there is one.
        stored: the precision in which documents are held.

    Returns:
        From (q, dimensions) to (q, c) in double precision; higher is better. A score depends on its
        two vectors alone.

    Raises:
        InputError: there is no such similarity, or no such device, or its memory does not suffice.
    """
    shard = VectorShard.of([(docs, np.ones(len(docs), np.int64))], stored)
    compared = VectorComparison(cast(Similarity, similarity))
    chosen = "cpu" if device == "cpu" else torch_device(device)
    multiply = None if chosen == "cpu" else _product_on_gpu(shard.rows(0, len(docs)), chosen)

    def compare(queries: Vectors) -> Floats:
        encoded = QueryVectors.of(queries, np.arange(len(queries) + 1), compared)
        return compared.scores(encoded, shard, multiply)

    return compare


def _product_on_gpu(docs: Singles, device: str) -> Callable[[Singles], Floats]:
    """Returns products with documents that are held on a GPU; of fewer queries at once where memory
    lacks."""
    import torch

    try:
        on_device = torch.from_numpy(np.ascontiguousarray(docs, np.float32)).to(device)
    except torch.OutOfMemoryError:
        raise InputError(
            f"{len(docs):,} vectors of {docs.shape[1]} dimensions do not fit into the memory of"
            f" {device}", remedy="set device=cpu"
        ) from None  # fmt: skip

    def multiply(queries: Singles) -> Floats:
        products = np.empty((len(queries), len(docs)))

        def part(first: int, last: int) -> None:
            batch = torch.from_numpy(np.ascontiguousarray(queries[first:last])).to(device).double()
            for begin in range(0, len(docs), _ON_GPU):
                block = on_device[begin : begin + _ON_GPU].double()
                products[first:last, begin : begin + _ON_GPU] = (batch @ block.T).cpu().numpy()

        in_halves(part, 0, len(queries), "the queries of a product")
        return products

    return multiply


def unit(vectors: Vectors) -> Vectors:
    """Vectors scaled to length 1; a zero vector stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = vectors / np.where(lengths > 0, lengths, 1)
    return scaled


# Texts to their vectors end to end, and how many each has.
Encode = Callable[[Sequence[Segments]], tuple[Singles, Ints]]


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

    def maker(self, memory: int) -> EncodedMaker:
        """Makes shards of vectors."""
        writer = partial(VectorsWriter, stored=self._stored)
        return EncodedMaker(self._sides.document, writer, memory, self.arrange)

    def arrange(self, folder: Path) -> None:
        """Makes what finds the vectors in a folder, if they are not all compared."""

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
        self.arrange(folder)


class VectorSearcher(Searcher):
    """Searches shards of vectors, in which all documents have a score.

    Args:
        sides: what a retriever says of its vectors.
        shards: a `ShardSet` of vectors.
    """

    def __init__(self, sides: Sides, shards: ShardSet) -> None:
        super().__init__(shards)
        self._sides = sides

    def encoded(self, queries: Sequence[Segments]) -> QueryVectors:
        """Returns the vectors of queries."""
        return self._sides.asked(queries)


class Finding(Protocol):
    """A retriever that ranks what an index of each shard finds."""

    @property
    def hits(self) -> int: ...
    @property
    def stored(self) -> VectorPrecision: ...
    def index_settings(self) -> dict[str, Any]: ...
    def missing(self) -> str | None: ...


class ArrangedIndex(VectorIndex):
    """How vectors are kept beside an index of each shard; see `arrange`.

    Args:
        retriever: its settings.
        sides: what it says of its vectors.
        settings: everything that decides the vectors and how they are arranged.
    """

    def __init__(self, retriever: Finding, sides: Sides, settings: Mapping[str, Any]) -> None:
        super().__init__(sides, retriever.stored, settings)
        self._finding = retriever

    def check_runnable(self) -> None:
        """Raises InputError for what the retriever needs and is not here."""
        reason = self._finding.missing()
        if reason is not None:
            raise InputError(reason)

    def searcher(self, shards: ShardSet) -> HitsSearcher:
        """Searches shards of vectors."""
        return HitsSearcher(self._sides, shards, self._finding.hits)


class HitsSearcher(VectorSearcher):
    """Searches the vectors that an index of each shard finds."""

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

"""PLAID over kept token vectors: a compressed index of each shard finds documents for exact MaxSim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.documents import Documents
from irtoolkit.indexes.form import OpenShard
from irtoolkit.indexes.strings import mapped
from irtoolkit.indexes.top_documents import TopDocuments
from irtoolkit.indexes.vector_search import VectorSearch
from irtoolkit.indexes.vectors import QueryVectors, VectorShard, gathered, merge_vectors
from irtoolkit.indexes.writer import Segments
from irtoolkit.retrievers import residuals
from irtoolkit.retrievers.kept_faiss import ranks_among
from irtoolkit.retrievers.kept_vectors import Sides, VectorSearcher, VectorsMaker
from irtoolkit.retrievers.residuals import Residuals

if TYPE_CHECKING:
    from irtoolkit.retrievers.plaid import Plaid

# Finds documents of a shard, given the token vectors of a query.
Find = Callable[[Singles], Ints]


class PlaidIndex:
    """How token vectors are kept beside a compressed index of them; a `KeptForm`."""

    kind = "plaid"

    def __init__(self, retriever: Plaid) -> None:
        self._retriever = retriever

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Everything that decides the vectors and how they are compressed."""
        own = self._retriever
        names = ("nbits", "centroids", "seed")
        return {**own.kept_settings(), **{name: getattr(own, name) for name in names}}

    def maker(self, memory: int) -> PlaidMaker:
        """Makes shards of token vectors with a compressed index each."""
        return PlaidMaker(self._retriever, memory)

    def open(self, shards: Sequence[OpenShard]) -> PlaidSearcher:
        """Searches shards of token vectors.

        Raises:
            InputError: something the retriever needs is not here.
        """
        lacking = self._retriever.missing()
        if lacking is not None:
            raise InputError(lacking)
        return PlaidSearcher(self._retriever, shards)

    def merge(self, shards: Sequence[OpenShard], places: Sequence[Ints], folder: Any) -> None:
        """Writes the vectors of all documents as one shard, and compresses them anew."""
        merge_vectors([VectorShard(shard.documents.folder) for shard in shards], places, folder)
        _compress(self._retriever, folder)


class PlaidMaker(VectorsMaker):
    """Makes shards of token vectors with a compressed index each."""

    def __init__(self, retriever: Plaid, memory: int) -> None:
        super().__init__(retriever.sides().document, retriever.stored, memory)
        self._retriever = retriever

    def begin(self, folder: Path) -> None:
        """Begins a shard in a folder."""
        super().begin(folder)
        self._folder = folder

    def end(self) -> None:
        """Writes the vectors of the shard, and the compressed index of them."""
        super().end()
        _compress(self._retriever, self._folder)


class PlaidSearcher(VectorSearcher):
    """Searches kept token vectors in PLAID's stages; a `Searcher`."""

    def __init__(self, retriever: Plaid, shards: Sequence[OpenShard]) -> None:
        self._sides: Sides = retriever.sides()
        self._hits = retriever.hits
        self._search = PlaidSearch(retriever, shards, self._sides)

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best of the documents that are found for each query."""
        return self._search.search(self._vectors(queries), min(depth, self._hits))

    def ranks(
        self, queries: Sequence[Segments], wanted: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The rank of some documents of each query among those that are found, from 1; 0 where one
        is not found."""
        return ranks_among(self.search(queries, self._hits), wanted)


class PlaidSearch(VectorSearch):
    """Shards of token vectors that are searched as one in PLAID's stages.

    Args:
        retriever: its settings.
        shards: vectors, documents, and the numbers of deleted documents.
        sides: how documents that are found are scored.
    """

    def __init__(self, retriever: Plaid, shards: Sequence[OpenShard], sides: Sides) -> None:
        parts = [(VectorShard(docs.folder), docs, deleted) for docs, deleted in shards]
        super().__init__(parts, sides.compared())
        self._retriever = retriever
        self._finders = [self._finder(*part) for part in parts]

    def near(self, queries: QueryVectors, depth: int) -> list[Ints]:
        """Documents of each query that the shards find, and that may be among its best."""
        found = []
        for query in range(len(queries.starts) - 1):
            vectors = queries.of(query)
            if not len(vectors):
                raise InputError("a query without a token cannot be compared")
            parts = [
                find(vectors) + base
                for find, base in zip(self._finders, self._bases.tolist(), strict=False)
            ]
            found.append(self._best_near(vectors, parts, depth))
        return found

    def _best_near(self, query: Singles, parts: Sequence[Ints], depth: int) -> Ints:
        """What may be among the best `depth` of the documents that were found."""
        asked = QueryVectors(query, np.array([0, len(query)], np.int64))
        scores, off = [np.empty(0, np.float32)], 0.0
        for (shard, _, _), docs, base in zip(
            self._shards, parts, self._bases.tolist(), strict=False
        ):
            counts = shard.starts[docs - base + 1] - shard.starts[docs - base]
            rows = gathered(shard.starts[docs - base], counts)
            starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            own, wrong = self._comparison.block(
                asked, shard.chosen(rows), np.asarray(shard.sizes[rows]), starts
            )
            scores.append(own[0])
            off = max(off, float(wrong[0]))
        docs, values = np.concatenate([np.empty(0, np.int64), *parts]), np.concatenate(scores)
        if len(docs) <= depth:
            return docs
        least = np.partition(values, len(values) - depth)[len(values) - depth]
        near: Ints = docs[values >= least - 2 * off]
        return near

    def _finder(self, shard: VectorShard, docs: Documents, deleted: Ints) -> Find:
        """What finds documents of a shard."""
        live = np.ones(len(shard), bool)
        live[deleted] = False
        if not int(shard.starts[-1]):
            # Without a token all documents score alike.
            return lambda _: np.flatnonzero(live)
        index = Residuals(*(mapped(docs.folder / f"{name}.npy") for name in residuals.ARRAYS))
        return lambda query: self._retriever.found(index, query, live)


class _ShardTokens:
    """The token vectors of a shard; see `residuals.TokenVectors`."""

    def __init__(self, shard: VectorShard) -> None:
        self._shard = shard

    @property
    def counts(self) -> Ints:
        return np.diff(self._shard.starts)

    def of(self, docs: Ints) -> Singles:
        begins = self._shard.starts[docs]
        return self._shard.chosen(gathered(begins, self._shard.starts[docs + 1] - begins))


def _compress(retriever: Plaid, folder: Path) -> None:
    """Makes the compressed index of the vectors in a folder."""
    shard = VectorShard(folder)
    if int(shard.starts[-1]):
        how = retriever.compression(int(shard.starts[-1]))
        residuals.fill(folder, _ShardTokens(shard), how)

"""faiss over kept vectors: an index of each shard finds documents, and their vectors score them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.damage import DamagedIndexError
from irtoolkit.indexes.documents import Documents
from irtoolkit.indexes.form import OpenShard
from irtoolkit.indexes.top_documents import TopDocuments
from irtoolkit.indexes.vector_search import VectorSearch
from irtoolkit.indexes.vectors import Comparison, QueryVectors, VectorShard, merge_vectors
from irtoolkit.indexes.writer import Segments
from irtoolkit.models.presets import Side
from irtoolkit.retrievers.dense import encoded
from irtoolkit.retrievers.kept_vectors import Encode, Sides, VectorSearcher, VectorsMaker
from irtoolkit.retrievers.neural import encoder_of
from irtoolkit.retrievers.vectors import Similarity, unit

if TYPE_CHECKING:
    from irtoolkit.retrievers.faiss import Faiss

# Finds documents of a shard for each query.
Find = Callable[[QueryVectors], list[Ints]]

_FILE = "index.faiss"
# What arranges the vectors of a shard, and so belongs to the documents.
_ARRANGED = {
    "flat": (), "hnsw": ("m", "ef_construction"), "ivfpq": ("lists", "subvectors", "seed"),
}  # fmt: skip


class FaissIndex:
    """How vectors are kept beside faiss' index of them; a `KeptForm`.

    The vectors of index=flat are their own index: faiss gets them when they are searched. Vectors that
    are too few to train index=ivfpq are compared one by one.
    """

    kind = "faiss"

    def __init__(self, retriever: Faiss) -> None:
        self._retriever = retriever

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Everything that decides the vectors and how they are arranged."""
        own = self._retriever
        arranged: dict[str, Any] = {"index": own.index}
        if own.index != "flat":
            arranged["similarity"] = own.similarity or own.preset().similarity
        return {
            **own.kept_settings(), **arranged,
            **{name: getattr(own, name) for name in _ARRANGED[own.index]},
        }  # fmt: skip

    def maker(self, memory: int) -> FaissMaker:
        """Makes shards of vectors with an index each."""
        return FaissMaker(self._retriever, memory)

    def open(self, shards: Sequence[OpenShard]) -> FaissSearcher:
        """Searches shards of vectors.

        Raises:
            InputError: faiss is not installed.
        """
        lacking = self._retriever.missing()
        if lacking is not None:
            raise InputError(lacking)
        return FaissSearcher(self._retriever, shards)

    def merge(self, shards: Sequence[OpenShard], places: Sequence[Ints], folder: Any) -> None:
        """Writes the vectors of all documents as one shard, and makes an index of them."""
        merge_vectors([VectorShard(shard.documents.folder) for shard in shards], places, folder)
        _arrange(self._retriever, folder)


class FaissMaker(VectorsMaker):
    """Makes shards of vectors with an index each."""

    def __init__(self, retriever: Faiss, memory: int) -> None:
        super().__init__(_side(retriever, "document"), retriever.stored, memory)
        self._retriever = retriever

    def begin(self, folder: Path) -> None:
        """Begins a shard in a folder."""
        super().begin(folder)
        self._folder = folder

    def add(self, texts: Sequence[Segments]) -> None:
        """Takes in the texts of the next documents."""
        vectors, counts = self._encode(texts)
        self._retriever.refuse_width(vectors.shape[1])
        self._writer.add(vectors, counts)

    def end(self) -> None:
        """Writes the vectors of the shard, and the index of them."""
        super().end()
        _arrange(self._retriever, self._folder)


class FaissSearcher(VectorSearcher):
    """Searches kept vectors by faiss; a `Searcher`."""

    def __init__(self, retriever: Faiss, shards: Sequence[OpenShard]) -> None:
        self._sides = Sides(
            _side(retriever, "query"), _side(retriever, "document"),
            lambda: Comparison(_similarity(retriever)),
        )  # fmt: skip
        self._hits = retriever.hits
        self._search = FaissSearch(retriever, shards, self._sides.compared())

    def search(
        self, queries: Sequence[Segments], depth: int, *, fill: bool = False
    ) -> TopDocuments:
        """The best of the documents that faiss finds for each query."""
        return self._search.search(self._vectors(queries), min(depth, self._hits))

    def ranks(
        self, queries: Sequence[Segments], wanted: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The rank of some documents of each query among those that faiss finds, from 1; 0 where it
        does not find one."""
        return ranks_among(self.search(queries, self._hits), wanted)


class FaissSearch(VectorSearch):
    """Shards of vectors that faiss searches as one.

    Args:
        retriever: its settings.
        shards: vectors, documents, and the numbers of deleted documents.
        comparison: how documents that are found are scored.
    """

    def __init__(
        self, retriever: Faiss, shards: Sequence[OpenShard], comparison: Comparison
    ) -> None:
        parts = [(VectorShard(docs.folder), docs, deleted) for docs, deleted in shards]
        super().__init__(parts, comparison)
        self._retriever = retriever
        self._finders = [
            self._finder(part, base)
            for part, base in zip(parts, self._bases.tolist(), strict=False)
        ]

    def near(self, queries: QueryVectors, depth: int) -> list[Ints]:
        """Documents that the shards' indexes find for each query."""
        found = [find(queries) for find in self._finders]
        return [
            np.concatenate([np.empty(0, np.int64), *(part[query] for part in found)])
            for query in range(len(queries.starts) - 1)
        ]

    def _finder(self, part: tuple[VectorShard, Documents, Ints], base: int) -> Find:
        """What finds documents of a shard."""
        shard, docs, deleted = part
        own, left = self._retriever, len(shard) - len(deleted)
        if not left or own.is_small(len(shard)):
            alone = VectorSearch([part], self._comparison)
            return lambda queries: [near + base for near in alone.near(queries, own.hits)]
        index = own.tuned(_opened(own, docs.folder, shard), movable=not len(deleted))
        given = {"params": _without(own, deleted)} if len(deleted) else {}
        scaled = self._comparison.similarity == "cosine"

        def find(queries: QueryVectors) -> list[Ints]:
            asked = unit(queries.vectors) if scaled else queries.vectors
            asked = np.ascontiguousarray(asked, np.float32)
            _, places = index.search(asked, min(own.hits, left), **given)
            return [row[row >= 0] + base for row in places]

        return find


def ranks_among(found: TopDocuments, wanted: Sequence[Sequence[int]]) -> list[list[int]]:
    """The rank of some documents of each query among those that were found, from 1; or 0."""
    ranks = []
    for query, docs in enumerate(wanted):
        own = found.documents[found.offsets[query] : found.offsets[query + 1]].tolist()
        places = {doc: place for place, doc in enumerate(own, 1)}
        ranks.append([places.get(doc, 0) for doc in docs])
    return ranks


def _side(retriever: Faiss, name: Side) -> Encode:
    def encode(texts: Sequence[Segments]) -> tuple[Singles, Ints]:
        made = encoded(encoder_of(retriever, name), texts, "texts")
        return made.vectors(), np.ones(len(texts), np.int64)

    return encode


def _similarity(retriever: Faiss) -> Similarity:
    return cast(Similarity, retriever.similarity or encoder_of(retriever, "document").similarity)


def _arrange(retriever: Faiss, folder: Path) -> None:
    """Makes the index of the vectors in a folder."""
    shard = VectorShard(folder)
    if retriever.index != "flat" and len(shard) and not retriever.is_small(len(shard)):
        import faiss

        made = faiss.serialize_index(_made(retriever, shard))
        # Python tells of a full disk; faiss' own writer does not.
        (folder / _FILE).write_bytes(made.tobytes())


def _made(retriever: Faiss, shard: VectorShard) -> Any:
    import faiss

    similarity = _similarity(retriever)

    def part(chosen: Ints) -> Singles:
        vectors = shard.chosen(chosen)
        return np.ascontiguousarray(
            unit(vectors) if similarity == "cosine" else vectors, np.float32
        )

    metric = faiss.METRIC_L2 if similarity == "l2" else faiss.METRIC_INNER_PRODUCT
    return retriever.arranged(part, len(shard), metric)


def _opened(retriever: Faiss, folder: Path, shard: VectorShard) -> Any:
    import faiss

    if retriever.index == "flat":
        return _made(retriever, shard)
    try:
        return faiss.read_index(str(folder / _FILE))
    except (RuntimeError, MemoryError) as error:
        reason = (str(error).strip() or "no memory for it").splitlines()[0]
        raise DamagedIndexError(f"damaged: {reason}", file=folder / _FILE) from None


def _without(retriever: Faiss, deleted: Ints) -> Any:
    """What tells faiss that some documents do not count."""
    import faiss

    library: Any = faiss  # its types lack these
    chosen = library.IDSelectorNot(library.IDSelectorBatch(np.asarray(deleted)))
    if retriever.index == "hnsw":
        return library.SearchParametersHNSW(sel=chosen, efSearch=retriever.ef_search)
    if retriever.index == "ivfpq":
        return library.SearchParametersIVF(sel=chosen, nprobe=retriever.probes)
    return library.SearchParameters(sel=chosen)

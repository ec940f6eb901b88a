"""faiss over kept vectors: an index of each shard finds documents, and their vectors score them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from irtoolkit.base.ids import Ints, Segments, Singles
from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.comparison import QueryVectors
from irtoolkit.indexes.index_format import OpenShard
from irtoolkit.indexes.vector_search import VectorSearch
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.retrievers.vectors import ArrangedIndex, Finding, Sides, Similarity, unit

# Finds documents of a shard for each query.
Find = Callable[[QueryVectors], list[Ints]]

_FILE = "index.faiss"
# Hits of one search on a GPU, at most.
_MOST_ON_GPU = 2048
# What arranges the vectors of a shard, and so belongs to the documents.
_ARRANGED = {"flat": (), "hnsw": ("m", "ef_construction"), "ivfpq": ("lists", "subvectors", "seed")}


class FaissRetriever(Finding, Protocol):
    """See `irtoolkit.retrievers.faiss.Faiss`."""

    @property
    def index(self) -> str: ...
    @property
    def ef_search(self) -> int: ...
    @property
    def probes(self) -> int: ...
    def declared_similarity(self) -> Similarity | None: ...
    def check_width(self, width: int) -> None: ...
    def is_small(self, count: int) -> bool: ...
    def report_small(self, counts: Sequence[int]) -> None: ...
    def tuned(self, index: Any, movable: bool = True) -> Any: ...
    def arranged(self, part: Callable[[Ints], Singles], count: int, metric: int) -> Any: ...


class FaissIndex(ArrangedIndex):
    """How vectors are kept beside faiss' index of them.

    The vectors of index=flat are their own index. They are compared one by one, as by `dense`, and so
    are vectors that are too few to train index=ivfpq.
    """

    kind = "faiss"

    @property
    def is_exact(self) -> bool:  # type: ignore[override]
        """Whether all vectors of a shard are compared."""
        return bool(self._retriever.index == "flat")

    def __init__(self, retriever: FaissRetriever, sides: Sides) -> None:
        def encode(texts: Sequence[Segments]) -> tuple[Singles, Ints]:
            vectors, counts = sides.document(texts)
            retriever.check_width(vectors.shape[1])
            return vectors, counts

        settings = {**retriever.index_settings(), "index": retriever.index}
        if retriever.index != "flat":
            settings["similarity"] = retriever.declared_similarity()
        settings |= {name: getattr(retriever, name) for name in _ARRANGED[retriever.index]}
        super().__init__(retriever, sides._replace(document=encode), settings)
        self._retriever = retriever

    def shards(self, shards: Sequence[OpenShard], first: int = 0) -> FaissSearch:
        """Shards of vectors as one.

        Raises:
            InputError: faiss is not installed.
        """
        self.check_runnable()
        parts = [(VectorShard.open(shard.documents.folder), shard) for shard in shards]
        return FaissSearch(self._retriever, parts, first)

    def arrange(self, folder: Path) -> None:
        """Makes the index of the vectors in a folder."""
        retriever, shard = self._retriever, VectorShard.open(folder)
        if len(shard):
            retriever.report_small([len(shard)])
        if retriever.index != "flat" and len(shard) and not retriever.is_small(len(shard)):
            import faiss

            similarity = self._sides.compared().similarity
            serialized = faiss.serialize_index(_made(retriever, shard, similarity))
            # Python tells of a full disk; faiss' own writer does not.
            (folder / _FILE).write_bytes(serialized.tobytes())


class FaissSearch(VectorSearch):
    """Shards of vectors that faiss searches as one.

    Args:
        retriever: its settings.
        shards, first: see `VectorSearch`.
    """

    def __init__(
        self,
        retriever: FaissRetriever,
        shards: Sequence[tuple[VectorShard, OpenShard]],
        first: int = 0,
    ) -> None:
        super().__init__(shards, first)
        self._retriever = retriever
        self._finders: dict[str, list[Find]] = {}

    def near(self, queries: QueryVectors, depth: int) -> list[Ints]:
        """Documents that the shards' indexes find for each query."""
        similarity = queries.comparison.similarity
        if similarity not in self._finders:
            parts = zip(self.vectors, self.shards, self.bases.tolist(), strict=False)
            self._finders[similarity] = [self._finder(similarity, *part) for part in parts]
        results = [find(queries) for find in self._finders[similarity]]
        return [
            np.concatenate([np.empty(0, np.int64), *(part[query] for part in results)])
            for query in range(queries.size)
        ]

    def _finder(
        self, similarity: Similarity, shard: VectorShard, docs: OpenShard, base: int
    ) -> Find:
        """Returns a function that finds documents of a shard."""
        retriever, live = self._retriever, len(shard) - len(docs.deleted)
        if not live or retriever.index == "flat" or retriever.is_small(len(shard)):
            alone = VectorSearch([(shard, docs)], base)
            return lambda queries: alone.near(queries, retriever.hits)
        movable = not len(docs.deleted)
        index = retriever.tuned(
            _opened(retriever, docs.documents.folder, shard, similarity), movable=movable
        )
        options = {} if movable else {"params": _without(retriever, docs.deleted)}

        def find(queries: QueryVectors) -> list[Ints]:
            vectors = unit(queries.vectors) if similarity == "cosine" else queries.vectors
            vectors = np.ascontiguousarray(vectors, np.float32)
            _, places = with_ties(index, vectors, retriever.hits, live, **options)
            return [row[row >= 0] + base for row in places]

        return find


def with_ties(
    index: Any, queries: Singles, hits: int, count: int, **options: Any
) -> tuple[Any, Any]:
    """Scores and places of the best hits, and of those that tie with the last: ids decide there.

    Args:
        index: a faiss index.
        queries: (q, w) their vectors.
        hits: how many each query finds, at most.
        count: how many vectors of the index there are to find.
        options: other arguments of faiss' search.
    """
    hits = min(hits, count)
    most = max(hits, min(count, _MOST_ON_GPU)) if hasattr(index, "getDevice") else count
    requested = min(hits + 1, most)
    while True:
        scores, places = index.search(queries, requested, **options)
        is_cut = (places[:, -1] >= 0) & (scores[:, hits - 1] == scores[:, -1])
        if requested == most or not is_cut.any():
            return scores, places
        requested = min(2 * requested, most)


def _made(retriever: FaissRetriever, shard: VectorShard, similarity: Similarity) -> Any:
    import faiss

    def part(chosen: Ints) -> Singles:
        vectors = shard.chosen(chosen)
        return np.ascontiguousarray(
            unit(vectors) if similarity == "cosine" else vectors, np.float32
        )

    metric = faiss.METRIC_L2 if similarity == "l2" else faiss.METRIC_INNER_PRODUCT
    return retriever.arranged(part, len(shard), metric)


def _opened(
    retriever: FaissRetriever, folder: Path, shard: VectorShard, similarity: Similarity
) -> Any:
    import faiss

    try:
        index = faiss.read_index(str(folder / _FILE))
    except (RuntimeError, MemoryError) as error:
        reason = (str(error).strip() or "no memory for it").splitlines()[0]
        raise DamagedIndexError(f"damaged: {reason}", file=folder / _FILE) from None
    if (index.ntotal, index.d) != shard.vectors.shape:
        raise DamagedIndexError(
            f"damaged: it is of {index.ntotal:,} vectors of {index.d} dimensions",
            file=folder / _FILE,
        )
    return index


def _without(retriever: FaissRetriever, deleted: Ints) -> Any:
    """Returns the search parameters with which faiss leaves out deleted documents."""
    import faiss

    library: Any = faiss  # its types lack these
    chosen = library.IDSelectorNot(library.IDSelectorBatch(np.asarray(deleted)))
    if retriever.index == "hnsw":
        return library.SearchParametersHNSW(sel=chosen, efSearch=retriever.ef_search)
    if retriever.index == "ivfpq":
        return library.SearchParametersIVF(sel=chosen, nprobe=retriever.probes)
    return library.SearchParameters(sel=chosen)

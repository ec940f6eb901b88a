"""Late interaction over whole corpora: candidates from a compressed index, then exact MaxSim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Floats, Ints, Singles
from irtoolkit.base.locks import locked
from irtoolkit.datasets.cache import cache_home
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.rounding import VectorPrecision
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.models.presets import Kind
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers import residuals
from irtoolkit.retrievers.base import MOST, Ask, Hits
from irtoolkit.retrievers.compared import by_pools
from irtoolkit.retrievers.dense import encode_texts
from irtoolkit.retrievers.late import Late, tokens
from irtoolkit.retrievers.residuals import Compression, Residuals
from irtoolkit.retrievers.task import Task
from irtoolkit.runs import order


@dataclass(frozen=True)
class Plaid(Late):
    """MaxSim over a corpus, of the documents that a compressed index finds.

    The stages are PLAID's (Santhanam et al. 2022, CIKM, §4), without pruning (§4.3). Documents with a
    token in one of the `probes` centroids nearest to a token of the query are scored by the centroids
    of their tokens. The `candidates` best are scored by compressed vectors, and the `hits` best of
    those by the exact MaxSim of the vectors in the store. A document that is found has the score that
    `late` gives it; some that `late` ranks are not found. Ranks are of the documents found.
    An index is kept in irtoolkit's cache folder, or by `irtoolkit index` in a folder.

    Attributes:
        nbits: bits for each dimension of a compressed vector, beside its centroid.
        centroids: by default 16·√t of t token vectors, rounded down to a power of two; at most one
            for each distinct vector.
        probes: centroids searched for each token of a query; more where these have fewer than `hits`
            documents.
        candidates: documents scored by compressed vectors.
        hits: documents found for each query, at most.
        seed: of the centroids' training.
    """

    name: ClassVar[str] = "plaid"
    format: ClassVar[int] = 3
    applies: ClassVar[Kind | None] = None

    ranges: ClassVar = {
        **dict.fromkeys(("centroids", "probes", "candidates", "hits"), (1, MOST)),
        "seed": (0, MOST),
    }

    nbits: Literal[1, 2, 4] = 2
    centroids: int | None = None
    probes: int = 4
    candidates: int = 4096
    hits: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nbits not in (1, 2, 4):
            raise InputError(f"setting nbits={self.nbits} is not 1 or 2 or 4")

    def missing(self) -> str | None:
        if find_spec("faiss") is None:
            return str(needs_extra("faiss-cpu", "neural"))
        return super().missing()

    def most(self) -> int | None:
        return self.hits

    def index_format(self) -> IndexFormat | None:
        from irtoolkit.retrievers.plaid_index import PlaidIndex

        return PlaidIndex(self, self.sides()) if self.scores_as(Plaid) else None

    def compression(self, most: int | None = None) -> Compression:
        """How token vectors are compressed, into `most` centroids at most."""
        count = (
            self.centroids if most is None or self.centroids is None else min(self.centroids, most)
        )
        return Compression(self.nbits, count, self.seed)

    def prepare(self, task: Task) -> Ask:
        query_encoder, document_encoder = self.encoder("query"), self.encoder("document")
        docs = encode_texts(document_encoder, task.docs, "documents")
        comparison = self.comparison(query_encoder)

        def score(pool: tuple[Encodings, Residuals, Any], queries: Encodings, rows: Ints) -> Hits:
            doc_vectors, index, keys = pool
            hits = Hits(np.full((len(rows), self.hits), -1), np.zeros((len(rows), self.hits)))
            for row, query in enumerate(rows):
                vectors, _ = tokens(queries[np.array([query])])
                if not len(vectors):
                    raise InputError("a query without a token cannot be compared")
                places = self.found(index, vectors, keys)
                hits.places[row, : len(places)] = places
                exact = _scores(tokens(doc_vectors[places]), vectors, comparison, self.stored)
                hits.scores[row, : len(places)] = exact
            return hits

        return by_pools(
            lambda doc: (docs[doc], self._index(docs[doc]), order.keys(task.doc_ids[doc])),
            lambda queries: encode_texts(query_encoder, self.asked(queries), "queries"),
            score,
        )

    def _index(self, docs: Encodings) -> Residuals:
        """The index of some documents, from disk where it has been made before."""
        compression = self.compression()
        folder = cache_home() / "plaid" / residuals.name_of(docs, compression)
        with locked(folder.with_suffix(".lock"), remove=True):
            if not folder.is_dir():
                residuals.write(folder, docs, compression)
        return residuals.opened(folder)

    def found(self, index: Residuals, query: Singles, keys: Any, live: Any = None) -> Ints:
        """Returns the documents to be scored exactly.

        Args:
            index: of the documents.
            query: (t, d) vectors of one query's tokens.
            keys: (n,) keys of the documents, which decide between equal scores.
            live: (n,) whether each document may be found; None where all may.
        """
        near = np.ascontiguousarray((query @ index.centroids.T).T)  # (k, t)
        places = self._probed(index, near, live)
        scores = np.empty(len(places), np.float32)
        _kernel()(near, index.codes, index.starts, places, scores)
        places = _best(places, scores, self.candidates, keys)
        if len(places) <= self.hits:
            return places
        vectors, starts = index.vectors(places)
        approximate = _scores((vectors, starts), query, VectorComparison("dot", total=True))
        return _best(places, approximate, self.hits, keys)

    def _probed(self, index: Residuals, near: Singles, live: Any) -> Ints:
        """Returns the documents of the centroids nearest to the query's tokens.

        Centroids without documents are passed over, and those as near as the last one are probed
        too. Twice as many are probed until `hits` documents are found.
        """
        filled = np.flatnonzero(np.diff(index.bounds))
        near, probes = near[filled], self.probes
        while True:
            probes = min(probes, len(filled))
            last = np.partition(-near, probes - 1, axis=0)[probes - 1]
            probed = filled[(-near <= last).any(axis=1)]
            parts = [index.lists[index.bounds[c] : index.bounds[c + 1]] for c in probed]
            places = np.unique(np.concatenate(parts)).astype(np.int64)
            if live is not None:
                places = places[live[places]]
            if len(places) >= self.hits or probes == len(filled):
                return places
            probes *= 2


def _scores(
    docs: tuple[Singles, Ints],
    query: Singles,
    comparison: VectorComparison,
    stored: VectorPrecision = "fp32",
) -> Floats:
    """Returns the scores of documents, given by the vectors of their tokens and where each one's
    begin."""
    vectors, starts = docs
    encoded = QueryVectors.of(query, np.array([0, len(query)]), comparison)
    scores: Floats = comparison.scores(
        encoded, VectorShard.of([(vectors, np.diff(starts))], stored)
    )[0]
    return scores


def _best(places: Ints, scores: Floats | Singles, count: int, keys: Any) -> Ints:
    """Returns the places of the best scores in ascending order."""
    return np.sort(places[order.best_first(scores, keys[places], count)])


@cache
def _kernel() -> Callable[..., None]:
    import numba

    @numba.njit(nogil=True, cache=True, parallel=False)  # type: ignore[untyped-decorator]
    def interact(near: Any, codes: Any, starts: Any, places: Any, scores: Any) -> None:
        """For each query token the nearest of a document's centroids, summed (PLAID, §4.2)."""
        best = np.empty(near.shape[1], np.float32)
        for i in range(len(places)):
            first, last = starts[places[i]], starts[places[i] + 1]
            best[:] = near[codes[first]]
            for token in range(first + 1, last):
                line = near[codes[token]]
                for column in range(len(best)):
                    best[column] = max(best[column], line[column])
            total = np.float32(0)
            for column in range(len(best)):
                total += best[column]
            scores[i] = total

    kernel: Callable[..., None] = interact
    return kernel

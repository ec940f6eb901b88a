"""Learned sparse retrieval: a model weighs the terms of queries and documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Segments, Singles
from irtoolkit.indexes.impacts import ImpactShard, ImpactsWriter, merge_impacts, places_of
from irtoolkit.indexes.index_format import EncodedMaker, IndexFormat, OpenShard, Searcher
from irtoolkit.indexes.scanning import PostingsScan, ScannedQuery, ScannedShard
from irtoolkit.indexes.sharded import ShardSet
from irtoolkit.indexes.strings import Strings
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers.base import Ask, Matches
from irtoolkit.retrievers.compared import by_pools
from irtoolkit.retrievers.dense import encode_texts
from irtoolkit.retrievers.neural import TwoSided, encoder_of
from irtoolkit.retrievers.task import Task


class Impacts(NamedTuple):
    """The terms of some texts, as a model weighs them.

    Attributes:
        terms, weights: numbers of the terms of all texts end to end, and their weights.
        counts: how many each text has.
    """

    terms: Ints
    weights: Singles
    counts: Ints


# Texts to the weights of their terms.
Weigh = Callable[[Sequence[Segments]], Impacts]


class ImpactIndex(IndexFormat):
    """How a learned sparse retriever keeps its documents.

    Args:
        query, document: weigh the terms of texts of each side.
        settings: everything that decides the weights of documents.
    """

    kind = "impacts"

    def __init__(self, query: Weigh, document: Weigh, settings: Mapping[str, Any]) -> None:
        self._query, self._document, self.settings = query, document, settings

    def maker(self, memory: int) -> EncodedMaker:
        """Makes shards of term weights."""
        return EncodedMaker(self._document, ImpactsWriter, memory)

    def shards(self, shards: Sequence[OpenShard], first: int = 0) -> ImpactShards:
        """Shards of term weights as one."""
        return ImpactShards([_scanned(shard) for shard in shards], first)

    def in_memory(self, texts: Iterable[Segments], ids: Sequence[str]) -> ImpactShards:
        """Returns documents as a shard of term weights in memory."""
        return in_memory(self._document(list(texts)), ids)

    def searcher(self, shards: ShardSet) -> ImpactSearcher:
        """Searches shards of term weights."""
        return ImpactSearcher(self._query, shards)

    def merge(self, shards: Sequence[OpenShard], places: Sequence[Ints], folder: Any) -> None:
        """Writes the term weights of all documents as one shard."""
        merge_impacts([ImpactShard(shard.documents.folder) for shard in shards], places, folder)


class ImpactShards(PostingsScan):
    """Shards of term weights, whose products with those of a query are added up."""

    kind = "weight"

    def __init__(self, shards: Sequence[ScannedShard], first: int = 0) -> None:
        sizes = [len(shard.arrays[3]) for shard in shards]
        super().__init__([shard.docs for shard in shards], sizes, first)
        self.scanned = shards


class ImpactSearcher(Searcher):
    """Searches shards of term weights by the dot product.

    Args:
        weigh: weighs the terms of queries.
        shards: a `ShardSet` of term weights.
    """

    def __init__(self, weigh: Weigh, shards: ShardSet) -> None:
        super().__init__(shards)
        self._weigh = weigh

    def encoded(self, queries: Sequence[Segments]) -> list[ScannedQuery]:
        """Returns the terms of queries, as the model weighs them."""
        return weighted_queries(self._weigh(queries))


def weighted_queries(impacts: Impacts) -> list[ScannedQuery]:
    """Returns queries as shards of term weights take them."""
    terms, weights, counts = impacts
    ends = np.cumsum(counts)
    queries = []
    for first, last in zip(ends - counts, ends, strict=True):
        order = np.argsort(terms[first:last], kind="stable") + first
        scales = weights[order].astype(np.float64)
        queries.append(ScannedQuery(terms[order].astype(np.int64), scales, np.ones(len(order))))
    return queries


def in_memory(impacts: Impacts, ids: Sequence[str]) -> ImpactShards:
    """Returns the term weights of documents as a shard in memory."""
    order = np.argsort(impacts.terms, kind="stable")
    terms, frequencies = np.unique(impacts.terms, return_counts=True)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(frequencies)])
    owners = np.repeat(np.arange(len(ids), dtype=np.int32), impacts.counts)
    docs = OpenShard.in_memory(Strings.of(ids))
    arrays = starts, owners[order], impacts.weights.astype(np.float32)[order], docs.live
    places = partial(places_of, terms.astype(np.int64))
    return ImpactShards([ScannedShard(docs, arrays, places, np.empty(0), np.empty(0))])


def _scanned(shard: OpenShard) -> ScannedShard:
    impacts, none = ImpactShard(shard.documents.folder), np.empty(0)
    impacts.check_documents(len(shard.documents.ids), shard.documents.folder)
    arrays = impacts.starts, impacts.documents, impacts.weights, shard.live
    return ScannedShard(shard, arrays, impacts.places, none, none)


@dataclass(frozen=True)
class Sparse(TwoSided):
    """Dot product of the term weights that a model gives to query and document.

    Attributes:
        model: SPLADE (Formal et al. 2021) or any SparseEncoder; or a plain transformer, with
            `pooling`. See `Neural`.
        pooling: "sparta" takes a plain transformer for SPARTA's (Zhao et al. 2021); by default the
            preset's.
    """

    name: ClassVar[str] = "sparse"
    kind: ClassVar[Kind] = "sparse"
    applies: ClassVar[Kind | None] = "sparse"

    model: str = "SPLADE"
    pooling: Literal["sparta"] | None = None

    def encoding(self, side: Side) -> dict[str, Any]:
        return {**super().encoding(side), "pooling": self.pooling}

    def index_format(self) -> IndexFormat | None:
        if not self.scores_as(Sparse):
            return None

        def side(name: Side) -> Weigh:
            def weigh(texts: Sequence[Segments]) -> Impacts:
                encoder = encoder_of(self, name)
                self._check_encoder(encoder_of(self, "document"))
                encodings = encoder.encode(map(encoder.text, texts), what="texts", count=len(texts))
                return impacts(encodings)

            return weigh

        return ImpactIndex(side("query"), side("document"), self.index_settings())

    def _check_encoder(self, encoder: Encoder) -> None:
        if encoder.similarity_of_model != "dot":
            raise InputError(
                f"the model {self.model} compares by {encoder.similarity_of_model}",
                remedy="sparse vectors are compared by the dot product",
            )

    def prepare(self, task: Task) -> Ask:
        query_encoder, document_encoder = self.encoder("query"), self.encoder("document")
        self._check_encoder(document_encoder)
        docs = encode_texts(document_encoder, task.docs, "documents")

        def encode(queries: Task) -> list[ScannedQuery]:
            encoded = encode_texts(query_encoder, self.asked(queries), "queries")
            return weighted_queries(impacts(encoded))

        def score(shards: ImpactShards, queries: list[ScannedQuery], rows: Ints) -> Matches:
            scores, shared = shards.every([queries[row] for row in rows])
            return Matches(scores, lambda: shared)

        return by_pools(
            lambda doc: in_memory(impacts(docs[doc]), task.doc_ids[doc].tolist()), encode, score
        )


def impacts(encoded: Encodings) -> Impacts:
    """Returns the term weights that a model has given to texts."""
    terms, starts = encoded.ragged(0)
    return Impacts(terms, encoded.ragged(1)[0], np.diff(starts))

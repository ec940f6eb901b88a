"""Base classes of retrievers that compare vectors: of texts, of their sentences or of their tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from weakref import finalize

import numpy as np

from irtoolkit.base.ids import Ids, Ints, Segments, Singles
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.nearest import Searched, ShardSearch
from irtoolkit.indexes.rounding import VectorPrecision
from irtoolkit.indexes.vectors import VectorShard, VectorsWriter
from irtoolkit.models.presets import Side
from irtoolkit.retrievers.base import Ask, Block, Retriever, Scored, Scorer, keep_last
from irtoolkit.retrievers.neural import TwoSided, encoder_of
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.vectors import Encode, Sides, VectorIndex

P = TypeVar("P")
Q = TypeVar("Q")

# The vectors of some texts end to end, and how many each has.
CountedVectors = tuple[Singles, Ints]
# Reads those of the texts at some places.
Read = Callable[[Ints], CountedVectors]
# Compares candidates with queries, given by their vectors.
Compare = Callable[[Singles, Ints], Scored]
# Documents whose vectors are read at once.
DOCS = 1 << 13
# Bytes of vectors, in single precision, that are held in memory.
_IN_MEMORY = 1 << 32


def by_pools(
    pool: Callable[[Ints], P], encode: Callable[[Task], Q], score: Callable[[P, Q, Ints], Scored]
) -> Ask:
    """Returns what scores candidate sets, of which the last one is kept prepared.

    Args:
        pool: prepares candidates: called with (c,) indices into the documents of the task.
        encode: prepares the queries of a task.
        score: scores (q,) of the queries against a pool.
    """
    prepared = keep_last(pool)

    def ask(task: Task) -> Scorer:
        queries = encode(task)

        def candidates(doc: Ints) -> Block:
            docs = prepared(doc)
            return lambda rows: score(docs, queries, rows)

        return candidates

    return ask


@dataclass(frozen=True)
class BiEncoder(Retriever):
    """Encodes queries and documents apart, and compares their vectors.

    A subclass without a model needs `vectors` alone.
    """

    def vectors(self, texts: Sequence[Segments], side: Side) -> Singles:
        """Returns the (n, dimensions) vectors of the texts of a side, "query" or "document"."""
        raise NotImplementedError

    def encoder(self, side: Side) -> Any:
        """Returns what `read` encodes the texts of a side with; by default the side, for `vectors`."""
        return side

    def read(self, encoder: Any, texts: Sequence[Segments], what: str) -> Read:
        """Returns what reads the vectors of texts."""
        encodings = self.vectors(texts, encoder)
        return lambda chosen: (encodings[chosen], np.ones(len(chosen), np.int64))

    def comparison(self, encoder: Any) -> VectorComparison:
        """Returns how vectors are compared, given the encoder of queries."""
        return VectorComparison("cosine")

    def asked(self, task: Task) -> list[Segments]:
        """(Q,) the text of each query."""
        return task.queries

    @property
    def precision_stored(self) -> VectorPrecision:
        """The precision of the vectors of documents."""
        return "fp32"

    def index_format(self) -> IndexFormat | None:
        if not self.scores_as(BiEncoder):
            return None
        settings = {"retriever": self.name, **self.settings()}
        return VectorIndex(self.sides(), self.precision_stored, settings)

    def compared(
        self, read: Read, doc: Ints, doc_ids: Ids, comparison: VectorComparison
    ) -> Compare:
        """Returns what compares queries with a candidate set.

        Args:
            read: reads the vectors of documents.
            doc: (c,) places of the candidates.
            doc_ids: (c,) their ids.
            comparison: how vectors are compared.
        """
        search = ShardSearch(_shard(read, doc, self.precision_stored))

        def compare(vectors: Singles, counts: Ints) -> Scored:
            queries = QueryVectors.of(vectors, starts_of(counts), comparison)
            if search.shard.has_one_each and queries.has_one_each:
                return Searched(search, queries)
            return comparison.scores(queries, search.shard)

        return compare

    def prepare(self, task: Task) -> Ask:
        query_encoder, document_encoder = self.encoder("query"), self.encoder("document")
        docs = self.read(document_encoder, task.docs, "documents")
        comparison = self.comparison(query_encoder)
        return by_pools(
            lambda doc: self.compared(docs, doc, task.doc_ids[doc], comparison),
            lambda queries: self.read(query_encoder, self.asked(queries), "queries"),
            lambda compare, read, rows: compare(*read(rows)),
        )

    def sides(self) -> Sides:
        """Returns what an index has to know of the vectors."""

        def side(name: Side) -> Encode:
            def encode(texts: Sequence[Segments]) -> CountedVectors:
                return self.read(encoder_of(self, name), texts, "texts")(np.arange(len(texts)))

            return encode

        return Sides(
            side("query"), side("document"), lambda: self.comparison(encoder_of(self, "query"))
        )


@dataclass(frozen=True)
class ModelBiEncoder(TwoSided, BiEncoder):
    """A retriever that compares what a model makes of queries and documents."""

    stored: VectorPrecision = "fp32"

    @property
    def precision_stored(self) -> VectorPrecision:
        return self.stored

    def index_format(self) -> IndexFormat | None:
        return None


def starts_of(counts: Ints) -> Ints:
    """(n+1,) where the vectors of each text begin."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _shard(read: Read, doc: Ints, stored: VectorPrecision) -> VectorShard:
    """Returns the vectors of a candidate set: in memory, or of very many in a temporary folder."""
    blocks = (read(doc[first : first + DOCS]) for first in range(0, len(doc), DOCS))
    first, rest = next(blocks, None), blocks
    if first is None or first[0].nbytes * len(doc) <= _IN_MEMORY * DOCS:
        return VectorShard.of(chain([] if first is None else [first], rest), stored)
    folder = TemporaryDirectory()
    writer = VectorsWriter(Path(folder.name), stored)
    for vectors, counts in chain([first], rest):
        writer.add(vectors, counts)
    writer.close()
    shard = VectorShard.open(Path(folder.name))
    finalize(shard, folder.cleanup)
    return shard

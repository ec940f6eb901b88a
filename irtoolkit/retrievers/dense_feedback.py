"""Pseudo-relevance feedback with vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, cast

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, Segments, Singles
from irtoolkit.indexes.comparison import QueryVectors, VectorComparison
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.rounding import packed
from irtoolkit.indexes.sharded import ShardSet
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.models.presets import Kind
from irtoolkit.retrievers.base import Scored, scores_of
from irtoolkit.retrievers.compared import Compare, Read
from irtoolkit.retrievers.dense import Dense
from irtoolkit.retrievers.vectors import (
    Sides,
    Similarity,
    VectorIndex,
    Vectors,
    VectorSearcher,
    unit,
)
from irtoolkit.runs.order import best_first, keys


@dataclass(frozen=True)
class DensePRF(Dense):
    """Dense retrieval with pseudo-relevance feedback in the space of the vectors (Li et al. 2021).

    The best documents for the vector of the query make another one, which is searched for. "rocchio"
    is α · q + β · mean(d1 … dk), "average" the mean of q, d1 … dk. Vectors that are compared by the
    cosine are scaled to length 1 before. Works with every model of `dense`, and searches its indexes.

    Attributes:
        feedback: how the vectors become one.
        fb_docs: k, the feedback documents: the best of the query's candidates, at most so many.
        alpha: α of "rocchio".
        beta: β of "rocchio"; 0 is the ranking without feedback.
    """

    name: ClassVar[str] = "dense-prf"
    read_with: ClassVar = {"alpha": ("feedback=rocchio",), "beta": ("feedback=rocchio",)}
    applies: ClassVar[Kind | None] = None

    feedback: Literal["rocchio", "average"] = "rocchio"
    fb_docs: int = 5
    alpha: float = 0.4
    beta: float = 0.6

    def __post_init__(self) -> None:
        if self.fb_docs < 1:
            raise InputError(f"setting fb_docs={self.fb_docs} is not at least 1")
        for name in ("alpha", "beta"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InputError(f"setting {name}={getattr(self, name)} is not a number from 0 on")
        if self.alpha == self.beta == 0:
            raise InputError(
                "alpha=0 and beta=0 leave nothing of a query", remedy="set one of them"
            )

    @property
    def is_off(self) -> bool:
        """Whether feedback has no weight."""
        return self.feedback == "rocchio" and self.beta == 0

    def expanded(self, query: Singles, docs: Singles, similarity: Similarity) -> Singles:
        """(dimensions,) the vector of a query after feedback.

        Args:
            query: (dimensions,) as the model makes it.
            docs: (k, dimensions) of the feedback documents.
            similarity: how vectors are compared.
        """
        if not len(docs):
            return query
        vector: Vectors = query.astype(np.float64)
        best: Vectors = docs.astype(np.float64)
        if similarity == "cosine":
            vector, best = unit(vector), unit(best)
        if self.feedback == "average":
            moved = (vector + best.sum(axis=0)) / (len(best) + 1)
        else:
            moved = self.alpha * vector + self.beta * best.mean(axis=0)
        return cast(Singles, moved.astype(np.float32))

    def compared(
        self, read: Read, doc: Ints, doc_ids: Ids, comparison: VectorComparison
    ) -> Compare:
        match = super().compared(read, doc, doc_ids, comparison)
        if self.is_off:
            return match

        def twice(queries: Singles, counts: Ints) -> Scored:
            scores, expanded = scores_of(match(queries, counts)), np.empty_like(queries)
            for row, query in enumerate(packed(queries).vectors):
                best = best_first(scores[row], lambda rows: keys(doc_ids[rows]), self.fb_docs)
                feedback = VectorShard.of([read(doc[best])], self.stored)
                expanded[row] = self.expanded(
                    query, feedback.rows(0, len(best)), comparison.similarity
                )
            del scores  # its memory is that of the second search
            return match(expanded, counts)

        return twice

    def index_settings(self) -> dict[str, Any]:
        return {**super().index_settings(), "retriever": Dense.name}

    def index_format(self) -> IndexFormat | None:
        return _FeedbackIndex(self, self.sides()) if self.scores_as(DensePRF) else None


class _FeedbackIndex(VectorIndex):
    """How vectors are kept that are searched twice; the shards are those of `dense`."""

    def __init__(self, feedback: DensePRF, sides: Sides) -> None:
        super().__init__(sides, feedback.stored, feedback.index_settings())
        self._feedback = feedback

    def searcher(self, shards: ShardSet) -> _FeedbackSearcher:
        """Searches shards of vectors."""
        return _FeedbackSearcher(self._feedback, self._sides, shards)


class _FeedbackSearcher(VectorSearcher):
    """Searches shards of vectors, and again with those of what was found."""

    def __init__(self, feedback: DensePRF, sides: Sides, shards: ShardSet) -> None:
        super().__init__(sides, shards)
        self._feedback = feedback
        # A run and the exact ranks of its documents are asked for one after the other.
        self._expanded: Callable[[tuple[Segments, ...]], QueryVectors] = lru_cache(1)(self._expand)

    def encoded(self, queries: Sequence[Segments]) -> QueryVectors:
        """Returns the vectors of queries after feedback."""
        return self._expanded(tuple(queries))

    def _expand(self, queries: tuple[Segments, ...]) -> QueryVectors:
        encoded = self._sides.asked(queries)
        if self._feedback.is_off:
            return encoded
        hits = self.shards.best(encoded, self._feedback.fb_docs)
        documents: Ints = np.unique(hits.documents)
        vectors = self.shards.contents(documents).vectors
        places = np.searchsorted(documents, hits.documents)
        expanded = np.empty_like(encoded.vectors)
        for row, query in enumerate(encoded.vectors):
            feedback = vectors[places[hits.offsets[row] : hits.offsets[row + 1]]]
            expanded[row] = self._feedback.expanded(query, feedback, encoded.comparison.similarity)
        return QueryVectors.of(expanded, encoded.starts, encoded.comparison)

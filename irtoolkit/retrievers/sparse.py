"""Learned sparse retrieval: a model weighs the terms of queries and documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Segments
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers.base import Ask, Block, Matches, Scorer, keep_last
from irtoolkit.retrievers.impact_index import (
    ImpactIndex,
    Impacts,
    Weigh,
    in_memory,
    weighted_queries,
)
from irtoolkit.retrievers.neural import TwoSided, encoder_of
from irtoolkit.retrievers.task import Task


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
        docs = document_encoder.encode(
            map(document_encoder.text, task.docs), what="documents", count=len(task.docs)
        )
        weighed = keep_last(lambda doc: in_memory(impacts(docs[doc]), task.doc_ids[doc].tolist()))

        def ask(query_task: Task) -> Scorer:
            texts = self.asked(query_task)
            encoded = query_encoder.encode(
                map(query_encoder.text, texts), what="queries", count=len(texts)
            )
            queries = weighted_queries(impacts(encoded))

            def candidates(doc: Ints) -> Block:
                scan = weighed(doc)

                def score(query: Ints) -> Matches:
                    scores, shared = scan.every([queries[number] for number in query])
                    return Matches(scores, lambda: shared)

                return score

            return candidates

        return ask


def impacts(encoded: Encodings) -> Impacts:
    """Returns the term weights that a model has given to texts."""
    terms, starts = encoded.ragged(0)
    return Impacts(terms, encoded.ragged(1)[0], np.diff(starts))

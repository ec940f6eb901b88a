"""Learned sparse retrieval: a model weighs terms, and the lexical retrievers' products score them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers._terms import TermScores
from irtoolkit.retrievers.base import Ask, Block, Scorer, keep_last
from irtoolkit.retrievers.neural import TwoSided
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

    def scorer(self, task: Task) -> Scorer:
        return self.prepare(task)(task)

    def prepare(self, task: Task) -> Ask:
        asking, shown = self.encoder("query"), self.encoder("document")
        if shown.similarity_of_model != "dot":
            raise InputError(
                f"the model {self.model} compares by {shown.similarity_of_model}",
                remedy="sparse vectors are compared by the dot product",
            )
        docs = shown.encode(map(shown.text, task.docs), what="documents", count=len(task.docs))

        weighed = keep_last(lambda doc: TermScores(_matrix(docs[doc])))

        def ask(other: Task) -> Scorer:
            asked = self.asked(other)
            encoded = asking.encode(map(asking.text, asked), what="queries", count=len(asked))
            queries = _matrix(encoded)

            def candidates(doc: Ints) -> Block:
                score = weighed(doc)
                return lambda query: score(queries[query])

            return candidates

        return ask


def _matrix(rows: Encodings) -> Any:
    """A (texts, terms) CSR matrix of the weights; as wide as the greatest term needs."""
    terms, starts = rows.ragged(0)
    weights, _ = rows.ragged(1)
    width = int(terms.max()) + 1 if len(terms) else 1
    return csr_array(
        (weights.astype(np.float64), terms.astype(np.int32), starts), shape=(len(rows), width)
    )

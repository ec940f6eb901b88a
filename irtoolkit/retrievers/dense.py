"""Bi-encoders: one vector for a text, or one for each of its sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, cast

import numpy as np

from irtoolkit.base.ids import Ids, Ints, Segments, Singles
from irtoolkit.indexes.comparison import VectorComparison
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.vectors import gathered
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.loading import torch_device
from irtoolkit.models.pooling import implied_pooling
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers.compared import Compare, ModelBiEncoder, Read
from irtoolkit.retrievers.gpu_search import SEARCHED, searching
from irtoolkit.retrievers.neural import TwoSided, encoder_of
from irtoolkit.retrievers.vectors import Encode, Sides, Similarity, VectorIndex, prepared


@dataclass(frozen=True)
class VectorRetriever(TwoSided):
    """Retrievers that make vectors of texts.

    Attributes:
        model: see `Neural`.
        pooling: how the token vectors of a plain transformer become one: their first ("cls"),
            mean, max, the last one, the one at [MASK], or what the model itself pools ("pooler"). A
            sentence-transformers model says it itself; by default the preset's, else the mean.
        stored: precision of the vectors kept on disk; "int8" has a scale for each vector. Queries
            are kept in full.
    """

    # 2: presets pool and cut as their authors' code does. 3: sums of products are exact.
    format: ClassVar[int] = 3

    model: str = "all-MiniLM-L6-v2"
    pooling: Literal["cls", "mean", "max", "last", "mask", "pooler"] | None = None
    stored: Literal["fp32", "fp16", "int8"] = "fp32"

    def computed(self) -> dict[str, Any]:
        implied = None if self.pooling is not None else implied_pooling(self.preset())
        return super().computed() | ({} if implied is None else {"pooling": implied})

    def encoding(self, side: Side) -> dict[str, Any]:
        stored = self.stored if side == "document" else "fp32"
        return {**super().encoding(side), "pooling": self.pooling, "stored": stored}


@dataclass(frozen=True)
class Dense(VectorRetriever, ModelBiEncoder):
    """Similarity of one vector for the query and one for the document.

    Exact: every candidate is compared. Equal documents have equal scores, whatever candidates
    they are among. CSFCube's abstract-level baselines (§5) are this with similarity "l2".

    Attributes:
        similarity: "cosine", "dot", or "l2", the negated Euclidean distance; by default what the
            preset says, else the model itself, else the cosine.
    """

    name: ClassVar[str] = "dense"
    applies: ClassVar[Kind | None] = "dense"

    similarity: Similarity | None = None

    def index_format(self) -> IndexFormat | None:
        if not self.scores_as(Dense):
            return None
        return VectorIndex(self.sides(), self.stored, self.index_settings())

    def read(self, encoder: Encoder, texts: Sequence[Segments], what: str) -> Read:
        encodings = encode_texts(encoder, texts, what)
        return lambda chosen: (encodings[chosen].vectors(), np.ones(len(chosen), np.int64))

    def comparison(self, encoder: Encoder) -> VectorComparison:
        return VectorComparison(cast(Similarity, self.similarity or encoder.similarity))

    def searches(self, candidates: int) -> bool:
        if candidates < SEARCHED or not self.scores_as(Dense):
            return False
        return (
            torch_device(self.device) == "cpu"
            or (self.similarity or self.encoder("document").similarity) != "l2"
        )

    def compared(
        self, read: Read, doc: Ints, doc_ids: Ids, comparison: VectorComparison
    ) -> Compare:
        if torch_device(self.device) == "cpu":
            return super().compared(read, doc, doc_ids, comparison)
        vectors, _ = read(doc)
        compare = cache(lambda: prepared(vectors, comparison.similarity, self.device, self.stored))
        if self.searches(len(doc)):
            search = searching(vectors, comparison.similarity, self.device, compare)
            return lambda queries, _: search(queries)
        return lambda queries, _: compare()(queries)


@dataclass(frozen=True)
class SentenceMax(VectorRetriever, ModelBiEncoder):
    """Greatest cosine between any sentence of the query and any sentence of the document.

    The form of CSFCube's sentence-level baselines (§5). Sentences are the segments of the task's
    views, so these must be fields that hold sentences.
    """

    name: ClassVar[str] = "sentence-max"
    reads_whole: ClassVar[bool] = False

    def parts_of(self, encoder: Encoder, texts: Sequence[Segments]) -> list[str]:
        return _sentences(texts)[0]

    def index_format(self) -> IndexFormat | None:
        if not self.scores_as(SentenceMax):
            return None
        return VectorIndex(self.sides(), self.stored, self.index_settings())

    def read(self, encoder: Encoder, texts: Sequence[Segments], what: str) -> Read:
        parts, starts = _sentences(texts)
        encodings = encoder.encode(parts, what=f"sentences of {what}", count=len(parts))

        def chosen(documents: Ints) -> tuple[Singles, Ints]:
            counts = starts[documents + 1] - starts[documents]
            return encodings[gathered(starts[documents], counts)].vectors(), counts

        return chosen

    def comparison(self, encoder: Encoder) -> VectorComparison:
        return VectorComparison("cosine")


def text_sides(retriever: TwoSided, similarity: Callable[[], Similarity]) -> Sides:
    """Returns the encoders of both sides and the comparison, for an index of one vector a text."""

    def side(name: Side) -> Encode:
        def encode(texts: Sequence[Segments]) -> tuple[Singles, Ints]:
            encodings = encode_texts(encoder_of(retriever, name), texts, "texts")
            return encodings.vectors(), np.ones(len(texts), np.int64)

        return encode

    return Sides(side("query"), side("document"), lambda: VectorComparison(similarity()))


def encode_texts(encoder: Encoder, texts: Sequence[Segments], what: str) -> Encodings:
    """Returns the encodings of texts in segments."""
    return encoder.encode(map(encoder.text, texts), what=what, count=len(texts))


def _sentences(texts: Iterable[Segments]) -> tuple[list[str], Ints]:
    """All sentences, and where each text's begin; an empty text has one, which is empty."""
    parts = [[s for s in segments if s.strip()] or [""] for segments in texts]
    starts = np.cumsum([0, *(len(part) for part in parts)])
    return [sentence for part in parts for sentence in part], starts

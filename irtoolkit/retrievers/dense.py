"""Bi-encoders: one vector for a text, or one for each of its sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, cast

import numpy as np

from irtoolkit.base.ids import Ids, Ints, Singles
from irtoolkit.indexes.form import KeptForm
from irtoolkit.indexes.vectors import Comparison
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.loading import torch_device
from irtoolkit.models.pooling import implied_pooling
from irtoolkit.models.presets import Kind, Side
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers.base import Ask, Block, ScoreMatrix, Scorer, keep_last
from irtoolkit.retrievers.gpu_search import SEARCHED, GpuSearch, searching
from irtoolkit.retrievers.kept_vectors import Encode, Sides, VectorIndex
from irtoolkit.retrievers.neural import TwoSided, encoder_of
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import Segments
from irtoolkit.retrievers.vectors import Similarity, Vectors, prepared, repeated, unit

# Pairs of sentences compared at once.
_PAIRS = 1 << 25


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

    # 2: presets pool and cut as their authors' code does.
    format: ClassVar[int] = 2

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
class Dense(VectorRetriever):
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

    def kept(self) -> KeptForm | None:
        if not self.scores_as(Dense):
            return None
        return VectorIndex(self.sides(), self.stored, self.kept_settings())

    def sides(self) -> Sides:
        """What an index has to know of its vectors."""

        def similarity() -> Similarity:
            return cast(Similarity, self.similarity or encoder_of(self, "query").similarity)

        return text_sides(self, similarity)

    def has_single_scores(self) -> bool:
        return (self.similarity or self.preset().similarity) != "l2"

    def searches(self, candidates: int) -> bool:
        if candidates < SEARCHED or not self.scores_as(Dense) or torch_device(self.device) == "cpu":
            return False
        return (self.similarity or self.encoder("document").similarity) != "l2"

    def scorer(self, task: Task) -> Scorer:
        return self.prepare(task)(task)

    def prepare(self, task: Task) -> Ask:
        asking, shown = self.encoder("query"), self.encoder("document")
        docs = encoded(shown, task.docs, "documents")
        similarity: Similarity = cast(Similarity, self.similarity or shown.similarity)

        @keep_last
        def kept(doc: Ints) -> Callable[[Vectors], ScoreMatrix | GpuSearch]:
            compare = cache(lambda: self.compared(docs[doc], similarity, task.doc_ids[doc]))
            if self.searches(len(doc)):
                return searching(docs[doc].vectors(), similarity, self.device, compare)
            return compare()

        def ask(other: Task) -> Scorer:
            queries = encoded(asking, self.asked(other), "queries").vectors()

            def candidates(doc: Ints) -> Block:
                compared = kept(doc)
                return lambda query: compared(queries[query])

            return candidates

        return ask

    def compared(
        self, docs: Encodings, similarity: Similarity, doc_ids: Ids
    ) -> Callable[[Vectors], ScoreMatrix]:
        """What compares vectors of queries with a candidate set."""
        return comparing(docs, similarity, self.device)


@dataclass(frozen=True)
class SentenceMax(VectorRetriever):
    """Greatest cosine between any sentence of the query and any sentence of the document.

    The form of CSFCube's sentence-level baselines (§5). Sentences are the segments of the task's
    views, so these must be fields that hold sentences.
    """

    name: ClassVar[str] = "sentence-max"
    reads_whole: ClassVar[bool] = False

    def parts_of(self, encoder: Encoder, texts: Sequence[Segments]) -> list[str]:
        return _sentences(texts)[0]

    def kept(self) -> KeptForm | None:
        if not self.scores_as(SentenceMax):
            return None

        def side(name: Side) -> Encode:
            def encode(texts: Sequence[Segments]) -> tuple[Singles, Ints]:
                parts, starts = _sentences(texts)
                made = encoder_of(self, name).encode(parts, what="sentences", count=len(parts))
                return made.vectors(), np.diff(starts)

            return encode

        sides = Sides(side("query"), side("document"), lambda: Comparison("cosine"))
        return VectorIndex(sides, self.stored, self.kept_settings())

    def scorer(self, task: Task) -> Scorer:
        return self.prepare(task)(task)

    def prepare(self, task: Task) -> Ask:
        asking, shown = self.encoder("query"), self.encoder("document")
        parts, doc_starts = _sentences(task.docs)
        docs = shown.encode(parts, what="document sentences", count=len(parts))

        @keep_last
        def compare(doc: Ints) -> tuple[Callable[[Vectors], ScoreMatrix], Ints, int]:
            rows, columns = _gather(doc_starts, doc)
            return comparing(docs[rows], "cosine", self.device), columns, len(rows)

        def ask(other: Task) -> Scorer:
            asked, query_starts = _sentences(self.asked(other))
            queries = unit(asking.encode(asked, what="query sentences").vectors())

            def candidates(doc: Ints) -> Block:
                compared, columns, sentences = compare(doc)

                def some(query: Ints) -> ScoreMatrix:
                    mine, starts = _gather(query_starts, query)
                    best = np.maximum.reduceat(compared(queries[mine]), columns, axis=1)
                    result: ScoreMatrix = np.maximum.reduceat(best, starts, axis=0)
                    return result

                def score(query: Ints) -> ScoreMatrix:
                    # Pairs of sentences are many more than pairs of texts.
                    most = int(np.diff(query_starts)[query].max()) * sentences
                    step = max(1, _PAIRS // most)
                    parts = [some(query[i : i + step]) for i in range(0, len(query), step)]
                    return np.concatenate(parts)

                return score

            return candidates

        return ask


def text_sides(retriever: TwoSided, similarity: Callable[[], Similarity]) -> Sides:
    """What an index has to know of a retriever's vectors, one for each text."""

    def side(name: Side) -> Encode:
        def encode(texts: Sequence[Segments]) -> tuple[Singles, Ints]:
            made = encoded(encoder_of(retriever, name), texts, "texts")
            return made.vectors(), np.ones(len(texts), np.int64)

        return encode

    return Sides(side("query"), side("document"), lambda: Comparison(similarity()))


def encoded(encoder: Encoder, texts: Sequence[Segments], what: str) -> Encodings:
    """What a model makes of texts in segments."""
    return encoder.encode(map(encoder.text, texts), what=what, count=len(texts))


def comparing(
    docs: Encodings, similarity: Similarity, device: str | None
) -> Callable[[Vectors], ScoreMatrix]:
    """What compares queries with documents, of which equal ones get equal scores."""
    distinct, which = docs.distinct()
    compared = prepared(distinct.vectors(), similarity, device)
    return compared if len(distinct) == len(which) else repeated(compared, which)


def _sentences(texts: Iterable[Segments]) -> tuple[list[str], Ints]:
    """All sentences, and where each text's begin; an empty text has one, which is empty."""
    parts = [[s for s in segments if s.strip()] or [""] for segments in texts]
    starts = np.cumsum([0, *(len(part) for part in parts)])
    return [sentence for part in parts for sentence in part], starts


def _gather(starts: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """The places of the chosen texts' sentences, and where each text's begin among them."""
    counts = starts[chosen + 1] - starts[chosen]
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.repeat(starts[chosen] - begins, counts) + np.arange(counts.sum()), begins

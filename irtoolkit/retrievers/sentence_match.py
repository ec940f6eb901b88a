"""Sentences read in their text and matched with those of another: the nearest pair, or transport."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain, repeat
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Ids, Ints, Segments, Singles
from irtoolkit.base.sentences import split_sentences
from irtoolkit.indexes.vectors import runs_of_texts
from irtoolkit.models.adapters import Item
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.part_vectors import with_spans
from irtoolkit.models.presets import Side
from irtoolkit.models.shards import Encodings
from irtoolkit.retrievers._transport import Transport
from irtoolkit.retrievers.base import Ask, ScoreMatrix
from irtoolkit.retrievers.compared import by_pools
from irtoolkit.retrievers.dense import VectorRetriever
from irtoolkit.retrievers.late import tokens
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.vectors import prepared

# Sentences of documents whose vectors are in memory at once: 1.5 GiB at 384 dimensions.
_HELD = 1 << 20
# Pairs of sentences compared at once.
_PAIRS = 1 << 25


@dataclass(frozen=True)
class SentenceMatch(VectorRetriever):
    """Similarity of sentences that are read in their text (ASPIRE, Mysore et al. 2022, §3).

    The model reads a text as a whole, and the vector of a sentence is the mean of its tokens'
    vectors. The score is that of the most similar pair of sentences, or the negated cost of the
    optimal transport of the query's sentences to the document's. Sentences are the segments of the
    task's views, so these must be fields that hold sentences, or `split` is needed.

    Attributes:
        matching: "nearest", the greatest similarity of any pair of sentences (TSAspire), or
            "transport", the negated cost of optimal transport (OTAspire).
        similarity: of two sentences: "cosine", or "l2", the negated Euclidean distance, as in
            ASPIRE. The cost of a pair is 1 minus the cosine, or the distance.
        query_sentences, doc_sentences: views of the sentences that are compared, where these are
            fewer than those that are read; by default all of them. Of a text that is typed, all are.
        split: whether the segments of a text are split into sentences by rules.
        masses: of sentences in transport: "similar", the softmax of each sentence's greatest
            similarity with the other text, or "uniform".
        temperature: divides the similarities of this softmax.
        regularisation: weight of the entropy in Sinkhorn's algorithm; 0 is the exact optimum, by
            POT.
    """

    name: ClassVar[str] = "sentence-match"
    reads_whole: ClassVar[bool] = False
    read_with: ClassVar = {
        "masses": ("matching=transport",),
        "temperature": ("masses=similar",),
        "regularisation": ("matching=transport",),
    }
    format: ClassVar[int] = 2

    matching: Literal["nearest", "transport"] = "nearest"
    similarity: Literal["cosine", "l2"] = "cosine"
    query_sentences: str | None = None
    doc_sentences: str | None = None
    split: bool = False
    masses: Literal["similar", "uniform"] = "similar"
    temperature: float = 1.0
    regularisation: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.temperature < float("inf"):
            raise InputError(f"setting temperature={self.temperature} is not above 0")
        if not 0 <= self.regularisation < float("inf"):
            raise InputError(f"setting regularisation={self.regularisation} is not at least 0")

    def missing(self) -> str | None:
        exact = self.matching == "transport" and not self.regularisation
        if exact and find_spec("ot") is None:
            return str(needs_extra("POT", "transport"))
        return super().missing()

    def encoding(self, side: Side) -> dict[str, Any]:
        return {**super().encoding(side), "options": (("unit", "sentences"),)}

    def also_reads(self, task: Task) -> Iterable[str]:
        yield from super().also_reads(task)
        if self.query_sentences is not None:
            yield from chain.from_iterable(task.query_fields(self.query_sentences))
        has_docs_key = task.dataset is not None and task.dataset.docs_key is not None
        if self.doc_sentences is not None and not has_docs_key:
            yield from chain.from_iterable(_viewed(task, self.doc_sentences))

    def prepare(self, task: Task) -> Ask:
        reason = self.missing()
        if reason is not None:
            raise InputError(reason)
        query_encoder, document_encoder = self.encoder("query"), self.encoder("document")
        views = repeat(None) if self.doc_sentences is None else _viewed(task, self.doc_sentences)
        side = _Side("document", task.doc_ids, task.doc_view, task.lang)
        items = self._items(document_encoder, task.docs, views, side)
        docs = document_encoder.encode(items, what="documents", count=len(task.docs))

        def encode(queries: Task) -> Encodings:
            view = None if queries.typed else self.query_sentences
            views = repeat(None) if view is None else queries.query_fields(view)
            side = _Side("query", queries.query_ids, queries.query_view, queries.lang)
            items = self._items(query_encoder, self.asked(queries), views, side)
            return query_encoder.encode(items, what="queries", count=len(queries.query_ids))

        def score(pool: tuple[_Sentences, Ints], queries: Encodings, rows: Ints) -> ScoreMatrix:
            sentences, numbers = pool
            return sentences.scores(*tokens(queries[rows]))[:, numbers]

        return by_pools(lambda doc: self._held(docs[doc]), encode, score)

    def _held(self, docs: Encodings) -> tuple[_Sentences, Ints]:
        """A candidate set, each document once, and (c,) where among them each of these is."""
        distinct, numbers = docs.distinct()
        return _Sentences(distinct, self), numbers

    def transport(self) -> Transport:
        """How sentences are transported."""
        return Transport(self.masses == "uniform", self.temperature, self.regularisation)

    def _items(
        self,
        encoder: Encoder,
        texts: Iterable[Segments],
        views: Iterable[Segments | None],
        side: _Side,
    ) -> Iterator[Item]:
        """Texts with the places of the sentences that are compared."""
        # What a preset puts between fields stands after the first of them, and not between sentences.
        between = encoder.text(("", ""))
        joiner = between if not between.strip() else " "
        first = between if "+" in side.view else joiner
        for name, text, compared in zip(side.ids, texts, views, strict=False):
            pieces, view_pieces = self._pieces(text, side.lang), None
            if compared is not None:
                view_pieces = set(self._pieces(compared, side.lang))
                if not view_pieces.issubset(pieces):
                    raise InputError(
                        f"{side.kind} {name}: the view {side.view} does not have the sentence"
                        f" {min(view_pieces.difference(pieces))[:60]!r}, which is to be compared",
                        remedy="a view with all sentences of the text, such as title+sentences",
                    )
            # A text that has nothing of the view that is compared is compared as a whole.
            chosen = [not view_pieces or piece in view_pieces for piece in pieces]
            yield with_spans(pieces or [""], chosen or [True], joiner, first)

    def _pieces(self, text: Segments, lang: str | None) -> list[str]:
        """The sentences of a text, without those that are blank."""
        pieces = (split_sentences(part, lang) for part in text) if self.split else [text]
        return [piece for piece in chain.from_iterable(pieces) if piece.strip()]


class _Side(NamedTuple):
    """The texts of one side: what they are, their ids, their view and their language."""

    kind: Side
    ids: Ids
    view: str
    lang: str | None


class _Sentences:
    """The vectors of documents' sentences, in parts of bounded memory.

    Args:
        docs: distinct documents.
        matching: how they are matched.
    """

    def __init__(self, docs: Encodings, matching: SentenceMatch) -> None:
        self._docs, self._how = docs, matching
        self._parts = runs_of_texts(np.concatenate([[0], np.cumsum(docs.counts)]), _HELD)
        # What is one part is held for all queries.
        self._whole = self._read(0, len(docs)) if len(self._parts) == 1 else None

    def _read(self, first: int, last: int) -> tuple[Any, Ints]:
        """Returns a comparison with the sentences of some documents, and where each document's begin."""
        vectors, starts = tokens(self._docs[np.arange(first, last)])
        return prepared(vectors, self._how.similarity, self._how.device), starts

    def scores(self, vectors: Singles, starts: Ints) -> ScoreMatrix:
        """(q, c) scores of queries, given by the vectors of their sentences and where each one's begin."""
        scores: ScoreMatrix = np.empty((len(starts) - 1, len(self._docs)), np.float64)
        for first, last in self._parts:
            compared, columns = self._whole or self._read(first, last)
            for low, high in runs_of_texts(starts, max(1, _PAIRS // int(columns[-1]))):
                rows = starts[low : high + 1]
                similarities = compared(vectors[rows[0] : rows[-1]])
                self._match(similarities, rows - rows[0], columns, scores[low:high, first:last])
        return scores

    def _match(
        self, similarities: ScoreMatrix, rows: Ints, columns: Ints, scores: ScoreMatrix
    ) -> None:
        """Fills in the scores of texts whose sentences begin at these rows and columns."""
        if self._how.matching == "transport":
            most = 1.0 if self._how.similarity == "cosine" else 0.0
            self._how.transport().fill(similarities, rows, columns, most, scores)
            return
        best = np.maximum.reduceat(similarities, columns[:-1], axis=1)
        scores[:] = np.maximum.reduceat(best, rows[:-1], axis=0)


def _viewed(task: Task, view: str) -> Sequence[Segments]:
    """(D,) the text of each document under another view than the task's own."""
    texts: Sequence[Segments] = replace(task, doc_view=view).docs
    return texts

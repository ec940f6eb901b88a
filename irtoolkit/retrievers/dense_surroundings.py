"""Vectors of passages of books together with those of the sentences around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.part_vectors import with_spans
from irtoolkit.models.presets import Kind, Side
from irtoolkit.retrievers._book_windows import BookWindows, Surrounded, book_windows, incidence
from irtoolkit.retrievers.base import Ask, ScoreMatrix
from irtoolkit.retrievers.compared import by_pools
from irtoolkit.retrievers.dense import Dense, encode_texts
from irtoolkit.retrievers.late import tokens
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.vectors import Similarity, Vectors, prepared, unit

# Tokens that a model may read at once.
_LEAST, _MOST = 16, 1 << 15
# Windows whose vectors are made at once.
_WINDOWS = 1 << 13


class Level(NamedTuple):
    """Passages, or the windows of one size around them, of some candidates.

    Attributes:
        share: in the score.
        compare: gives the scores of the passages or windows.
        numbers: (c,) which of them each candidate has.
    """

    share: float
    compare: Callable[[Vectors], ScoreMatrix]
    numbers: Ints


@dataclass(frozen=True)
class DenseSurroundings(Surrounded, Dense):
    """Similarity of passages of books, interpolated with that of windows around them.

    The passage's vector is that of its text. The vector of a window is the mean of its sentences'
    vectors, of length 1 each where they are compared by the cosine: sentences are encoded once, and
    no window is longer than the model reads. With `fade`, the query's vector is the weighted mean of
    its sentences' vectors in the same way.

    Attributes:
        context: tokens of the book that the model reads at once, so that a sentence is read with
            those around it, and a passage has the mean of its tokens' vectors (late chunking); 0
            reads sentences and passages by themselves.
    """

    name: ClassVar[str] = "dense-surroundings"
    applies: ClassVar[Kind | None] = None
    read_with: ClassVar = {"around": ()}  # the window here, whatever the cut of queries

    context: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_surroundings()
        if self.context and not _LEAST <= self.context <= _MOST:
            raise InputError(
                f"setting context={self.context} is neither 0 nor from {_LEAST} to {_MOST}"
            )

    def encoding(self, side: Side) -> dict[str, Any]:
        settings = super().encoding(side)
        in_text = self.context and side == "document"
        return {**settings, "options": (("unit", "sentences"),)} if in_text else settings

    def index_format(self) -> IndexFormat | None:
        return None

    def prepare(self, task: Task) -> Ask:
        windows = book_windows(task)
        query_encoder, document_encoder = self.encoder("query"), self.encoder("document")
        similarity = cast(Similarity, self.similarity or document_encoder.similarity)
        passages, sentences = self._documents(task, windows, document_encoder, similarity)

        def compared(doc: Ints) -> list[Level]:
            levels: list[Level] = []
            for size, share in self.shares():
                vectors, numbers, stored = passages(doc), np.arange(len(doc)), self.stored
                if size:
                    vectors, numbers = _window_vectors(windows, sentences, doc, size)
                    stored = "fp32"
                compare = prepared(vectors, similarity, self.device, stored)
                levels.append(Level(share, compare, numbers))
            return levels

        def score(levels: list[Level], queries: Vectors, rows: Ints) -> ScoreMatrix:
            total: ScoreMatrix = np.zeros((len(rows), len(levels[0].numbers)))
            for level in levels:
                total += level.share * level.compare(queries[rows])[:, level.numbers]
            return total

        return by_pools(
            compared, lambda queries: self._queries(queries, query_encoder, similarity), score
        )

    def _documents(
        self, task: Task, windows: BookWindows, encoder: Encoder, similarity: Similarity
    ) -> tuple[Callable[[Ints], Vectors], Singles]:
        """Returns what gives the vectors of passages, and those of sentences for windows of them."""
        if self.context:
            vectors, lengths = read_in_chunks(encoder, windows, self.context)
            sums = vectors * lengths[:, None].astype(np.float32)
            return (
                lambda doc: _means(*windows.ranges(doc, 0), sums, lengths),
                _scaled(vectors, similarity),
            )
        docs = encode_texts(encoder, task.docs, "documents")
        sentences = np.empty((0, 0), np.float32)
        if any(size for size, _ in self.shares()):
            encodings = encoder.encode(
                windows.sentences, what="sentences", count=len(windows.sentences)
            )
            sentences = _scaled(encodings.vectors(), similarity)
        return lambda doc: docs[doc].vectors(), sentences

    def _queries(self, task: Task, encoder: Encoder, similarity: Similarity) -> Vectors:
        """(Q, dimensions) vectors of the queries, or of their sentences weighted by nearness."""
        if not self.fades(task):
            return encode_texts(encoder, self.asked(task), "queries").vectors()
        texts, weights = self.query_sentences(task)
        vectors = encoder.encode(texts, what="query sentences", count=len(texts)).vectors()
        total = np.asarray(weights.sum(axis=1)).reshape(-1, 1)
        mean: Vectors = (weights @ _scaled(vectors, similarity)) / np.where(total > 0, total, 1)
        return mean.astype(np.float32)


def _scaled(vectors: Any, similarity: Similarity) -> Singles:
    return np.asarray(unit(vectors) if similarity == "cosine" else vectors, np.float32)


def _window_vectors(
    windows: BookWindows, sentences: Singles, doc: Ints, size: int
) -> tuple[Singles, Ints]:
    """The vectors of the distinct windows around passages, and (c,) the window of each passage."""
    ranges, inverse = np.unique(
        np.stack(windows.ranges(doc, size), axis=1), axis=0, return_inverse=True
    )
    means = np.empty((len(ranges), sentences.shape[1]), np.float32)
    for start in range(0, len(ranges), _WINDOWS):
        first, last = ranges[start : start + _WINDOWS].T
        base, stop = int(first.min()), int(last.max())
        total = incidence(first, last, base, stop - base) @ sentences[base:stop]
        means[start : start + _WINDOWS] = total / (last - first)[:, None]
    return means, inverse.reshape(-1)


def _means(first: Ints, last: Ints, sums: Singles, lengths: Ints) -> Vectors:
    """The means over the tokens of stretches of sentences, given the sums over each sentence's."""
    base, stop = int(first.min()), int(last.max())
    over = incidence(first, last, base, stop - base)
    mean: Vectors = (over @ sums[base:stop]) / (over @ lengths[base:stop])[:, None]
    return mean.astype(np.float32)


# Tokens that a model puts around a text.
_SPECIAL = 2


class SentenceChunk(NamedTuple):
    """Sentences that a model reads at once, and those of them whose vectors are kept.

    Attributes:
        first, last: the first sentence that is read, and one past the last.
        begin, end: the first sentence that has its vector from here, and one past the last.
    """

    first: int
    last: int
    begin: int
    end: int


def chunks(lengths: Ints, context: int) -> Iterator[SentenceChunk]:
    """Yields chunks of one book that overlap by half: each sentence is kept where it is most central.

    Args:
        lengths: tokens of each sentence.
        context: tokens of a chunk, which has at least one sentence.
    """
    ends = np.cumsum(lengths)
    starts = ends - lengths
    first = begin = 0
    while begin < len(lengths):
        last = max(first + 1, int(np.searchsorted(ends, starts[first] + context, side="right")))
        if last == len(lengths):
            yield SentenceChunk(first, last, begin, last)
            return
        following = int(np.searchsorted(starts, starts[first] + context / 2))
        following = min(max(following, first + 1), last)
        middle = (starts[following] + ends[last - 1]) / 2 if following < last else ends[last - 1]
        end = int(np.searchsorted((starts + ends) / 2, middle))
        end = min(max(end, following, begin + 1), last)
        yield SentenceChunk(first, last, begin, end)
        first, begin = following, end


def read_in_chunks(encoder: Encoder, windows: BookWindows, context: int) -> tuple[Singles, Ints]:
    """Returns the vectors of the sentences of all books, and the tokens of each.

    Args:
        encoder: of sentences in their text; see `irtoolkit.models.part_vectors`.
        windows: has the sentences.
        context: tokens that are read at once.

    Raises:
        InputError: the model does not read so many tokens.
    """
    lengths = np.maximum(encoder.lengths(windows.sentences) - _SPECIAL, 1)
    edges = np.unique(np.concatenate([windows.lows, windows.highs, [0, len(lengths)]]))
    items, counts = [], []
    for low, high in pairwise(edges.tolist()):
        for chunk in chunks(lengths[low:high], context - _SPECIAL):
            pieces = windows.sentences[low + chunk.first : low + chunk.last]
            is_kept = [chunk.begin <= n < chunk.end for n in range(chunk.first, chunk.last)]
            items.append(with_spans(pieces, is_kept, " ", " "))
            counts.append(sum(is_kept))
    vectors, starts = tokens(encoder.encode(items, what="windows", count=len(items)))
    if np.diff(starts).tolist() != counts:
        raise InputError(
            f"setting context={context} is more than the model reads, or a sentence has no words",
            remedy="lower context, or set doc_length higher",
        )
    return vectors, lengths

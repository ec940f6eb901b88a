"""Vectors of sentences of books that a model reads together with those around them (late chunking)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Singles
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.part_vectors import with_spans
from irtoolkit.retrievers._book_windows import BookWindows
from irtoolkit.retrievers.late import tokens

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

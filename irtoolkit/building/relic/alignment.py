"""Runs of words that a text shares with a book, with a few of them changed.

Shared runs of `GRAM` words are the seeds. Seeds that follow each other in both texts are chained,
and each chain is extended at both ends, character by character, as long as the texts agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints
from irtoolkit.building.relic.extension import agreement, chain
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.relic.words import GRAM, Characters, Words

Flags = NDArray[np.bool_]
# A run of words that a book has more often than this says nothing about where a quotation is.
COMMON = 12
# Words between two seeds of one chain, and how far the two distances may differ.
_GAP, _DRIFT = 14, 2
# Characters that are compared at once beyond the end of a chain.
_AHEAD = 96


@dataclass(frozen=True, order=True)
class Piece:
    """A run of words of a text, and the run of a book's words that it agrees with.

    Attributes:
        first, last: words of the text, `last` not included.
        start, stop: words of the book, `stop` not included.
        seeds: shared runs of `GRAM` words.
    """

    first: int
    last: int
    start: int
    stop: int
    seeds: int


def seeds(text: Words, book: ShelvedBook) -> tuple[Ints, Ints]:
    """Returns the first words of all runs of `GRAM` words in both, ascending.

    Runs that the book has more than `COMMON` times are left out.
    """
    grams = text.grams()
    low = np.searchsorted(book.grams, grams, side="left")
    counts = np.searchsorted(book.grams, grams, side="right") - low
    counts[counts > COMMON] = 0
    text_positions = np.repeat(np.arange(len(grams)), counts)
    nth = np.arange(len(text_positions)) - np.repeat(np.cumsum(counts) - counts, counts)
    book_positions = np.asarray(book.places)[np.repeat(low, counts) + nth].astype(np.int64)
    # Places of one run are in the order of the book, because the sorting was stable.
    return text_positions, book_positions


def pieces(text: Words, book: ShelvedBook, marked: Flags) -> Iterator[Piece]:
    """Yields the runs that agree, in the order of their beginnings in the text.

    Args:
        text: a work of criticism, or a part of it.
        book: the possible source of its quotations.
        marked: (W,) whether a word of the text is set as a quotation, for which one seed is enough.
    """
    text_positions, book_positions = seeds(text, book)
    if not len(text_positions):
        return
    chains = chain(text_positions, book_positions, _GAP, _DRIFT)
    order = np.argsort(chains, kind="stable")
    counts = np.bincount(chains)
    ends = np.cumsum(counts)
    first_pair, second = order[ends - counts], order[ends - 1]
    characters = text.characters()
    selected = np.flatnonzero(
        (counts > 1)
        | (marked[text_positions[first_pair]] & marked[text_positions[second] + GRAM - 1])
    )
    selected = selected[
        np.lexsort((book_positions[first_pair[selected]], text_positions[first_pair[selected]]))
    ]
    for number in selected.tolist():
        first, last = first_pair[number], second[number]
        bare = Piece(
            int(text_positions[first]),
            int(text_positions[last]) + GRAM,
            int(book_positions[first]),
            int(book_positions[last]) + GRAM,
            int(counts[number]),
        )
        yield extended(bare, text, characters, book)


def extended(piece: Piece, text: Words, characters: Characters, book: ShelvedBook) -> Piece:
    """Returns a piece with the words at both ends that agree, too."""
    end, stop = _ahead(
        characters[text.offsets[piece.last] - 1 :],
        book.characters[book.offsets[piece.stop] - 1 :],
    )
    last = _whole(text.offsets, piece.last, int(text.offsets[piece.last]) - 1 + end)
    stop = _whole(book.offsets, piece.stop, int(book.offsets[piece.stop]) - 1 + stop)
    begin, start = _ahead(
        characters[: text.offsets[piece.first]][::-1],
        book.characters[: book.offsets[piece.start]][::-1],
    )
    first = _whole_before(text.offsets, piece.first, int(text.offsets[piece.first]) - begin)
    start = _whole_before(book.offsets, piece.start, int(book.offsets[piece.start]) - start)
    return replace(piece, first=first, last=last, start=start, stop=stop)


def _ahead(first: Characters, second: Characters) -> tuple[int, int]:
    """Returns how far two texts agree; see `agreement`."""
    low, to = 0, 0
    while True:
        more, beyond = agreement(
            np.ascontiguousarray(first[low : low + _AHEAD]),
            np.ascontiguousarray(second[to : to + _AHEAD]),
        )
        low, to = low + more, to + beyond
        if min(more, beyond) < _AHEAD // 2:
            return low, to


# A number of another type than the array's would have the whole array converted.
def _whole(offsets: NDArray[Any], word: int, end: int) -> int:
    """Returns the index after the last word that ends by a character."""
    return max(word, int(np.searchsorted(offsets, offsets.dtype.type(end + 1), side="right")) - 1)


def _whole_before(offsets: NDArray[Any], word: int, begin: int) -> int:
    """Returns the first word that begins at a character or after it."""
    return min(word, int(np.searchsorted(offsets, offsets.dtype.type(begin), side="left")))

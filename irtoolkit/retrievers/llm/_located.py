"""Where a quotation stands in a book, apart from case and punctuation, and how near passages are to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints
from irtoolkit.retrievers._book_windows import BookWindows

# The match from which on a text counts as one of the book's.
IN_BOOK = 90.0


class FoundSpan(NamedTuple):
    """Characters of a plain text that match a quotation.

    Attributes:
        start, stop: the first character, and one past the last.
        match: RapidFuzz' partial ratio, from 0 to 100.
    """

    start: int
    stop: int
    match: float


@dataclass(frozen=True, eq=False)
class SearchedText:
    """The books that some candidates are from, as one text; prepared when it is first searched.

    Attributes:
        sentences: those of the books, in order.
        firsts, lengths: (c,) the first sentence of each candidate, and how many it has.
    """

    sentences: list[str]
    firsts: Ints
    lengths: Ints

    @classmethod
    def of(cls, windows: BookWindows, docs: Ints) -> SearchedText:
        """Returns the whole books of some passages."""
        books = np.unique(np.stack([windows.lows[docs], windows.highs[docs]], axis=1), axis=0)
        numbers = np.concatenate([np.arange(low, high) for low, high in books.tolist()])
        return cls(
            [windows.sentences[number] for number in numbers.tolist()],
            np.searchsorted(numbers, windows.begins[docs]),
            windows.ends[docs] - windows.begins[docs],
        )

    @cached_property
    def text(self) -> str:
        """The sentences of the books, joined by spaces."""
        return " ".join(self.sentences)

    @cached_property
    def _plain_sentences(self) -> list[str]:
        return [f"{plain_text(sentence)} " for sentence in self.sentences]

    @cached_property
    def plain(self) -> str:
        """The text in lower case with spaces for punctuation, in which quotations are found."""
        return "".join(self._plain_sentences)

    @cached_property
    def spans(self) -> tuple[Ints, Ints]:
        """(c,) the first character of each candidate in `plain`, and one past its last."""
        offsets = np.cumsum([0, *map(len, self._plain_sentences)])
        return offsets[self.firsts], offsets[self.firsts + self.lengths] - 1

    def find(self, quotation: str) -> FoundSpan | None:
        """Returns where a quotation stands, or what is most like it; None for one without words."""
        from rapidfuzz import fuzz

        wanted = plain_text(quotation)
        if not wanted:
            return None
        start = f" {self.plain}".find(f" {wanted} ")
        if start >= 0:
            return FoundSpan(start, start + len(wanted), 100.0)
        best = fuzz.partial_ratio_alignment(wanted, self.plain)
        if best is None:
            return None
        return FoundSpan(best.dest_start, best.dest_end, best.score)

    def scores(self, span: FoundSpan) -> NDArray[np.float64]:
        """Returns (c,) scores of the candidates by a quotation.

        Those that overlap it have the F1 of their characters; others the negated distance, as a share
        of the text.
        """
        begins, ends = self.spans
        overlaps = np.minimum(ends, span.stop) - np.maximum(begins, span.start)
        sizes = ends - begins + span.stop - span.start
        return np.where(
            overlaps > 0, 2 * overlaps / np.maximum(sizes, 1), (overlaps - 1) / len(self.plain)
        )


def plain_text(text: str) -> str:
    """Returns a text in lower case, with single spaces for whatever is neither letter nor digit."""
    from rapidfuzz import utils

    return " ".join(utils.default_process(text).split())

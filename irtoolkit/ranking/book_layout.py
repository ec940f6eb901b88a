"""Sentences of books in one row, with gaps wide enough that no window reaches another book."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.datasets.novels import LONGEST, Novel


class BookLayout:
    """The places of the sentences and passages of some books.

    Args:
        novels: with distinct names.
        margin: sentences that a window may reach beyond its passage.

    Attributes:
        size: places, gaps included.
        sentences: (n,) the place of each sentence.
    """

    def __init__(self, novels: Sequence[Novel], margin: int) -> None:
        self.novels, self.margin = tuple(novels), margin
        self.lengths = np.array([len(novel.sentences) for novel in novels], np.int64)
        gap = margin + LONGEST
        self.begins = gap + np.array([0, *accumulate(self.lengths + gap)], np.int64)[:-1]
        self.size = int(self.begins[-1] + self.lengths[-1]) + gap
        self.sentences = self._joined(self.lengths)

    def _joined(self, counts: Ints) -> Ints:
        parts = [np.arange(a, a + n) for a, n in zip(self.begins, counts, strict=True)]
        return np.concatenate(parts)

    def spread(self, values: Any, absent: float = 0.0) -> Floats:
        """Returns (size,) a value of each sentence at its place; what is `absent` in the gaps."""
        placed = np.full(self.size, absent)
        placed[self.sentences] = values
        return placed

    def sizes(self, length: int) -> Ints:
        """Returns (books,) the sentences of a passage: as many as there are in a shorter book."""
        return np.minimum(length, self.lengths)

    def starts(self, length: int) -> Ints:
        """Returns (p,) the places of the first sentences of all passages."""
        return self._joined(self.lengths - self.sizes(length) + 1)

    def window_sums(self, sums: Floats, length: int, around: int) -> Floats:
        """Returns sums over the window around each place, from those of `running_sums`."""
        width = length + 2 * around
        windows: Floats = sums[width:] - sums[:-width]
        first = self.begins[0] - around
        return windows[first:]

    def passages(self, numbers: Ints, length: int) -> list[tuple[int, int, int]]:
        """Returns book, first sentence and number of sentences of the passages of some numbers."""
        sizes = self.sizes(length)
        counts = self.lengths - sizes + 1
        ends = np.cumsum(counts)
        books = np.searchsorted(ends, numbers, side="right")
        starts = numbers - ends[books] + counts[books]
        return list(zip(books.tolist(), starts.tolist(), sizes[books].tolist(), strict=True))

    def ids(self, numbers: Ints, length: int) -> list[str]:
        """Returns the ids of the passages of some numbers."""
        passages = self.passages(numbers, length)
        return [f"{self.novels[book].name}:{start}+{size}" for book, start, size in passages]


def running_sums(values: Floats) -> Floats:
    """Returns (n + 1,) the sums of the first 0 to n values."""
    return np.concatenate([np.zeros(1), np.cumsum(values)])

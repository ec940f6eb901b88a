"""Texts that follow each other and have together so many tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from irtoolkit.base.ids import Ints


def runs_of_texts(starts: Ints, most: int) -> list[tuple[int, int]]:
    """Runs of texts, (first, past the last), of at most so many tokens, or of one text."""
    return list(_runs(starts, most))


def _runs(starts: Ints, most: int) -> Iterator[tuple[int, int]]:
    first, count = 0, len(starts) - 1
    while first < count:
        last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        last = min(count, max(first + 1, last))
        yield first, last
        first = last

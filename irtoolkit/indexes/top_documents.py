"""What a search of an index finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.ids import Ints


class TopDocuments(NamedTuple):
    """The best documents of some queries.

    Attributes:
        offsets: (q+1,) where the rows of each query begin.
        documents: (n,) numbers of documents, best first; ties are in descending order of ids.
        scores: (n,) their scores, or whole numbers that stand for them.
    """

    offsets: Ints
    documents: Ints
    scores: Any

    @classmethod
    def joined(cls, parts: Sequence[TopDocuments]) -> TopDocuments:
        """The documents of several sets of queries, one after the other."""
        sizes = [np.diff(part.offsets) for part in parts]
        counts = np.concatenate([np.zeros(1, np.int64), *sizes])
        return cls(
            np.cumsum(counts),
            np.concatenate([np.empty(0, np.int64), *(part.documents for part in parts)]),
            # Scores that are whole numbers stay so.
            np.concatenate([part.scores for part in parts] or [np.empty(0)]),
        )


def rows_joined(rows: Sequence[tuple[Ints, Any]]) -> TopDocuments:
    """What was found for each query: documents and their scores, best first."""
    return TopDocuments(
        np.cumsum([0, *(len(docs) for docs, _ in rows)]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *(docs for docs, _ in rows)]),
        np.concatenate([np.empty(0), *(scores for _, scores in rows)]),
    )


def distinct_numbers(numbers: Ints) -> tuple[Ints, Ints]:
    """The distinct numbers in ascending order, and the place of each among them."""
    size = int(numbers.max(initial=-1)) + 1
    if len(numbers) < size // 16:
        return np.unique(numbers, return_inverse=True)
    # Looked up, where that takes less than sorting.
    seen = np.zeros(size, bool)
    seen[numbers] = True
    distinct = np.flatnonzero(seen)
    places = np.empty(size, np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[numbers]

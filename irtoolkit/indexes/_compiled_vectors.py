"""The compiled loop that gathers the similarities of several vectors of a text."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, cache=True, fastmath={"nnan"})  # type: ignore[untyped-decorator]
def matched(
    similarities: Any, doc_starts: Any, query_starts: Any, total: bool, without: float, scores: Any
) -> None:
    """Fills in (q, d) scores: the greatest similarity over each document's rows, summed over each
    query's columns in their order, or the greatest of these too."""
    width = similarities.shape[1]
    best = np.empty(width)
    for doc in range(len(doc_starts) - 1):
        best[:] = without
        if doc_starts[doc] < doc_starts[doc + 1]:
            best[:] = similarities[doc_starts[doc]]
        for row in range(doc_starts[doc] + 1, doc_starts[doc + 1]):
            for column in range(width):
                value = similarities[row, column]
                best[column] = value if value > best[column] else best[column]
        for query in range(len(query_starts) - 1):
            score = best[query_starts[query]]
            for column in range(query_starts[query] + 1, query_starts[query + 1]):
                score = score + best[column] if total else max(score, best[column])
            scores[query, doc] = score

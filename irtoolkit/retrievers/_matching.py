"""Counts of queries against candidate sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irtoolkit.base.ids import Ints
from irtoolkit.retrievers._terms import widen
from irtoolkit.retrievers.base import Block, ScoreMatrix, Scorer

# Scores (q, terms) counts of queries against a candidate set.
Matcher = Callable[[Any], ScoreMatrix]
# A candidate set to its matcher, and the number of terms that the matcher knows.
Matchers = Callable[[Ints], tuple[Matcher, int]]


def scored_by(queries: Any, matchers: Matchers) -> Scorer:
    """What scores the candidate sets of queries, given by their counts of terms."""

    def candidates(docs: Ints) -> Block:
        match, width = matchers(docs)
        # Terms that come only in later queries are in no document.
        asked = widen(queries if queries.shape[1] <= width else queries.copy(), width)
        return lambda query: match(asked[query])

    return candidates

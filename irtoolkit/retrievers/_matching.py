"""Counts of queries against candidate sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from irtoolkit.base.ids import Ints
from irtoolkit.retrievers._counts import Collection
from irtoolkit.retrievers._terms import Vocabulary, widen
from irtoolkit.retrievers.base import Block, ScoreMatrix, Scorer
from irtoolkit.retrievers.task import Task

# Scores (q, terms) counts of queries against a candidate set.
Matcher = Callable[[Any], ScoreMatrix]
# A candidate set to its matcher, and the number of terms that the matcher knows; None where it takes
# counts of any number of terms.
Matchers = Callable[[Ints], tuple[Matcher, int | None]]


class Candidates(NamedTuple):
    """A candidate set as terms are matched in it.

    Attributes:
        task: the task.
        docs: (c,) indices into its documents.
        counts: (c, terms) counts of terms.
        collection: what weighs the terms.
        vocabulary: the terms.
    """

    task: Task
    docs: Ints
    counts: Any
    collection: Collection
    vocabulary: Vocabulary


def scored_by(queries: Any, matchers: Matchers) -> Scorer:
    """What scores the candidate sets of queries, given by their counts of terms."""

    def candidates(docs: Ints) -> Block:
        match, width = matchers(docs)
        # Terms that come only in later queries are in no document.
        asked = queries if width is None else narrowed(queries, width)
        return lambda query: match(asked[query])

    return candidates


def narrowed(queries: Any, width: int) -> Any:
    """Counts of queries over the first terms, so many."""
    return widen(queries if queries.shape[1] <= width else queries.copy(), width)

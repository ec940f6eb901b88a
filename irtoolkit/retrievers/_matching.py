"""Counts of queries against candidate sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from irtoolkit.base.ids import Ints
from irtoolkit.retrievers._counts import Collection
from irtoolkit.retrievers._terms import SharedTerms, Vocabulary, widen
from irtoolkit.retrievers.base import Block, Matches, ScoreMatrix, Scorer
from irtoolkit.retrievers.task import Task

# Scores (q, terms) counts of queries against a candidate set.
Matcher = Callable[[Any], ScoreMatrix]
# As a matcher, with the candidates that share a term with each query.
Matching = Callable[[Any], Matches]
# A candidate set to what matches in it, and the number of terms that this knows; None where it takes
# counts of any number of terms.
Matchers = Callable[[Ints], tuple[Matching, int | None]]


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


def matching(match: Matcher, counts: Any) -> Matching:
    """A matcher of (c, terms) counts of candidates, with the candidates that share a term."""
    shared = SharedTerms(counts)
    return lambda queries: Matches(match(queries), lambda: shared(queries))


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

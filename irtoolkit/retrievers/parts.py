"""Scoring the parts of a task: each some queries of a group, against all of its candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.rows import by_rows
from irtoolkit.retrievers.base import (
    Block,
    Hits,
    Listed,
    Matches,
    ScoreMatrix,
    Scorer,
    Searched,
    is_listed,
    is_searched,
    scores_of,
)
from irtoolkit.retrievers.listing import Listing, LocatedRank, Locator
from irtoolkit.retrievers.task import QueryGroup, Task
from irtoolkit.runs.top_k import first_unwritable

# Scores of a block that are looked through at once: 2^20 floats are 4 MiB.
SCANNED_CELLS = 1 << 20


class NotFiniteError(InputError):
    """The error for a score that is no finite single-precision number."""


class QueryPart(NamedTuple):
    """Queries that are scored at once.

    Attributes:
        group: the number of the group in the task.
        start, stop: which of the group's queries.
    """

    group: int
    start: int
    stop: int


class Ranker:
    """Scores parts of a task, and lists and locates their documents.

    Args:
        task: the task.
        scorer: scores its candidates.
        fill: whether candidates that share no term with a query are listed, too.
    """

    def __init__(self, task: Task, scorer: Scorer, fill: bool = True) -> None:
        self._task, self._scorer, self._fill = task, scorer, fill
        self._group = -1
        self._block: Block | None = None

    def rank(
        self,
        parts: Sequence[QueryPart],
        listing: Listing,
        locate: Locator,
        done: Callable[[int], object],
    ) -> None:
        """Ranks some parts in order.

        Args:
            parts: best those of one group after another, whose candidates are prepared once.
            listing, locate: take what is found.
            done: called with the number of queries after each part.
        """
        for part in parts:
            group = self._task.groups[part.group]
            queries = group.queries[part.start : part.stop]
            scored = self._prepared(part.group)(queries)
            if is_listed(scored):
                if listing.takes_first(len(group.docs)):
                    self._first(queries, group.docs, scored, listing, locate)
                    done(len(queries))
                    continue
                scored = scored.every()
            if is_searched(scored) and listing.is_short(len(group.docs)):
                self._search(queries, group.docs, scored, listing, locate)
            elif isinstance(scored, Matches) and not self._fill:
                for row, is_shared in enumerate(scored.shared()):
                    listing.show(group.docs[is_shared])
                    listing.add(queries[row : row + 1], scored.scores[row : row + 1, is_shared])
                self._use(queries, group.docs, scored.scores, None, locate)
            else:
                for rows, block_docs, block in _scored(queries, group.docs, scores_of(scored)):
                    self._use(rows, block_docs, block, listing, locate)
            done(len(queries))

    def _use(
        self,
        queries: Ints,
        docs: Ints,
        scores: ScoreMatrix,
        listing: Listing | None,
        locate: Locator,
    ) -> None:
        """Locates and perhaps lists the documents of some queries, given their scores."""
        locate.show(docs)
        if listing is not None:
            listing.show(docs)
        use = partial(_use, self._task, listing, locate, queries, scores)
        for ranks in by_rows(use, scores):
            locate.take(ranks)

    def _search(
        self, queries: Ints, docs: Ints, searched: Searched, listing: Listing, locate: Locator
    ) -> None:
        """Lists and locates documents that a search finds."""
        listing.show(docs)
        locate.show(docs)
        rows, places = locate.targets(queries)
        best = listing.search(queries, searched, rows, places)
        bad = first_unwritable(best.scores)
        if bad is not None:
            _refuse_score(self._task, queries[bad[0]], docs[best.places[bad]], best.scores[bad])
        locate.take(locate.ranked(queries, rows, places, best))

    def _first(
        self, queries: Ints, docs: Ints, listed: Listed, listing: Listing, locate: Locator
    ) -> None:
        """Lists and locates documents that an index lists."""
        listing.show(docs)
        locate.show(docs)
        best = listed.first(listing.depth, self._fill)
        bad = first_unwritable(best.scores[None])
        if bad is not None:
            query = int(np.searchsorted(best.offsets, bad[1], side="right")) - 1
            position = best.documents[bad[1]]
            _refuse_score(self._task, queries[query], docs[position], best.scores[bad[1]])
        listing.first(queries, best)
        rows, places = locate.targets(queries)
        if len(rows):
            locate.take(locate.listed(queries, rows, places, listed.ranks(rows, places)))

    def _prepared(self, number: int) -> Block:
        """Returns the function that scores a group; that of the last group is remembered."""
        if self._block is None or number != self._group:
            self._block = None  # its memory is free before the next one's is taken
            _refuse_twins(self._task, self._task.groups[number])
            self._block = self._scorer(self._task.groups[number].docs)
            self._group = number
        return self._block


def _use(
    task: Task,
    listing: Listing | None,
    locate: Locator,
    queries: Ints,
    scores: ScoreMatrix,
    rows: slice,
) -> list[LocatedRank]:
    """Lists and locates the documents of some rows; returns what `Locator.find` does."""
    ranks = []
    # Few rows at a time stay in a core's cache while they are looked through.
    step = max(1, SCANNED_CELLS // max(1, scores.shape[1]))
    for start in range(rows.start, rows.stop, step):
        part = slice(start, min(start + step, rows.stop))
        _refuse_nonfinite(task, queries[part], locate.shown, scores[part])
        if listing is not None:
            listing.add(queries[part], scores[part])
        ranks += locate.find(queries[part], scores[part])
    return ranks


def _scored(
    queries: Ints, docs: Ints, block: ScoreMatrix | Hits
) -> Iterator[tuple[Ints, Ints, ScoreMatrix]]:
    """Queries that share the documents they have scores for: a block, or one query with its hits."""
    if not isinstance(block, Hits):
        yield queries, docs, block
        return
    for row, (places, scores) in enumerate(zip(block.places, block.scores, strict=True)):
        is_hit = places >= 0
        yield queries[row : row + 1], docs[places[is_hit]], scores[is_hit][None, :]


def _refuse_twins(task: Task, group: QueryGroup) -> None:
    occurrences = np.bincount(group.docs)
    if occurrences.max() > 1:
        twin, query = task.doc_ids[np.argmax(occurrences)], task.query_ids[group.queries[0]]
        raise InputError(f"document {twin} stands twice among the candidates of query {query}")


def _refuse_nonfinite(task: Task, queries: Ints, docs: Ints, scores: ScoreMatrix) -> None:
    bad = first_unwritable(scores)
    if bad is None:
        return
    q, d = bad
    _refuse_score(task, queries[q], docs[d], scores[q, d])


def _refuse_score(task: Task, query: int, doc: int, score: float) -> NoReturn:
    raise NotFiniteError(
        f"the score of document {task.doc_ids[doc]} for query {task.query_ids[query]}"
        f" is {score}, which is no finite single-precision number",
        remedy="the model's weights or the texts are damaged",
    )

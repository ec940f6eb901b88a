"""Scoring the parts of a task: each some queries of a group, against all of its candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.rows import by_rows
from irtoolkit.retrievers.base import (
    Block,
    Hits,
    ListedBlock,
    Matches,
    Scored,
    ScoreMatrix,
    Scorer,
    SearchedBlock,
    is_listed,
    is_searched,
    scores_of,
)
from irtoolkit.retrievers.listing import CandidateSet, Listing, LocatedRank, Locator
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
        self._candidates: CandidateSet | None = None

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
            block, candidates = self._prepared(part.group, listing)
            scored = block(queries)
            is_first = is_listed(scored) and listing.takes_first(len(candidates))
            if is_listed(scored) and is_first:
                self._first(queries, candidates, scored, listing, locate)
            else:
                self._rank(queries, candidates, scored, listing, locate)
            done(len(queries))

    def _rank(
        self,
        queries: Ints,
        candidates: CandidateSet,
        scored: Scored,
        listing: Listing,
        locate: Locator,
    ) -> None:
        """Lists and locates the documents of some queries, given what scores them."""
        if is_listed(scored):
            scored = scored.every()
        if is_searched(scored) and listing.is_short(len(candidates)):
            self._search(queries, candidates, scored, listing, locate)
        elif isinstance(scored, Hits):
            for row, (places, scores) in enumerate(zip(scored.places, scored.scores, strict=True)):
                hits = listing.candidates(candidates.docs[places[places >= 0]])
                row_scores = scores[places >= 0][None, :]
                self._use(queries[row : row + 1], hits, row_scores, listing, locate)
        elif isinstance(scored, Matches) and not self._fill:
            for row, is_shared in enumerate(scored.shared()):
                matches = listing.candidates(candidates.docs[is_shared])
                listing.add(
                    queries[row : row + 1], matches, scored.scores[row : row + 1, is_shared]
                )
            self._use(queries, candidates, scored.scores, None, locate)
        else:
            self._use(queries, candidates, scores_of(scored), listing, locate)

    def _use(
        self,
        queries: Ints,
        candidates: CandidateSet,
        scores: ScoreMatrix,
        listing: Listing | None,
        locate: Locator,
    ) -> None:
        """Locates and perhaps lists the documents of some queries, given their scores."""
        # Few rows at a time stay in a core's cache while they are looked through.
        step = max(1, SCANNED_CELLS // max(1, scores.shape[1]))

        def use(rows: slice) -> list[LocatedRank]:
            ranks = []
            for start in range(rows.start, rows.stop, step):
                part = slice(start, min(start + step, rows.stop))
                bad = first_unwritable(scores[part])
                if bad is not None:
                    row, position = bad
                    doc, score = candidates.docs[position], scores[part][bad]
                    _raise_score(self._task, queries[part][row], doc, score)
                if listing is not None:
                    listing.add(queries[part], candidates, scores[part])
                ranks += locate.find(queries[part], candidates, scores[part])
            return ranks

        for ranks in by_rows(use, scores):
            locate.take(ranks)

    def _search(
        self,
        queries: Ints,
        candidates: CandidateSet,
        searched: SearchedBlock,
        listing: Listing,
        locate: Locator,
    ) -> None:
        """Lists and locates documents that a search finds."""
        docs, (rows, places) = candidates.docs, locate.targets(queries, candidates)
        best = listing.search(queries, candidates, searched, (rows, places))
        bad = first_unwritable(best.scores)
        if bad is not None:
            _raise_score(self._task, queries[bad[0]], docs[best.places[bad]], best.scores[bad])
        locate.take(locate.located(queries[rows], docs[places], best.ranks, best.above + 1))

    def _first(
        self,
        queries: Ints,
        candidates: CandidateSet,
        listed: ListedBlock,
        listing: Listing,
        locate: Locator,
    ) -> None:
        """Lists and locates documents that an index lists."""
        docs = candidates.docs
        best = listed.first(listing.depth(candidates), self._fill)
        bad = first_unwritable(best.scores[None])
        if bad is not None:
            query = int(np.searchsorted(best.offsets, bad[1], side="right")) - 1
            position = best.documents[bad[1]]
            _raise_score(self._task, queries[query], docs[position], best.scores[bad[1]])
        listing.first(queries, candidates, best)
        rows, places = locate.targets(queries, candidates)
        if len(rows):
            ranks = listed.ranks(rows, places)
            locate.take(locate.located(queries[rows], docs[places], ranks, ranks))

    def _prepared(self, number: int, listing: Listing) -> tuple[Block, CandidateSet]:
        """Returns what scores a group, and its candidates; those of the last group are remembered."""
        if self._block is None or self._candidates is None or number != self._group:
            self._block = None  # its memory is free before the next one's is taken
            group = self._task.groups[number]
            _check_distinct_ids(self._task, group)
            self._candidates = listing.candidates(group.docs)
            self._block = self._scorer(group.docs)
            self._group = number
        return self._block, self._candidates


def _check_distinct_ids(task: Task, group: QueryGroup) -> None:
    occurrences = np.bincount(group.docs)
    if occurrences.max() > 1:
        twin, query = task.doc_ids[np.argmax(occurrences)], task.query_ids[group.queries[0]]
        raise InputError(f"document {twin} stands twice among the candidates of query {query}")


def _raise_score(task: Task, query: int, doc: int, score: float) -> NoReturn:
    raise NotFiniteError(
        f"the score of document {task.doc_ids[doc]} for query {task.query_ids[query]}"
        f" is {score}, which is no finite single-precision number",
        remedy="the model's weights or the texts are damaged",
    )

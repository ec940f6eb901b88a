"""Scoring the parts of a task, here or in workers: each some queries of a group, against all of its candidates."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.rows import by_rows
from irtoolkit.engines.engine import current
from irtoolkit.retrievers.base import (
    Block,
    Hits,
    Matches,
    Retriever,
    Scored,
    ScoreMatrix,
    Scorer,
    is_searched,
    scores_of,
)
from irtoolkit.retrievers.listing import (
    CandidateSet,
    Listing,
    LocatedRank,
    RankedAs,
    RankingRows,
)
from irtoolkit.retrievers.sent import Sent, check_same_cache, shares_cache
from irtoolkit.retrievers.task import QueryGroup, Task
from irtoolkit.runs.top_k import first_unwritable

# Scores of a block that are looked through at once: 2^20 floats are 4 MiB.
SCANNED_CELLS = 1 << 20
# Bundles for each worker: a node that is slower than others does fewer of them.
_BUNDLES = 4


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
        self, parts: Sequence[QueryPart], listing: Listing, done: Callable[[int], object]
    ) -> None:
        """Ranks some parts in order.

        Args:
            parts: best those of one group after another, whose candidates are prepared once.
            listing: takes what is found.
            done: called with the number of queries after each part.
        """
        for part in parts:
            queries = self._task.groups[part.group].queries[part.start : part.stop]
            block, candidates = self._prepared(part.group, listing)
            self._rank(queries, candidates, block(queries), listing)
            done(len(queries))

    def _rank(
        self, queries: Ints, candidates: CandidateSet, scored: Scored, listing: Listing
    ) -> None:
        """Lists and locates the documents of some queries, given what scores them."""
        if is_searched(scored):
            if listing.may_search(candidates, scored):
                best = listing.search(queries, candidates, scored, self._fill)
                self._check_finite(queries, candidates, best.scores, best.places)
                return
            scored = scored.every()
        if isinstance(scored, Hits):
            for row, (places, scores) in enumerate(zip(scored.places, scored.scores, strict=True)):
                hits = listing.candidates(candidates.docs[places[places >= 0]])
                self._use(queries[row : row + 1], hits, scores[places >= 0][None, :], listing)
        elif isinstance(scored, Matches) and not self._fill:
            for row, is_shared in enumerate(scored.shared()):
                matches = listing.candidates(candidates.docs[is_shared])
                scores = scored.scores[row : row + 1, is_shared]
                listing.add(queries[row : row + 1], matches, scores)
            self._use(queries, candidates, scored.scores, listing, listed=False)
        else:
            self._use(queries, candidates, scores_of(scored), listing)

    def _use(
        self,
        queries: Ints,
        candidates: CandidateSet,
        scores: ScoreMatrix,
        listing: Listing,
        listed: bool = True,
    ) -> None:
        """Locates and perhaps lists the documents of some queries, given their scores."""
        # Few rows at a time stay in a core's cache while they are looked through.
        step = max(1, SCANNED_CELLS // max(1, scores.shape[1]))

        def use(rows: slice) -> list[LocatedRank]:
            ranks = []
            for start in range(rows.start, rows.stop, step):
                part = slice(start, min(start + step, rows.stop))
                self._check_finite(queries[part], candidates, scores[part])
                if listed:
                    listing.add(queries[part], candidates, scores[part])
                ranks += listing.locate(queries[part], candidates, scores[part])
            return ranks

        for ranks in by_rows(use, scores):
            listing.located += ranks

    def _check_finite(
        self, queries: Ints, candidates: CandidateSet, scores: Any, places: Any = None
    ) -> None:
        """Raises NotFiniteError for a score that cannot be written.

        Args:
            queries: (q,) the queries.
            candidates: their candidates.
            scores: (q, k) of some candidates, by default of all.
            places: (q, k) which candidates these are.
        """
        bad = first_unwritable(scores)
        if bad is not None:
            doc = candidates.docs[bad[1] if places is None else places[bad]]
            _raise_score(self._task, queries[bad[0]], doc, scores[bad])

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


@dataclass(eq=False)
class RankParts:
    """Ranks some parts of a task in a worker, which prepares the documents once for all.

    Attributes:
        task, retriever: the task, and what scores it.
        ranked: how it is ranked.
    """

    task: Task
    retriever: Retriever
    ranked: RankedAs
    _sent: Sent = field(init=False, repr=False)
    _cache: str = field(init=False, repr=False)
    _ranker: Ranker | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._sent = Sent.of(self.retriever)
        self.retriever = self._sent.retriever
        self._cache = shares_cache(self.retriever)

    def __call__(self, parts: Sequence[QueryPart]) -> RankingRows:
        if self._ranker is None:
            retriever = self._sent.here()
            check_same_cache(retriever, self._cache)
            with _unheard(retriever.stores != "nothing"):
                scorer = retriever.scorer(self.task)
            self._ranker = Ranker(self.task, scorer, self.ranked.fill)
        task = replace(self.task, groups=tuple(self._group(part) for part in parts))
        queries = np.concatenate([group.queries for group in task.groups])
        wanted = {query: self.ranked.relevant.get(query, ()) for query in task.query_ids[queries]}
        listing = Listing(task, self.ranked._replace(relevant=wanted))
        self._ranker.rank(parts, listing, lambda count: None)
        return listing.rows()

    def _group(self, part: QueryPart) -> QueryGroup:
        group = self.task.groups[part.group]
        return QueryGroup(group.queries[part.start : part.stop], group.docs)


@contextmanager
def _unheard(prepared: bool) -> Iterator[None]:
    """Keeps what is logged from users who have seen it when the driver prepared the same."""
    before = logging.root.manager.disable
    if prepared:
        logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def spread(
    work: RankParts, parts: Sequence[QueryPart], listing: Listing, done: Callable[[int], object]
) -> None:
    """Ranks parts over the current engine, and gathers what workers have found.

    Args:
        work: ranks the parts.
        parts: all parts of the task in order.
        listing: takes what is found.
        done: called with the number of queries of each bundle of parts that is done.
    """
    engine, retriever = current(), work.retriever
    gpus = float(retriever.computed().get("device", "cpu") != "cpu")
    for rows in engine.map(work, bundled(work.task, parts, engine.workers * _BUNDLES), gpus=gpus):
        listing.put(rows)
        done(len(rows.queries))


def bundled(task: Task, parts: Sequence[QueryPart], count: int) -> list[tuple[QueryPart, ...]]:
    """Parts in about so many bundles of like cost, in order: parts of a group stay together."""
    cells = [(part.stop - part.start) * len(task.groups[part.group].docs) for part in parts]
    ends = np.cumsum(cells)
    number = (ends - 1) * count // ends[-1]
    cuts = np.flatnonzero(np.diff(number)) + 1
    bounds = [0, *cuts.tolist(), len(parts)]
    return [tuple(parts[a:b]) for a, b in pairwise(bounds)]

"""Ranking a task over an engine: each part is scored as one process would score it, in some worker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.engines.engine import current
from irtoolkit.retrievers.base import Retriever
from irtoolkit.retrievers.listing import Listing, LocatedRank, Locator, RankingRows
from irtoolkit.retrievers.parts import QueryPart, Ranker
from irtoolkit.retrievers.sent import Sent, check_same_cache, shares_cache
from irtoolkit.retrievers.task import QueryGroup, Task
from irtoolkit.runs.order import Ties

# Bundles for each worker: a node that is slower than others does fewer of them.
_BUNDLES = 4


class RankedParts(NamedTuple):
    """The rankings of some parts, as a worker returns them.

    Attributes:
        rows: the best documents of their queries.
        found: the ranks of wanted documents.
        queries: how many queries were ranked.
    """

    rows: RankingRows
    found: list[LocatedRank]
    queries: int


@dataclass(eq=False)
class RankParts:
    """Ranks some parts of a task in a worker, which prepares the documents once for all.

    Attributes:
        task, retriever, wanted, ties, depth, fill: see `irtoolkit.retrievers.engine.rank_and_locate`.
        id_keys: (D,) keys of the task's documents.
    """

    task: Task
    retriever: Retriever
    wanted: Mapping[str, Collection[str]]
    id_keys: Ints
    ties: Ties
    depth: int | None
    fill: bool
    _sent: Sent = field(init=False, repr=False)
    _cache: str = field(init=False, repr=False)
    _ranker: Ranker | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._sent = Sent.of(self.retriever)
        self.retriever = self._sent.retriever
        self._cache = shares_cache(self.retriever)

    def __call__(self, parts: Sequence[QueryPart]) -> RankedParts:
        if self._ranker is None:
            retriever = self._sent.here()
            check_same_cache(retriever, self._cache)
            with _unheard(retriever.stores() != "nothing"):
                self._ranker = Ranker(self.task, retriever.scorer(self.task), self.fill)
        groups = tuple(self._group(part) for part in parts)
        task = replace(self.task, groups=groups)
        listing = Listing(task, self.id_keys, self.ties, self.depth)
        queries = np.concatenate([group.queries for group in groups])
        query_ids = self.task.query_ids[queries]
        relevant = {query: self.wanted[query] for query in query_ids if query in self.wanted}
        locate = Locator(self.task, relevant, self.id_keys, self.ties)
        self._ranker.rank(parts, listing, locate, lambda count: None)
        return RankedParts(listing.rows(), locate.found, len(queries))

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
    work: RankParts,
    parts: Sequence[QueryPart],
    listing: Listing,
    locate: Locator,
    done: Callable[[int], object],
) -> None:
    """Ranks parts over the current engine, and gathers what workers have found.

    Args:
        work: ranks the parts.
        parts: all parts of the task in order.
        listing, locate: take what is found.
        done: called with the number of queries of each bundle of parts that is done.
    """
    engine, retriever = current(), work.retriever
    gpus = float(retriever.computed().get("device", "cpu") != "cpu")
    for ranked in engine.map(work, bundled(work.task, parts, engine.workers * _BUNDLES), gpus=gpus):
        listing.put(ranked.rows)
        locate.take(ranked.found)
        done(ranked.queries)


def bundled(task: Task, parts: Sequence[QueryPart], count: int) -> list[tuple[QueryPart, ...]]:
    """Parts in about so many bundles of like cost, in order: parts of a group stay together."""
    cells = [(part.stop - part.start) * len(task.groups[part.group].docs) for part in parts]
    ends = np.cumsum(cells)
    number = (ends - 1) * count // ends[-1]
    cuts = np.flatnonzero(np.diff(number)) + 1
    bounds = [0, *cuts.tolist(), len(parts)]
    return [tuple(parts[a:b]) for a, b in pairwise(bounds)]

"""The rows of a run and exact ranks, gathered from blocks of scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints, Singles, id_array
from irtoolkit.indexes.nearest import Best
from irtoolkit.retrievers.base import ScoreMatrix, Searched
from irtoolkit.retrievers.task import Task
from irtoolkit.runs import Run
from irtoolkit.runs.columns import Ranks, TiedRank
from irtoolkit.runs.order import Ties, TopDocuments, by_id, separate
from irtoolkit.runs.top_k import TieOrder, before, top_k

# Ids that are read in the time of one search among sorted ids.
_LOOKED_UP = 64
# So many times more candidates than are listed are worth a search of its own.
_FEW = 8

# (query, document, rank, best rank among equal scores); query and document as places in a task.
LocatedRank = tuple[int, int, int, int]


class RankingRows(NamedTuple):
    """The rows of some queries.

    Attributes:
        queries: (q,) places of the queries in ascending order.
        counts: (q,) how many rows each has.
        docs, scores: the rows of one query after those of another.
    """

    queries: Ints
    counts: Ints
    docs: NDArray[np.int32]
    scores: Singles


class Listing:
    """The rows of a run, which are filled in block by block."""

    def __init__(self, task: Task, id_keys: Ints, ties: Ties, depth: int | None) -> None:
        """`id_keys` are the keys of the task's documents."""
        self._task, self._keys, self._ties, self._depth = task, id_keys, ties, depth
        self._counts = np.zeros(len(task.query_ids), dtype=np.int64)
        for group in task.groups:
            self._counts[group.queries] = min(len(group.docs), depth or len(group.docs))
        self._offsets = np.concatenate([[0], np.cumsum(self._counts)])
        self._docs = np.empty(self._offsets[-1], dtype=np.int32)
        self._scores = np.empty(self._offsets[-1], dtype=np.float32)
        self.shown = np.empty(0, np.int64)
        self._shown = self.shown.astype(np.int32)
        self._tied = TieOrder(self.shown, ties)
        self._short = False

    def show(self, docs: Ints) -> None:
        """Says which documents the scores are of that come next; all queries of a group share them."""
        if docs is not self.shown:
            self.shown, self._shown = docs, docs.astype(np.int32)
            self._tied = TieOrder(self._keys[docs], self._ties)

    def add(self, queries: Ints, scores: ScoreMatrix) -> None:
        """Lists the best documents of some queries, given (q, c) scores."""
        self.place(queries, *top_k(scores, self._tied, self._depth))

    def search(self, queries: Ints, searched: Searched, rows: Ints, places: Ints) -> Best:
        """Lists the best documents of some queries by a search, and returns them with the target ranks."""
        best: Best = searched.best(self._tied, self.depth, rows, places)
        self.place(queries, best.places.astype(np.int64), best.scores)
        return best

    @property
    def depth(self) -> int:
        """How many of the documents that are shown are listed, at most."""
        return min(len(self.shown), self._depth or len(self.shown))

    def takes_first(self, candidates: int) -> bool:
        """Whether the best of so many candidates may be listed without the scores of all."""
        return self._ties == "trec" and self.is_short(candidates)

    def first(self, queries: Ints, best: TopDocuments) -> None:
        """Lists the best documents of some queries, given their places."""
        for query, (begin, end) in zip(queries, pairwise(best.offsets.tolist()), strict=True):
            places = best.documents[begin:end]
            scores = separate(best.scores[begin:end], self._tied.id_keys[places])
            self.place(np.array([query]), places[None], scores[None])

    def is_short(self, candidates: int) -> bool:
        """Whether so few of so many candidates are listed that they need not all be scored here."""
        few = self._depth is not None and self._depth * _FEW <= candidates
        return few and self._ties != "pool"  # of which scores are lowered

    def place(self, queries: Ints, places: Ints, scores: Singles) -> None:
        """Lists documents of some queries, given (q, k) places and scores, the best first."""
        width, begins = places.shape[1], self._offsets[queries]
        if width and (np.diff(begins) == width).all():  # their rows are one piece
            rows = slice(begins[0], begins[0] + places.size)
            np.take(self._shown, places, out=self._docs[rows].reshape(places.shape), mode="clip")
            self._scores[rows].reshape(places.shape)[:] = scores
        else:
            for begin, row, score in zip(begins, places, scores, strict=True):
                self._docs[begin : begin + width] = self._shown[row]
                self._scores[begin : begin + width] = score
        self._short = self._short or bool((self._counts[queries] > width).any())
        self._counts[queries] = width

    def put(self, rows: RankingRows) -> None:
        """Lists what another listing has of some queries."""
        begins = self._offsets[rows.queries] - np.cumsum(rows.counts) + rows.counts
        positions = np.repeat(begins, rows.counts) + np.arange(len(rows.docs))
        self._docs[positions], self._scores[positions] = rows.docs, rows.scores
        self._short = self._short or bool((self._counts[rows.queries] > rows.counts).any())
        self._counts[rows.queries] = rows.counts

    def rows(self) -> RankingRows:
        """All that was listed, of the queries that have candidates."""
        queries = np.flatnonzero(np.diff(self._offsets))
        _, docs, scores = self._listed()
        return RankingRows(queries, self._counts[queries], docs, scores)

    def run(self, tag: str) -> Run:
        """The run of all that was listed."""
        task = self._task
        offsets, docs, scores = self._listed()
        return Run.ordered(task.query_ids, offsets, task.doc_ids, docs, scores, tag)

    def _listed(self) -> tuple[Ints, NDArray[np.int32], Singles]:
        """Where each query's rows begin, and the rows."""
        if not self._short:
            return self._offsets, self._docs, self._scores
        # An approximate search, or one that lists matches, has left rows empty.
        offsets = np.concatenate([[0], np.cumsum(self._counts)])
        positions = np.repeat(self._offsets[:-1] - offsets[:-1], self._counts) + np.arange(
            offsets[-1]
        )
        return offsets, self._docs[positions], self._scores[positions]


class Locator:
    """Finds the exact ranks of wanted documents in blocks of scores."""

    def __init__(
        self, task: Task, relevant: Mapping[str, Collection[str]], id_keys: Ints, ties: Ties
    ) -> None:
        self.found: list[LocatedRank] = []
        self._task, self._keys, self._ties = task, id_keys, ties
        self.shown = self._order = self._sorted = np.empty(0, np.int64)
        index = _places_of(
            {doc_id for doc_ids in relevant.values() for doc_id in doc_ids}, task, id_keys
        )
        self._wanted = {
            query: [index[doc_id] for doc_id in relevant.get(query_id, ()) if doc_id in index]
            for query, query_id in enumerate(task.query_ids)
        }

    def show(self, docs: Ints) -> None:
        """Says which documents the scores are of that come next."""
        if docs is not self.shown:  # the same for all queries of a group
            self.shown, self._order = docs, np.argsort(docs, kind="stable")
            self._sorted = docs[self._order]

    def find(self, queries: Ints, scores: ScoreMatrix) -> list[LocatedRank]:
        """The ranks of wanted documents, given (q, c) scores."""
        docs = self.shown
        rows, positions = self.targets(queries)
        if not len(rows):
            return []
        ranks, best = before(scores, TieOrder(self._keys[docs], self._ties), rows, positions)
        pairs = queries[rows].tolist(), docs[positions].tolist()
        return list(zip(*pairs, (ranks + 1).tolist(), (best + 1).tolist(), strict=True))

    def targets(self, queries: Ints) -> tuple[Ints, Ints]:
        """(n,) the row of each wanted document that is a candidate of some queries, and its place."""
        pairs = [(row, doc) for row, q in enumerate(queries.tolist()) for doc in self._wanted[q]]
        if not pairs or not len(self.shown):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        docs, order = self.shown, self._order
        rows, golds = np.array(pairs).T
        ranks = np.searchsorted(self._sorted, golds)
        positions = order[np.minimum(ranks, len(docs) - 1)]
        candidate = docs[positions] == golds
        return rows[candidate], positions[candidate]

    def ranked(self, queries: Ints, rows: Ints, places: Ints, best: Best) -> list[LocatedRank]:
        """The ranks of wanted documents that a search has found."""
        pairs = queries[rows].tolist(), self.shown[places].tolist()
        return list(zip(*pairs, best.ranks.tolist(), (best.above + 1).tolist(), strict=True))

    def listed(self, queries: Ints, rows: Ints, places: Ints, ranks: Ints) -> list[LocatedRank]:
        """The exact ranks of wanted documents, which an index counted."""
        pairs = queries[rows].tolist(), self.shown[places].tolist()
        return list(zip(*pairs, ranks.tolist(), ranks.tolist(), strict=True))

    def take(self, ranks: list[LocatedRank]) -> None:
        """Adds ranks."""
        self.found += ranks

    @property
    def ranks(self) -> Ranks:
        """Query id to document id to rank, of all that has been found."""
        by_query: Ranks = {}
        for query, doc, rank, best in self.found:
            docs = by_query.setdefault(self._task.query_ids[query], {})
            tied = self._ties == "best"
            docs[self._task.doc_ids[doc]] = TiedRank(rank, best) if tied else rank
        return by_query


def _places_of(doc_ids: Collection[str], task: Task, id_keys: Ints) -> dict[str, int]:
    """Returns the positions of those documents that are a task's, without a table of all."""
    if not doc_ids or not len(id_keys):
        return {}
    if len(doc_ids) * _LOOKED_UP > len(id_keys):
        return {doc_id: i for i, doc_id in enumerate(task.doc_ids.tolist()) if doc_id in doc_ids}
    ascending = by_id(id_keys)
    looked_up = id_array(list(doc_ids))
    ranks = np.searchsorted(task.doc_ids, looked_up, sorter=ascending)
    places = ascending[np.minimum(ranks, len(id_keys) - 1)]
    is_present = task.doc_ids[places] == looked_up
    return dict(zip(looked_up[is_present].tolist(), places[is_present].tolist(), strict=True))

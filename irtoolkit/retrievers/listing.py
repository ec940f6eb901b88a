"""Collects the rows of a run, and the exact ranks of documents, from scores that come in blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints, Singles, id_array
from irtoolkit.indexes.nearest import BestDocuments
from irtoolkit.retrievers.base import ScoreMatrix, SearchedBlock
from irtoolkit.retrievers.task import Task
from irtoolkit.runs import Run
from irtoolkit.runs.columns import Ranks, TiedRank
from irtoolkit.runs.order import Ties, by_id
from irtoolkit.runs.top_k import TieOrder, before, top_k

# Ids that are read in the time of one search among sorted ids.
_LOOKED_UP = 64
# So many times more candidates than are listed are worth a search of its own.
_FEW = 8

# (query, document, rank, best rank among equal scores); query and document as places in a task.
LocatedRank = tuple[int, int, int, int]


class RankedAs(NamedTuple):
    """How a task is ranked; see `irtoolkit.retrievers.engine.rank`.

    Attributes:
        id_keys: (D,) keys of the task's documents.
    """

    id_keys: Ints
    relevant: Mapping[str, Collection[str]]
    ties: Ties
    depth: int | None
    fill: bool


class RankingRows(NamedTuple):
    """The rows of some queries.

    Attributes:
        queries: (q,) places of the queries in ascending order.
        counts: (q,) how many rows each has.
        docs, scores: the rows of one query after those of another.
        located: the ranks of wanted documents.
    """

    queries: Ints
    counts: Ints
    docs: NDArray[np.int32]
    scores: Singles
    located: list[LocatedRank]


class CandidateSet:
    """The documents that some queries rank.

    Args:
        docs: (c,) indices into the task's documents.
        tied: their order where scores are equal.
    """

    def __init__(self, docs: Ints, tied: TieOrder) -> None:
        self.docs, self.tied = docs, tied

    def __len__(self) -> int:
        return len(self.docs)

    @cached_property
    def short_docs(self) -> NDArray[np.int32]:
        """(c,) the documents as the columns of a run have them."""
        return self.docs.astype(np.int32)

    @cached_property
    def ascending(self) -> tuple[Ints, Ints]:
        """(c,) the positions of the documents in ascending order, and the documents in this order."""
        order = np.argsort(self.docs, kind="stable")
        return order, self.docs[order]


class Listing:
    """The rows of a run and exact ranks, which are filled in block by block.

    Args:
        task: its queries and documents.
        ranked: how they are ranked.

    Attributes:
        located: the exact ranks of wanted documents.
    """

    def __init__(self, task: Task, ranked: RankedAs) -> None:
        self._task, self._keys, self._ties = task, ranked.id_keys, ranked.ties
        self._depth = depth = ranked.depth
        self.located: list[LocatedRank] = []
        relevant = ranked.relevant
        doc_ids = {doc_id for query_id in task.query_ids for doc_id in relevant.get(query_id, ())}
        index = _places_of(doc_ids, task, ranked.id_keys)
        self._wanted = {
            query: [index[doc_id] for doc_id in relevant.get(query_id, ()) if doc_id in index]
            for query, query_id in enumerate(task.query_ids)
        }
        self._counts = np.zeros(len(task.query_ids), dtype=np.int64)
        for group in task.groups:
            self._counts[group.queries] = min(len(group.docs), depth or len(group.docs))
        self._offsets = np.concatenate([[0], np.cumsum(self._counts)])
        self._docs = np.empty(self._offsets[-1], dtype=np.int32)
        self._scores = np.empty(self._offsets[-1], dtype=np.float32)
        self._short = False

    def candidates(self, docs: Ints) -> CandidateSet:
        """Returns (c,) documents with their order where scores are equal."""
        return CandidateSet(docs, TieOrder(self._keys[docs], self._ties))

    def add(self, queries: Ints, candidates: CandidateSet, scores: ScoreMatrix) -> None:
        """Lists the best documents of some queries, given (q, c) scores."""
        self.place(queries, candidates, *top_k(scores, candidates.tied, self._depth))

    def search(
        self, queries: Ints, candidates: CandidateSet, searched: SearchedBlock, fill: bool
    ) -> BestDocuments:
        """Lists and locates documents of some queries by a search, and returns what it found."""
        rows, wanted = self._targets(queries, candidates)
        best = searched.best(candidates.tied, self.depth(candidates), rows, wanted, fill)
        if (best.places >= 0).all():
            self.place(queries, candidates, best.places.astype(np.int64), best.scores)
        else:
            for row, places in enumerate(best.places):
                filled = places[None, places >= 0]
                scores = best.scores[row : row + 1, : filled.shape[1]]
                self.place(queries[row : row + 1], candidates, filled, scores)
        ranks, above = best.ranks, best.above
        self.located += _located(queries[rows], candidates.docs[wanted], ranks, above + 1)
        return best

    def locate(
        self, queries: Ints, candidates: CandidateSet, scores: ScoreMatrix
    ) -> list[LocatedRank]:
        """Returns the ranks of wanted documents, given (q, c) scores."""
        rows, positions = self._targets(queries, candidates)
        if not len(rows):
            return []
        ranks, best = before(scores, candidates.tied, rows, positions)
        return _located(queries[rows], candidates.docs[positions], ranks + 1, best + 1)

    def _targets(self, queries: Ints, candidates: CandidateSet) -> tuple[Ints, Ints]:
        """(n,) the row of each wanted document that is a candidate of some queries, and its place."""
        pairs = [(row, doc) for row, q in enumerate(queries.tolist()) for doc in self._wanted[q]]
        if not pairs or not len(candidates):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        order, ascending = candidates.ascending
        rows, golds = np.array(pairs).T
        ranks = np.searchsorted(ascending, golds)
        positions = order[np.minimum(ranks, len(order) - 1)]
        is_candidate = candidates.docs[positions] == golds
        return rows[is_candidate], positions[is_candidate]

    def depth(self, candidates: CandidateSet) -> int:
        """How many of some candidates are listed, at most."""
        return min(len(candidates), self._depth or len(candidates))

    def may_search(self, candidates: CandidateSet, searched: SearchedBlock) -> bool:
        """Whether documents may be listed by a search."""
        return self._ties in searched.ties and self.is_short(len(candidates))

    def is_short(self, candidates: int) -> bool:
        """Whether so few of so many candidates are listed that they need not all be scored here."""
        few = self._depth is not None and self._depth * _FEW <= candidates
        return few and self._ties != "pool"  # of which scores are lowered

    def place(self, queries: Ints, candidates: CandidateSet, places: Ints, scores: Singles) -> None:
        """Lists documents of some queries, given (q, k) places and scores, the best first."""
        width, begins, docs = places.shape[1], self._offsets[queries], candidates.short_docs
        if width and (np.diff(begins) == width).all():  # their rows are one piece
            rows = slice(begins[0], begins[0] + places.size)
            np.take(docs, places, out=self._docs[rows].reshape(places.shape), mode="clip")
            self._scores[rows].reshape(places.shape)[:] = scores
        else:
            for begin, row, score in zip(begins, places, scores, strict=True):
                self._docs[begin : begin + width] = docs[row]
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
        self.located += rows.located

    def rows(self) -> RankingRows:
        """All that was listed, of the queries that have candidates."""
        queries = np.flatnonzero(np.diff(self._offsets))
        _, docs, scores = self._listed()
        return RankingRows(queries, self._counts[queries], docs, scores, self.located)

    def run(self, tag: str) -> Run:
        """The run of all that was listed, with the exact ranks."""
        task = self._task
        offsets, docs, scores = self._listed()
        run = Run.ordered(task.query_ids, offsets, task.doc_ids, docs, scores, tag)
        return replace(run, exact_ranks=self.ranks or None)

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

    @property
    def ranks(self) -> Ranks:
        """Query id to document id to rank, of all that has been found."""
        by_query: Ranks = {}
        for query, doc, rank, best in self.located:
            docs = by_query.setdefault(self._task.query_ids[query], {})
            tied = self._ties == "best"
            docs[self._task.doc_ids[doc]] = TiedRank(rank, best) if tied else rank
        return by_query


def _located(*columns: Ints) -> list[LocatedRank]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


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

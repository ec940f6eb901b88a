"""Search that scores every document: for formulas that dynamic pruning does not serve.

Scores do not depend on how documents are split into shards: each document's is computed from its own
postings, always in one order, and from statistics that are sums over shards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints, id_array, rank_ids
from irtoolkit.indexes.documents import Documents
from irtoolkit.indexes.top_documents import TopDocuments

# Binary digits of a summand behind the first of a query's greatest scale.
_DIGITS = 40
# Documents that are kept in mind at least while a shard is searched.
_ROOM = 1 << 10

# How the value of a posting becomes a summand: the table's number of its class, the logarithm of 1 and
# rate times that number, or the value itself.
How = Literal["class", "logarithm", "weight"]


class ScannedQuery(NamedTuple):
    """A query under a formula.

    Attributes:
        keys: its terms, as the shards know them, in an order that is the same for all shards.
        scales: what the summand of each term is multiplied by.
        rates: a factor of each term within a logarithm.
        times: how often the number is added that a document has of its own.
        everywhere: what all documents score.
    """

    keys: Any
    scales: Floats
    rates: Floats
    times: float = 0.0
    everywhere: float = 0.0


@dataclass(frozen=True)
class ScannedShard:
    """A shard whose documents are all scored.

    Attributes:
        documents: its documents.
        arrays: (starts, documents, values, live); see `_compiled_scan`.
        names: (d,) place of each document's id in ascending order.
        places: the number of each term in the shard, or -1.
        table: (classes,) what a class of postings means.
        own: (d,) a number that each document has of its own; empty without.
    """

    documents: Documents
    arrays: tuple[Any, ...]
    names: NDArray[np.int32]
    places: Callable[[Any], Ints]
    table: Floats
    own: Floats

    @property
    def live(self) -> NDArray[np.uint8]:
        """(d,) 1 for documents that were not deleted."""
        live: NDArray[np.uint8] = self.arrays[3]
        return live


class Scan:
    """Shards that are searched as one.

    Args:
        shards: the shards.
        how: how values become summands.
        divided: whether sums are divided by what documents have of their own; else it is added.
    """

    def __init__(self, shards: Sequence[ScannedShard], how: How, divided: bool = False) -> None:
        self._shards, self._how, self._divided = shards, how, divided
        sizes = [len(shard.live) for shard in shards]
        self._bases = np.cumsum([0, *sizes]).astype(np.int64)
        self.size = sum(int(shard.live.sum()) for shard in shards)

    def ids(self, documents: Ints) -> list[str]:
        """The ids of some documents."""
        which = np.searchsorted(self._bases, documents, side="right") - 1
        own = documents - self._bases[which]
        return [
            self._shards[shard].documents.ids[place]
            for shard, place in zip(which.tolist(), own.tolist(), strict=True)
        ]

    def latest(self, count: int) -> Ints:
        """The documents with the last ids, in descending order, at most so many."""
        numbers = [np.empty(0, np.int64)]
        for base, shard in zip(self._bases.tolist(), self._shards, strict=False):
            order = np.asarray(shard.documents.order, np.int64)
            numbers.append(order[shard.live[order] == 1][::-1][:count] + base)
        known = np.concatenate(numbers)
        if len(self._shards) > 1:
            known = known[np.argsort(-rank_ids(id_array(self.ids(known))))]
        return known[:count]

    def search(
        self, queries: Sequence[ScannedQuery], depth: int, *, every: bool = False
    ) -> TopDocuments:
        """The best documents of each query.

        Args:
            queries: the queries.
            depth: documents of each, at most.
            every: whether documents without a term of the query are ranked, too.
        """
        depth = max(1, min(depth, self.size))
        rows = _in_threads(lambda query: self._best(query, depth, every), queries)
        offsets = np.concatenate([[0], np.cumsum([len(docs) for docs, _ in rows])])
        return TopDocuments(
            offsets.astype(np.int64),
            np.concatenate([np.empty(0, np.int64), *(docs for docs, _ in rows)]),
            np.concatenate([np.empty(0), *(scores for _, scores in rows)]),
        )

    def _best(self, query: ScannedQuery, depth: int, every: bool) -> tuple[Ints, Floats]:
        from irtoolkit.indexes._compiled_scan import scan
        from irtoolkit.indexes._compiled_search import WINDOW

        space = max(2 * depth, _ROOM)
        room = np.zeros(WINDOW), np.empty(space, np.int64), np.empty(space)
        docs, scores, names = [], [], []
        for base, shard in zip(self._bases.tolist(), self._shards, strict=False):
            count = scan(
                shard.arrays, self._formula(shard), self._asked(query, shard), shard.names, depth, every,
                room,
            )  # fmt: skip
            docs.append(room[1][:count] + base)
            scores.append(room[2][:count].copy())
            names.append(shard.names[room[1][:count]])
        if len(docs) == 1:
            order = np.lexsort((-names[0].astype(np.int64), -scores[0]))[:depth]
            return docs[0][order], scores[0][order]
        every_doc = np.concatenate([np.empty(0, np.int64), *docs])
        return self._ordered(every_doc, np.concatenate([np.empty(0), *scores]), depth)

    def _ordered(self, docs: Ints, scores: Floats, depth: int) -> tuple[Ints, Floats]:
        """The best of the documents that several shards have found."""
        if len(docs) > depth:
            near = scores >= np.partition(scores, len(scores) - depth)[len(scores) - depth]
            docs, scores = docs[near], scores[near]
        order = np.argsort(-scores, kind="stable")
        docs, scores = docs[order], scores[order]
        tied = np.zeros(len(docs), bool)
        tied[1:] = scores[1:] == scores[:-1]
        tied[:-1] |= tied[1:]
        if tied.any():  # ids are read only where they decide the order
            names = np.zeros(len(docs), np.int64)
            names[tied] = rank_ids(id_array(self.ids(docs[tied])))
            docs = docs[np.lexsort((-names, -scores))]
        return docs[:depth], scores[:depth]

    def ranks(
        self, queries: Sequence[ScannedQuery], wanted: Sequence[Sequence[int]]
    ) -> list[list[int]]:
        """The exact rank, from 1, of some documents of each query among all documents."""
        asked = list(zip(queries, wanted, strict=True))
        return _in_threads(lambda one: self._ranks(*one), asked)

    def _ranks(self, query: ScannedQuery, wanted: Sequence[int]) -> list[int]:
        from irtoolkit.indexes._compiled_scan import count_before, score_of
        from irtoolkit.indexes._compiled_search import WINDOW

        if not wanted:
            return []
        bases, shards = self._bases, self._shards
        which = (np.searchsorted(bases, wanted, side="right") - 1).tolist()
        own = [doc - int(bases[at]) for doc, at in zip(wanted, which, strict=True)]
        parts = [
            (shard.arrays, self._formula(shard), self._asked(query, shard)) for shard in shards
        ]
        scores = np.array(
            [score_of(*parts[at], place) for at, place in zip(which, own, strict=True)], np.float64
        )
        before, sums = np.zeros(len(wanted), np.int64), np.zeros(WINDOW)
        for number, shard in enumerate(shards):
            # Of equal scores, later ids come first; a document is not before itself.
            places = [
                int(shard.names[place]) + 1
                if at == number
                else shard.documents.ids.below(
                    shards[at].documents.ids.at(place), shard.documents.order
                )
                for place, at in zip(own, which, strict=True)
            ]
            count_before(
                *parts[number], shard.names, (scores, np.array(places, np.int64)), sums, before
            )
        return (before + 1).tolist()

    def _formula(self, shard: ScannedShard) -> tuple[Any, ...]:
        from irtoolkit.indexes import _compiled_scan as compiled

        how = {
            "class": compiled.CLASS, "logarithm": compiled.LOGARITHM, "weight": compiled.WEIGHT,
        }  # fmt: skip
        return how[self._how], shard.table, shard.own, self._divided

    def _asked(self, query: ScannedQuery, shard: ScannedShard) -> tuple[Any, ...]:
        """A query as the compiled loops take it, with the term numbers of a shard."""
        places = shard.places(query.keys)
        here = np.flatnonzero((places >= 0) & (query.scales != 0))
        greatest = float(np.abs(query.scales).max(initial=0))
        unit = 2.0 ** (np.ceil(np.log2(greatest)) - _DIGITS) if greatest else 1.0
        scales = query.scales[here] / unit
        if self._how == "class":  # twice the count is twice the summand
            scales = np.rint(scales)
        return (
            places[here].astype(np.int64), scales, query.rates[here], float(unit),
            float(query.times), float(query.everywhere),
        )  # fmt: skip


def filled(
    found: TopDocuments, depth: int, latest: Ints, without: Sequence[float] | Floats
) -> TopDocuments:
    """What was found for each query, followed by other documents where these are fewer than `depth`.

    Args:
        found: documents that share a term with the query; their scores are the greater ones.
        depth: documents of each query.
        latest: the documents with the last ids, in descending order, 2 · depth of them.
        without: what a document without a term of each query scores.
    """
    parts = []
    for (first, last), score in zip(pairwise(found.offsets.tolist()), without, strict=True):
        own = found.documents[first:last]
        more = latest[~np.isin(latest, own)][: max(0, depth - len(own))]
        parts.append(
            TopDocuments(
                np.array([0, len(own) + len(more)]),
                np.concatenate([own, more]),
                np.concatenate([found.scores[first:last], np.full(len(more), score)]),
            )
        )
    return TopDocuments.joined(parts)


def _in_threads(work: Callable[[Any], Any], asked: Iterable[Any]) -> list[Any]:
    """What some work gives for each of some queries, on all cores."""
    every = list(asked)
    if len(every) == 1:
        return [work(every[0])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, every))

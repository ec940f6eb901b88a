"""The best documents of several sets of shards as the best of all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.ids import Ints, id_array, rank_ids
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.top_documents import TopDocuments


class Part(NamedTuple):
    """The best documents of a set of shards.

    Attributes:
        found: the best of each query.
        numbers: (n,) the documents that occur in it, ascending.
        ids: (n,) their ids.
    """

    found: TopDocuments
    numbers: Ints
    ids: Strings


def merged(parts: Iterable[Part], depth: int) -> TopDocuments:
    """The best of sets of shards that come in the order of their documents' numbers.

    Scores descend, and ties are in descending order of ids.
    """
    best = Best(depth)
    for part in parts:
        best.add(part)
    return best.found()


class Best:
    """The best documents so far, while sets of shards come one after another.

    What is worse than the best so far is dropped as it comes. The rest waits until it is as much as
    the best, and is then sorted with them: of parts that are alike, so many sorts as their number
    doubles. Memory is twice that of the result and one part, whatever the number of parts.

    Args:
        depth: documents of each query, at most.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        # Rows of (query, document, score), and the documents that occur in them with their ids.
        self._rows: list[tuple[Ints, Ints, Any]] = []
        self._names: list[tuple[Ints, Strings]] = []
        self._size = self._most = self._queries = 0
        # (q,) the score that a document needs.
        self._least: Any = None

    def add(self, part: Part) -> None:
        """Takes in the best of the next set of shards."""
        found = part.found
        if self._least is None:
            self._queries = len(found.offsets) - 1
            kind: Any = found.scores.dtype
            lowest = np.iinfo(kind).min if kind.kind == "i" else -np.inf
            self._least = np.full(self._queries, lowest, kind)
        query = np.repeat(np.arange(self._queries), np.diff(found.offsets))
        near = found.scores >= self._least[query]
        if not near.any():
            return
        rows = (query, found.documents, found.scores)
        names = part.numbers, part.ids
        if not near.all():
            query, docs, scores = (column[near] for column in rows)
            rows, names = (query, docs, scores), _named(docs, *names)
        self._rows.append(rows)
        self._names.append(names)
        self._size += len(rows[0])
        if self._size > self._most:
            self._sort()
            self._most = 2 * self._size

    def found(self) -> TopDocuments:
        """The best of all that came."""
        if len(self._rows) > 1:
            self._sort()
        query, docs, scores = self._rows[0] if self._rows else _NOTHING
        counts = np.bincount(query, minlength=self._queries)
        return TopDocuments(np.cumsum([0, *counts]).astype(np.int64), docs, scores)

    def _sort(self) -> None:
        """Puts all rows in order, and drops what is not among the best."""
        if len(self._rows) == 1:  # a part is in order, and all of it may be among the best
            self._raise_least(self._rows[0][0], self._rows[0][2])
            return
        query, docs, scores = (np.concatenate(column) for column in zip(*self._rows, strict=True))
        order = np.lexsort((-scores, query))
        query, docs, scores = query[order], docs[order], scores[order]
        numbers = np.concatenate([numbers for numbers, _ in self._names])
        ids = Strings.joined(ids for _, ids in self._names)
        tied = np.zeros(len(docs), bool)
        tied[1:] = (scores[1:] == scores[:-1]) & (query[1:] == query[:-1])
        tied[:-1] |= tied[1:]
        rows = np.flatnonzero(tied)
        if len(rows):  # ids are read only where they decide the order
            known, which = np.unique(docs[rows], return_inverse=True)
            names = rank_ids(id_array(ids.chosen(np.searchsorted(numbers, known))))
            by_name = np.lexsort((-names[which], -scores[rows], query[rows]))
            docs[rows] = docs[rows][by_name]
        starts = self._raise_least(query, scores)
        kept = np.arange(len(docs)) - starts[query] < self._depth
        self._rows = [(query[kept], docs[kept], scores[kept])]
        self._names = [_named(docs[kept], numbers, ids)]
        self._size = int(kept.sum())

    def _raise_least(self, query: Ints, scores: Any) -> Ints:
        """Notes what a document needs to be among the best; (q,) where the rows of queries begin."""
        ends = np.cumsum(np.bincount(query, minlength=self._queries))
        starts: Ints = np.concatenate([[0], ends[:-1]])
        full = ends - starts >= self._depth
        self._least[full] = scores[starts[full] + self._depth - 1]
        return starts


def _named(docs: Ints, numbers: Ints, ids: Strings) -> tuple[Ints, Strings]:
    """The distinct documents among some, ascending, and their ids; `numbers` and `ids` hold all."""
    used = np.zeros(len(numbers), bool)
    used[np.searchsorted(numbers, docs)] = True
    return numbers[used], ids.taken(np.flatnonzero(used))


_NOTHING = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)

"""The best documents of several sets of shards as the best of all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.indexes.documents import keys_of
from irtoolkit.indexes.strings import Strings
from irtoolkit.runs.order import TopDocuments, merge


class ShardHits(NamedTuple):
    """The best documents of a set of shards.

    Attributes:
        found: the best of each query.
        numbers: (n,) the documents that occur in it, ascending.
        ids: (n,) their ids.
    """

    found: TopDocuments
    numbers: Ints
    ids: Strings


def merged(parts: Iterable[ShardHits], depth: int) -> TopDocuments:
    """Returns the best of sets of shards that come in the order of their documents' numbers."""
    best = BestOfShards(depth)
    for part in parts:
        best.add(part)
    return best.found()


class BestOfShards:
    """The best documents so far, while sets of shards come one after another.

    What is worse than the best so far is dropped as it comes. The rest waits until it is as much as
    the best, and is then merged with them: of parts that are alike, so many merges as their number
    doubles. Memory is a few times that of the result and one part, whatever the number of parts.

    Args:
        depth: documents of each query, at most.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._parts: list[ShardHits] = []
        self._size = self._most = 0
        # (q,) the score that a document needs.
        self._least: Any = None

    def add(self, part: ShardHits) -> None:
        """Takes in the best of the next set of shards."""
        hits = part.found
        counts = np.diff(hits.offsets)
        if self._least is None:
            kind: Any = hits.scores.dtype
            lowest = np.iinfo(kind).min if kind.kind == "i" else -np.inf
            self._least = np.full(len(counts), lowest, kind)
        near = hits.scores >= np.repeat(self._least, counts)
        if self._parts and not near.any():
            return
        if not near.all():
            offsets = np.concatenate([[0], np.cumsum(near)])[hits.offsets]
            part = _part(
                TopDocuments(offsets, hits.documents[near], hits.scores[near]),
                part.numbers,
                part.ids,
            )
        self._parts.append(part)
        self._size += len(part.found.documents)
        if self._size > self._most:
            self._merge()
            self._most = 2 * self._size

    def found(self) -> TopDocuments:
        """Returns the best of all that came."""
        self._merge()
        return self._parts[0].found if self._parts else TopDocuments.of_rows([])

    def _merge(self) -> None:
        """Merges all parts into one, and raises what a document needs to be among the best."""
        if len(self._parts) > 1:
            numbers = np.concatenate([part.numbers for part in self._parts])
            ids = Strings.joined(part.ids for part in self._parts)
            best = merge(
                [part.found for part in self._parts],
                self._depth,
                lambda documents: keys_of(ids.taken(np.searchsorted(numbers, documents))),
            )
            self._parts = [_part(best, numbers, ids)]
            self._size = len(best.documents)
        for part in self._parts:
            offsets, _, scores = part.found
            full = np.flatnonzero(np.diff(offsets) >= self._depth)
            self._least[full] = scores[offsets[full] + self._depth - 1]


def _part(hits: TopDocuments, numbers: Ints, ids: Strings) -> ShardHits:
    """Returns documents with the ids of those alone; `numbers` and `ids` hold more."""
    used = np.zeros(len(numbers), bool)
    used[np.searchsorted(numbers, hits.documents)] = True
    return ShardHits(hits, numbers[used], ids.taken(np.flatnonzero(used)))

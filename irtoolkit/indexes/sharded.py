"""The documents of several shards as one: numbers, ids, and the order of ties."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from irtoolkit.base.ids import Ints, distinct_numbers
from irtoolkit.indexes.bounds import DamagedIndexError
from irtoolkit.indexes.documents import keys_of
from irtoolkit.indexes.merged import ShardHits
from irtoolkit.indexes.shards import OpenShard, find
from irtoolkit.indexes.strings import Strings
from irtoolkit.runs.order import TopDocuments, best_first, key_order, least_key, tie_order


class Targets(NamedTuple):
    """Documents of one query whose ranks are wanted.

    Attributes:
        scores: (n,) their scores, as `ShardSet.best` gives them.
        ids: (n,) their ids.
    """

    scores: Any
    ids: Strings


class ShardSet(Protocol):
    """Shards that are searched as one: open in this process, or in others.

    Documents are numbered shard by shard. `queries` are encoded as the shards of a kind take them,
    with the statistics of all shards.
    """

    @property
    def size(self) -> int:
        """Number of documents that were not deleted."""
        ...

    def best(self, queries: Any, depth: int, fill: bool = False) -> TopDocuments:
        """Returns the best documents of each query; `fill` adds some that share no term with it."""
        ...

    def first_of_equals(self, count: int) -> Ints:
        """Returns the documents that come first where all scores are equal, at most so many."""
        ...

    def keys(self, documents: Ints) -> Ints:
        """Returns the keys of some documents: of equal scores the greater comes first."""
        ...

    def ids(self, documents: Ints) -> list[str]:
        """The ids of some documents."""
        ...

    def places(self, doc_ids: Sequence[str]) -> Ints:
        """The numbers of documents that were not deleted; -1 for one that is not there."""
        ...

    def contents(self, documents: Ints) -> Any:
        """Returns the terms or vectors of documents, each of which is named once; see `contents`."""
        ...

    def ranks(self, queries: Any, documents: Sequence[Sequence[int]]) -> list[list[int]]:
        """The exact rank, from 1, of some documents of each query among all documents."""
        ...


class CountedShardSet(ShardSet, Protocol):
    """Shards whose terms are counted as one."""

    def statistics(self, terms: Any) -> Any:
        """Returns the statistics of terms; those of more shards are their sum."""
        ...

    def frequencies(self, terms: Any) -> Ints:
        """(t,) number of documents that have each term."""
        ...

    def vocabulary(self) -> Any:
        """Returns all terms with their frequencies; those of more shards are their sum."""
        ...

    def all_frequencies(self) -> Ints:
        """Number of documents of every term, in the order of the terms."""
        ...


class Sharded:
    """Shards that are open, and searched as one.

    Args:
        shards: the documents of each.
        sizes: how many documents the arrays of each shard are of.
        first: the number of the first document; others come before it where these are some of the
            shards of an index.

    Raises:
        DamagedIndexError: a shard's arrays are not of its documents.
    """

    def __init__(self, shards: Sequence[OpenShard], sizes: Sequence[int], first: int = 0) -> None:
        for shard, size in zip(shards, sizes, strict=True):
            if len(shard.documents.ids) != size:
                path = shard.documents.folder / "ids-starts.npy"
                raise DamagedIndexError(f"damaged: it is not of {size} documents", file=path)
        self.shards = shards
        self.bases: Ints = np.cumsum([first, *sizes]).astype(np.int64)

    @cached_property
    def size(self) -> int:
        """Number of documents that were not deleted."""
        return int(self.bases[-1] - self.bases[0]) - sum(len(gone) for _, gone in self.shards)

    def at(self, document: int) -> tuple[int, int]:
        """The shard of a document, and its place there."""
        number = int(np.searchsorted(self.bases, document, side="right")) - 1
        return number, document - int(self.bases[number])

    def split(self, documents: Ints) -> list[tuple[int, Ints, Ints]]:
        """The shards that some documents are of: its number, which documents, and their places."""
        owners = np.searchsorted(self.bases, documents, side="right") - 1
        return [
            (number, rows, documents[rows] - self.bases[number])
            for number in np.unique(owners).tolist()
            for rows in (np.flatnonzero(owners == number),)
        ]

    def column(self, documents: Ints) -> Strings:
        """The ids of some documents."""
        if len(self.shards) == 1:
            return self.shards[0].documents.ids.taken(documents - self.bases[0])
        parts = self.split(documents)
        ids = Strings.joined(
            self.shards[number].documents.ids.taken(places) for number, _, places in parts
        )
        if len(parts) < 2:
            return ids
        back = np.empty(len(documents), np.int64)
        back[np.concatenate([rows for _, rows, _ in parts])] = np.arange(len(documents))
        return ids.taken(back)

    def ids(self, documents: Ints) -> list[str]:
        """The ids of some documents."""
        if len(self.shards) == 1:
            return self.shards[0].documents.ids.chosen(documents - self.bases[0])
        column = self.column(documents)
        return column.chosen(np.arange(len(documents)))

    def places(self, doc_ids: Sequence[str]) -> Ints:
        """The numbers of documents that were not deleted; -1 for one that is not there."""
        locations = [find(self.shards, doc_id) for doc_id in doc_ids]
        return np.array(
            [
                -1 if location is None else int(self.bases[location[0]]) + location[1]
                for location in locations
            ],
            np.int64,
        )

    def first_of_equals(self, count: int) -> Ints:
        """Returns the documents that come first where all scores are equal, at most so many."""
        numbers = [np.empty(0, np.int64)]
        for base, shard in zip(self.bases.tolist(), self.shards, strict=False):
            order = tie_order(np.asarray(shard.documents.order, np.int64))
            if len(shard.deleted):
                order = order[shard.live[order] == 1]
            numbers.append(order[:count] + base)
        documents: Ints = np.concatenate(numbers)
        if len(self.shards) > 1:
            documents = documents[key_order(self.keys(documents))]
        return documents[:count]

    def first_hits(self, count: int) -> tuple[Ints, Strings]:
        """Returns the documents that come first where all scores are equal, and their ids."""
        documents = self.first_of_equals(count)
        return documents, self.column(documents)

    def hits(self, queries: Any, depth: int, fill: bool) -> ShardHits:
        """Returns the best documents of each query with their ids."""
        hits = self.best(queries, depth, fill)
        numbers = distinct_numbers(hits.documents - self.bases[0])[0] + self.bases[0]
        return ShardHits(hits, numbers, self.column(numbers))

    def keys(self, documents: Ints) -> Ints:
        """Returns the keys of some documents: of equal scores the greater comes first."""
        return keys_of(self.column(documents))

    def ordered(self, documents: Ints, scores: Any, k: int) -> tuple[Ints, Any]:
        """Returns the best k of some documents, and their scores."""
        best = best_first(scores, lambda rows: self.keys(documents[rows]), k)
        return documents[best], scores[best]

    def ranks(self, queries: Any, documents: Sequence[Sequence[int]]) -> list[list[int]]:
        """The exact rank, from 1, of some documents of each query among all documents."""
        counts = self.before(queries, self.targets(queries, documents))
        return [(before + 1).tolist() for before in counts]

    def targets(self, queries: Any, documents: Sequence[Sequence[int]]) -> list[Targets]:
        """The scores and ids of some documents of each query."""
        rows = [np.array(numbers, np.int64) for numbers in documents]
        return [
            Targets(scores, self.column(numbers))
            for scores, numbers in zip(self.scores(queries, rows), rows, strict=True)
        ]

    def best(self, queries: Any, depth: int, fill: bool = False) -> TopDocuments:
        """Returns the best documents of each query; `fill` adds some that share no term with it."""
        raise NotImplementedError

    def contents(self, documents: Ints) -> Any:
        """Returns the terms or vectors of documents, for searches that need them."""
        raise NotImplementedError

    def scores(self, queries: Any, documents: Sequence[Ints]) -> list[Any]:
        """The scores of some documents of each query."""
        raise NotImplementedError

    def before(self, queries: Any, targets: Sequence[Targets]) -> list[Ints]:
        """Returns how many of these documents are before some of each query in the one order."""
        raise NotImplementedError


def least_keys(shard: OpenShard, ids: Strings) -> Ints:
    """Returns (n,) the least key of a shard's documents that come before each of some ids."""
    docs, least = shard.documents, np.empty(len(ids), np.int64)
    for row in range(len(ids)):
        doc_id = ids.at(row)
        below = docs.ids.below(doc_id, docs.order)
        is_there = below < len(docs.ids) and docs.ids.at(int(docs.order[below])) == doc_id
        least[row] = least_key(len(docs.ids), below, is_there)
    return least

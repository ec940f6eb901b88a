"""Shards of an index that the workers of an engine search.

The workers say what their shards hold of the queries' terms, and then find their best documents
under the statistics of all shards. This process opens no shard: it holds the result, and what one
worker has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, id_array
from irtoolkit.base.paths import StrPath, on_disk, url_of
from irtoolkit.engines.engine import current
from irtoolkit.indexes.documents import keys_of
from irtoolkit.indexes.manifest import Manifest, ShardEntry
from irtoolkit.indexes.merged import merged
from irtoolkit.indexes.remote import is_index, local_index
from irtoolkit.indexes.sharded import Sharded, Targets
from irtoolkit.indexes.shards import OpenShard, deleted, opened
from irtoolkit.indexes.strings import Strings
from irtoolkit.runs import order
from irtoolkit.runs.order import TopDocuments

# Sets of shards that a worker keeps open.
_OPEN = 8

# Opens shards as one `Sharded`, given the number of their first document; to be pickled and hashed.
Opener = Callable[[Sequence[OpenShard], int], Any]


@dataclass(frozen=True)
class Bundle:
    """Some shards of an index that follow each other, as a worker finds them.

    Attributes:
        place: the index: a folder or a URL, from which each worker copies its shards.
        entries: the shards.
        numbers: theirs in the order of the manifest.
        first: the number of their first document.
        state: a hash of the whole index; shards keep what they were told of the others.
    """

    place: str
    entries: tuple[ShardEntry, ...]
    numbers: tuple[int, ...]
    first: int
    state: int

    @property
    def documents(self) -> int:
        """How many documents its shards hold, deleted ones too."""
        return sum(entry.documents for entry in self.entries)

    def holds(self, documents: Ints) -> Any:
        """(n,) which documents are in its shards."""
        return (documents >= self.first) & (documents < self.first + self.documents)


def bundles(location: str, manifest: Manifest, count: int) -> list[Bundle]:
    """The shards of an index in so many bundles at most, alike in their number of documents."""
    state = hash(manifest.shards)
    ends = np.cumsum([entry.documents for entry in manifest.shards])
    middles = ends - np.array([entry.documents for entry in manifest.shards]) / 2
    owners = np.minimum(middles * count // max(1, ends[-1]), count - 1).astype(np.int64)
    parts: list[Bundle] = []
    for owner in np.unique(owners).tolist():
        numbers = tuple(np.flatnonzero(owners == owner).tolist())
        entries = tuple(manifest.shards[number] for number in numbers)
        first = parts[-1].first + parts[-1].documents if parts else 0
        parts.append(Bundle(location, entries, numbers, first, state))
    return parts


@lru_cache(maxsize=_OPEN)
def _opened(opener: Opener, bundle: Bundle) -> Sharded:
    if not is_index(bundle.place):
        raise InputError(
            f"there is no index {bundle.place}",
            remedy="keep the index where every worker sees it, or at a URL",
        )
    folder = local_index(bundle.place, bundle.numbers)
    shards: Sharded = opener(opened(folder, bundle.entries, read=None), bundle.first)
    return shards


@dataclass(frozen=True, eq=False)
class _Call:
    """A call of a method of the shards of a bundle.

    Attributes:
        opener: opens them.
        method: the name of the method of `Sharded`.
        shared: its first arguments, which are those of all bundles.
    """

    opener: Opener
    method: str
    shared: tuple[Any, ...]

    def __call__(self, item: tuple[Bundle, tuple[Any, ...]]) -> Any:
        bundle, separate = item
        return getattr(_opened(self.opener, bundle), self.method)(*self.shared, *separate)


class SpreadShards:
    """Shards that workers search as one; a `CountedShardSet`.

    Args:
        location: the index: a folder or a URL.
        manifest: its shards.
        opener: opens shards in a worker.
        count: how many workers there are.
    """

    def __init__(self, location: StrPath, manifest: Manifest, opener: Opener, count: int) -> None:
        url = url_of(location)
        where = str(on_disk(location).resolve()) if url is None else url
        self._opener, self._bundles = opener, bundles(where, manifest, count)
        folder = local_index(location, [])
        gone = sum(len(deleted(folder, entry)) for entry in manifest.shards)
        self.size = sum(entry.documents for entry in manifest.shards) - gone

    def _each(
        self, method: str, *shared: Any, separate: Sequence[tuple[Any, ...]] | None = None
    ) -> Iterator[Any]:
        """Yields the result of a method of `Sharded` for each bundle; see `_Call`."""
        items = zip(self._bundles, separate or [()] * len(self._bundles), strict=True)
        return current().map(_Call(self._opener, method, shared), list(items))

    def statistics(self, terms: Strings) -> Any:
        """Returns the statistics of terms in all shards."""
        parts = list(self._each("statistics", terms))
        return type(parts[0]).total(parts)

    def vocabulary(self) -> Any:
        """Returns all terms of all shards with their frequencies."""
        parts = list(self._each("vocabulary"))
        return type(parts[0]).total(parts)

    def all_frequencies(self) -> Ints:
        """Number of documents of every term, in the order of the terms."""
        counts: Ints = self.vocabulary().counts
        return counts

    def frequencies(self, terms: Strings) -> Ints:
        """(t,) number of documents that have each term."""
        frequencies: Ints = np.sum(list(self._each("frequencies", terms)), axis=0)
        return frequencies

    def contents(self, documents: Ints) -> Any:
        """Returns the terms or vectors of documents, each of which is named once."""
        masks = [bundle.holds(documents) for bundle in self._bundles]
        parts = list(self._each("contents", separate=[(documents[mask],) for mask in masks]))
        return type(parts[0]).together(parts, [np.flatnonzero(mask) for mask in masks])

    def best(self, queries: Any, depth: int, fill: bool = False) -> TopDocuments:
        """Returns the best documents of each query; `fill` adds some that share no term with it."""
        depth = max(1, min(depth, self.size))
        return merged(self._each("hits", queries, depth, fill), depth)

    def first_of_equals(self, count: int) -> Ints:
        """Returns the documents that come first where all scores are equal, at most so many."""
        numbers, ids = zip(*self._each("first_hits", count), strict=True)
        documents: Ints = np.concatenate(numbers)
        return documents[order.key_order(keys_of(Strings.joined(ids)))][:count]

    def keys(self, documents: Ints) -> Ints:
        """Returns the keys of some documents: of equal scores the greater comes first."""
        return order.keys(id_array(self.ids(documents)))

    def ids(self, documents: Ints) -> list[str]:
        """The ids of some documents."""
        masks = [bundle.holds(documents) for bundle in self._bundles]
        ids = id_array([""] * len(documents))
        parts = self._each("column", separate=[(documents[mask],) for mask in masks])
        for mask, column in zip(masks, parts, strict=True):
            ids[mask] = id_array(column.chosen(np.arange(len(column))))
        names: list[str] = ids.tolist()
        return names

    def column(self, documents: Ints) -> Strings:
        """Returns the ids of some documents."""
        return Strings.of(self.ids(documents))

    def places(self, doc_ids: Sequence[str]) -> Ints:
        """The numbers of documents that were not deleted; -1 for one that is not there."""
        places: Ints = np.max(list(self._each("places", list(doc_ids))), axis=0)
        return places

    def ranks(self, queries: Any, documents: Sequence[Sequence[int]]) -> list[list[int]]:
        """The exact rank, from 1, of some documents of each query among all documents."""
        rows = [np.array(row, np.int64) for row in documents]
        split = [[row[bundle.holds(row)] for row in rows] for bundle in self._bundles]
        parts = list(
            self._each("targets", queries, separate=[(part_documents,) for part_documents in split])
        )
        targets = []
        for number, row in enumerate(rows):
            merged = np.concatenate([part_documents[number] for part_documents in split])
            back = np.argsort(merged)[np.argsort(np.argsort(row))]
            scores = np.concatenate([part[number].scores for part in parts])[back]
            ids = Strings.joined(part[number].ids for part in parts)
            targets.append(Targets(scores, ids.taken(back)))
        before = [np.zeros(len(row), np.int64) for row in rows]
        for part in self._each("before", queries, targets):
            for total, counts in zip(before, part, strict=True):
                total += counts
        return [(total + 1).tolist() for total in before]

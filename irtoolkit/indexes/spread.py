"""Shards of an index that the workers of an engine search.

The workers say what their shards hold of the queries' terms, and then find their best documents
under the statistics of all shards. This process opens no shard: it holds the result, and what one
worker has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, distinct_numbers, id_array
from irtoolkit.base.paths import StrPath, on_disk, url_of
from irtoolkit.engines.engine import current
from irtoolkit.indexes.documents import keys_of
from irtoolkit.indexes.manifest import Manifest, ShardEntry
from irtoolkit.indexes.merged import ShardHits, merged
from irtoolkit.indexes.remote import is_index, local_index
from irtoolkit.indexes.sharded import Sharded, Targets
from irtoolkit.indexes.shards import OpenShard, deleted, opened_shards
from irtoolkit.indexes.strings import Strings
from irtoolkit.runs import order
from irtoolkit.runs.order import TopDocuments

# Sets of shards that a worker keeps open.
_OPEN = 8


class Opener(Protocol):
    """Opens shards as one; it can be pickled."""

    def __hash__(self) -> int: ...

    def __call__(self, shards: Sequence[OpenShard], first: int) -> Any:
        """`Sharded` of some shards; `first` is the number of their first document."""
        ...


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


def bundles(place: str, manifest: Manifest, count: int) -> list[Bundle]:
    """The shards of an index in so many bundles at most, alike in their number of documents."""
    state = hash(manifest.shards)
    ends = np.cumsum([entry.documents for entry in manifest.shards])
    middles = ends - np.array([entry.documents for entry in manifest.shards]) / 2
    which = np.minimum(middles * count // max(1, ends[-1]), count - 1).astype(np.int64)
    made: list[Bundle] = []
    for own in np.unique(which).tolist():
        numbers = tuple(np.flatnonzero(which == own).tolist())
        entries = tuple(manifest.shards[number] for number in numbers)
        first = made[-1].first + made[-1].documents if made else 0
        made.append(Bundle(place, entries, numbers, first, state))
    return made


@lru_cache(maxsize=_OPEN)
def _opened(opener: Opener, bundle: Bundle) -> Sharded:
    if not is_index(bundle.place):
        raise InputError(
            f"there is no index {bundle.place}",
            remedy="keep the index where every worker sees it, or at a URL",
        )
    folder = local_index(bundle.place, bundle.numbers)
    made: Sharded = opener(opened_shards(folder, bundle.entries), bundle.first)
    return made


@dataclass(frozen=True, eq=False)
class _Call:
    """A piece of work on the shards of a bundle.

    Attributes:
        opener: opens them.
        work: takes the shards, what is given to all, and what is given to each.
        given: what is given to all.
    """

    opener: Opener
    work: Callable[..., Any]
    given: tuple[Any, ...]

    def __call__(self, item: tuple[Bundle, tuple[Any, ...]]) -> Any:
        bundle, own = item
        return self.work(_opened(self.opener, bundle), *self.given, *own)


class SpreadShards:
    """Shards that workers search as one; a `CountedShardSet`.

    Args:
        place: the index: a folder or a URL.
        manifest: its shards.
        opener: opens shards in a worker.
        count: how many workers there are.
    """

    def __init__(self, place: StrPath, manifest: Manifest, opener: Opener, count: int) -> None:
        url = url_of(place)
        where = str(on_disk(place).resolve()) if url is None else url
        self._opener, self._bundles = opener, bundles(where, manifest, count)
        folder = local_index(place, [])
        gone = sum(len(deleted(folder, entry)) for entry in manifest.shards)
        self.size = sum(entry.documents for entry in manifest.shards) - gone

    def _each(
        self, work: Callable[..., Any], *given: Any, own: Sequence[tuple[Any, ...]] | None = None
    ) -> Iterator[Any]:
        """Yields the result of some work for each bundle."""
        items = zip(self._bundles, own or [()] * len(self._bundles), strict=True)
        return current().map(_Call(self._opener, work, given), list(items))

    def statistics(self, terms: Strings) -> Any:
        """Returns the statistics of terms in all shards."""
        parts = list(self._each(_statistics, terms))
        return type(parts[0]).total(parts)

    def vocabulary(self) -> Any:
        """Returns all terms of all shards with their frequencies."""
        parts = list(self._each(_vocabulary))
        return type(parts[0]).total(parts)

    def all_frequencies(self) -> Ints:
        """Number of documents of every term, in the order of the terms."""
        counts: Ints = self.vocabulary().counts
        return counts

    def frequencies(self, terms: Strings) -> Ints:
        """(t,) number of documents that have each term."""
        found: Ints = np.sum(list(self._each(_frequencies, terms)), axis=0)
        return found

    def contents(self, documents: Ints) -> Any:
        """Returns the terms or vectors of documents, each of which is named once."""
        masks = [bundle.holds(documents) for bundle in self._bundles]
        parts = list(self._each(_contents, own=[(documents[mask],) for mask in masks]))
        return type(parts[0]).together(parts, [np.flatnonzero(mask) for mask in masks])

    def best(self, asked: Any, depth: int, every: bool = False) -> TopDocuments:
        """The best documents of each query; `every` ranks such as have nothing of it, too."""
        depth = max(1, min(depth, self.size))
        return merged(self._each(_best, asked, depth, every), depth)

    def first_of_equals(self, count: int) -> Ints:
        """Returns the documents that come first where all scores are equal, at most so many."""
        numbers, ids = zip(*self._each(_first_of_equals, count), strict=True)
        every: Ints = np.concatenate(numbers)
        return every[order.key_order(keys_of(Strings.joined(ids)))][:count]

    def keys(self, documents: Ints) -> Ints:
        """Returns the keys of some documents: of equal scores the greater comes first."""
        return order.keys(id_array(self.ids(documents)))

    def ids(self, documents: Ints) -> list[str]:
        """The ids of some documents."""
        masks = [bundle.holds(documents) for bundle in self._bundles]
        found = id_array([""] * len(documents))
        parts = self._each(_column, own=[(documents[mask],) for mask in masks])
        for mask, column in zip(masks, parts, strict=True):
            found[mask] = id_array(column.chosen(np.arange(len(column))))
        names: list[str] = found.tolist()
        return names

    def places(self, doc_ids: Sequence[str]) -> Ints:
        """The numbers of documents that were not deleted; -1 for one that is not there."""
        found: Ints = np.max(list(self._each(_places, list(doc_ids))), axis=0)
        return found

    def ranks(self, asked: Any, wanted: Sequence[Sequence[int]]) -> list[list[int]]:
        """The exact rank, from 1, of some documents of each query among all documents."""
        rows = [np.array(documents, np.int64) for documents in wanted]
        split = [[row[bundle.holds(row)] for row in rows] for bundle in self._bundles]
        parts = list(self._each(_targets, asked, own=[(own,) for own in split]))
        targets = []
        for number, row in enumerate(rows):
            documents = np.concatenate([own[number] for own in split])
            back = np.argsort(documents)[np.argsort(np.argsort(row))]
            scores = np.concatenate([part[number].scores for part in parts])[back]
            ids = Strings.joined(part[number].ids for part in parts)
            targets.append(Targets(scores, ids.taken(back)))
        before = [np.zeros(len(row), np.int64) for row in rows]
        for part in self._each(_before, asked, targets):
            for total, own in zip(before, part, strict=True):
                total += own
        return [(total + 1).tolist() for total in before]


# What a worker does. These are functions of the module, so that they can be sent.


def _statistics(shards: Any, terms: Strings) -> Any:
    return shards.statistics(terms)


def _vocabulary(shards: Any) -> Any:
    return shards.vocabulary()


def _frequencies(shards: Any, terms: Strings) -> Ints:
    found: Ints = shards.frequencies(terms)
    return found


def _contents(shards: Any, documents: Ints) -> Any:
    return shards.contents(documents)


def _best(shards: Any, asked: Any, depth: int, every: bool) -> ShardHits:
    found = shards.best(asked, depth, every)
    first = int(shards.bases[0])
    numbers = distinct_numbers(found.documents - first)[0] + first
    return ShardHits(found, numbers, shards.column(numbers))


def _first_of_equals(shards: Sharded, count: int) -> tuple[Ints, Strings]:
    numbers = shards.first_of_equals(count)
    return numbers, shards.column(numbers)


def _column(shards: Sharded, documents: Ints) -> Strings:
    return shards.column(documents)


def _places(shards: Sharded, doc_ids: Sequence[str]) -> Ints:
    return shards.places(doc_ids)


def _targets(shards: Sharded, asked: Any, wanted: Sequence[Ints]) -> list[Targets]:
    return shards.targets(asked, [row.tolist() for row in wanted])


def _before(shards: Sharded, asked: Any, targets: Sequence[Targets]) -> list[Ints]:
    return shards.before(asked, targets)

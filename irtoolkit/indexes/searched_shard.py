"""A shard of postings under a formula."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.formula import Weighting, check_finite
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings


class _Weights(NamedTuple):
    """The weights of a shard's postings under a formula and an average length.

    Attributes:
        table: the weight of each class.
        most: (t,) the greatest weight of each term in a document; NaN until it is wanted.
    """

    weighting: Weighting
    average: float
    table: Floats
    most: Floats


class SearchedShard:
    """A shard that is searched."""

    def __init__(self, shard: PostingsShard, docs: OpenShard) -> None:
        self.shard, self.docs = shard, docs
        self._weighed: _Weights | None = None

    def places(self, terms: Strings) -> Ints:
        """(t,) the number of each term, or -1."""
        return self.shard.terms.places(terms)

    @cached_property
    def live(self) -> NDArray[np.uint8]:
        """(d,) 1 for documents that were not deleted."""
        return self.docs.live

    @property
    def keys(self) -> NDArray[np.int32]:
        """(d,) keys of the documents: of equal scores the greater comes first."""
        return self.docs.documents.keys

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        return self.shard.starts, self.shard.documents, self.shard.classes, self.live

    def table(self, weighting: Weighting, average: float) -> Floats:
        """The weight of each class."""
        return self._weights(weighting, average).table

    def most(self, places: Ints, weighting: Weighting, average: float) -> Floats:
        """(t,) the greatest weight of each term in a document; anything for a term that is not there."""
        bounds = self.shard.bounds
        if not len(bounds):
            return np.zeros(len(places))
        known = self._weights(weighting, average).most
        most: Floats = known[places]
        unknown = places[np.isnan(most)]
        if len(unknown):
            known[unknown] = _greatest(bounds[unknown].astype(np.int64), weighting, average)
            most = known[places]
        return most

    def _weights(self, weighting: Weighting, average: float) -> _Weights:
        cached = self._weighed
        if cached is None or cached[:2] != (weighting, average):
            shard = self.shard
            # As many as the numbers of classes can say, so that damage does not lead out of them.
            table = np.zeros(max(len(shard.class_counts), 1 << 16))
            table[: len(shard.class_counts)] = weighting.weights(
                shard.class_counts, shard.class_lengths, average
            )
            check_finite(weighting, table, least=0.0)
            most = np.full(len(shard.bounds), np.nan)
            self._weighed = cached = _Weights(weighting, average, table, most)
        return cached

    def frequencies(self, places: Ints) -> Ints:
        """(t,) number of documents that have each term."""
        starts = self.shard.starts
        counts: Ints = np.where(places >= 0, starts[places + 1] - starts[places], 0)
        if len(self.docs.deleted):
            for row in np.flatnonzero(counts).tolist():
                documents = self.shard.documents[starts[places[row]] : starts[places[row] + 1]]
                counts[row] = int(self.live[documents].sum())
        return counts

    def live_documents(self, terms: Ints) -> Ints:
        """Returns the documents that have one of some terms, ascending."""
        starts, docs = self.shard.starts, self.shard.documents
        rows = [docs[starts[term] : starts[term + 1]] for term in terms.tolist()]
        documents = np.unique(np.concatenate([np.empty(0, np.int32), *rows])).astype(np.int64)
        live: Ints = documents[self.live[documents] == 1]
        return live

    def all_frequencies(self) -> Ints:
        """(t,) number of documents that have each of the shard's terms."""
        if not len(self.docs.deleted):
            return np.diff(self.shard.starts)
        from irtoolkit.indexes._compiled_postings import live_postings

        counts = np.empty(len(self.shard.terms), np.int64)
        places = np.asarray(self.live, np.int64) - 1
        live_postings(self.shard.starts, self.shard.documents, places, counts)
        return counts

    @cached_property
    def tokens(self) -> int:
        lengths = self.shard.lengths
        return int(lengths.sum(dtype=np.int64) - lengths[self.docs.deleted].sum(dtype=np.int64))

    @cached_property
    def empty(self) -> int:
        """Number of documents without a term."""
        lengths = self.shard.lengths
        deleted = (lengths[self.docs.deleted] == 0).sum()
        return int((lengths == 0).sum() - deleted)


def _greatest(bounds: Ints, weighting: Weighting, average: float) -> Floats:
    """Returns (t,) the greatest weights of terms, given their rows of `PostingsShard.bounds`."""
    # What a term has once, twice or more often, of the shortest document each.
    counts, lengths = np.full((len(bounds), 3), (1, 2, 0)), bounds[:, :3]
    counts[:, 2] = np.maximum(bounds[:, 3], 1)
    shortest = np.maximum(lengths, 1).ravel()
    weights = weighting.weights(counts.ravel(), shortest, average)
    greatest: Floats = np.where(lengths > 0, weights.reshape(-1, 3), 0.0).max(axis=1, initial=0.0)
    return greatest

"""Several shards of postings as one: document frequencies, lengths, and subsets of documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.indexes.contents import DocumentTerms, terms_of
from irtoolkit.indexes.documents import MemoryDocuments
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.searched_shard import SearchedShard
from irtoolkit.indexes.sharded import Sharded
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.weighted import Statistics


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Terms with their frequencies.

    Attributes:
        terms: in byte order.
        counts: (t,) number of documents that have each; some may have none.
    """

    terms: Strings
    counts: Ints

    @classmethod
    def total(cls, parts: Iterable[Vocabulary]) -> Vocabulary:
        """The sum of several, without terms that no document has."""
        vocabularies = list(parts)
        if len(vocabularies) == 1:
            used = np.flatnonzero(vocabularies[0].counts)
            whole = len(used) == len(vocabularies[0].counts)
            return (
                vocabularies[0]
                if whole
                else cls(vocabularies[0].terms.taken(used), vocabularies[0].counts[used])
            )
        counts: dict[str, int] = {}
        for part in vocabularies:
            for term, count in zip(part.terms, part.counts.tolist(), strict=True):
                counts[term] = counts.get(term, 0) + count
        terms = sorted(term for term, count in counts.items() if count)
        return cls(Strings.of(terms), np.array([counts[term] for term in terms], np.int64))

    def of(self, terms: Strings) -> Ints:
        """(n,) the frequency of some terms; 0 for one that is not there."""
        if terms is self.terms:
            return self.counts
        places = self.terms.places(terms)
        return np.where(places < 0, 0, self.counts[places]) if len(self.terms) else 0 * places


class Postings(Sharded):
    """Shards of postings whose terms are counted as one.

    Args:
        shards: the postings of each shard, and its documents.
        first: see `Sharded`.
    """

    def __init__(self, shards: Sequence[tuple[PostingsShard, OpenShard]], first: int = 0) -> None:
        super().__init__(
            [docs for _, docs in shards], [len(postings) for postings, _ in shards], first
        )
        self.parts: Sequence[SearchedShard] = [SearchedShard(shard, docs) for shard, docs in shards]

    @classmethod
    def of(cls, shards: Sequence[OpenShard], first: int = 0) -> Self:
        """Shards of postings that are open."""
        return cls([(PostingsShard.load(shard.documents.folder), shard) for shard in shards], first)

    def subset(self, documents: Ints, terms: Strings | None = None) -> Self:
        """Returns some documents as shards of their own, whose documents are numbered from 0.

        Args:
            documents: (c,) their numbers, ascending.
            terms: the terms whose postings are kept; by default all.
        """
        parts = []
        for number, _, places in self.split(documents):
            part = self.parts[number]
            shard = part.shard.subset(places, None if terms is None else part.places(terms))
            ids = part.docs.documents.ids.taken(places)
            parts.append((shard, OpenShard(MemoryDocuments(ids), np.empty(0, np.int64))))
        return type(self)(parts)

    @cached_property
    def tokens(self) -> int:
        """Terms of all documents, with repetitions."""
        return sum(part.tokens for part in self.parts)

    @property
    def average(self) -> float:
        """Mean length of a document, in terms."""
        return self.tokens / self.size if self.size else 0.0

    def frequencies(self, terms: Strings) -> Ints:
        """(t,) number of documents that have each term."""
        if len(self.parts) == 1:
            return self.parts[0].frequencies(self.parts[0].places(terms))
        total = np.zeros(len(terms), np.int64)
        for part in self.parts:
            total += part.frequencies(part.places(terms))
        return total

    def contents(self, documents: Ints) -> DocumentTerms:
        """The terms of some documents, each of which is named once."""
        parts = self.split(documents)
        return DocumentTerms.together(
            [terms_of(self.parts[number].shard, places) for number, _, places in parts],
            [rows for _, rows, _ in parts],
        )

    def statistics(self, terms: Strings) -> Statistics:
        """Returns the statistics of terms in these shards."""
        return Statistics(
            self.size, self.tokens, *self._extremes, self.frequencies(terms), self.empty
        )

    @cached_property
    def _extremes(self) -> tuple[int, int]:
        """The greatest count of a term in a document, and the shortest length of one with a term; or 0."""
        filled = [part.shard for part in self.parts if len(part.shard.documents)]
        return (
            max((int(shard.class_counts.max()) for shard in filled), default=0),
            min((int(shard.class_lengths.min()) for shard in filled), default=0),
        )

    @cached_property
    def empty(self) -> int:
        """Number of documents without a term."""
        return sum(part.empty for part in self.parts)

    def vocabulary(self) -> Vocabulary:
        """Every term, and the number of documents that have it."""
        return Vocabulary.total(
            Vocabulary(part.shard.terms, part.all_frequencies()) for part in self.parts
        )

    def all_frequencies(self) -> Ints:
        """Number of documents of every term, in the order of the terms."""
        if len(self.parts) == 1:  # no term has to be read
            counts = self.parts[0].all_frequencies()
            return counts[counts > 0]
        return self.vocabulary().counts

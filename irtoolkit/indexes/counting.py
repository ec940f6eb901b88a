"""Several shards of postings as one: document frequencies, lengths, and subsets of documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np

from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.sharded import Sharded
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings

# Postings that are looked through at once.
_POSTINGS = 1 << 22


class DocumentTerms(NamedTuple):
    """The terms of some documents.

    Attributes:
        terms: terms, each once.
        starts: (d+1,) where the terms of each document begin.
        numbers: (n,) the terms of all documents end to end, as places in `terms`.
        counts: (n,) how often each occurs in its document.
    """

    terms: Strings
    starts: Ints
    numbers: Ints
    counts: Ints

    @classmethod
    def together(cls, parts: Sequence[DocumentTerms], places: Sequence[Ints]) -> DocumentTerms:
        """The terms of several sets of documents as one; `places` are where theirs are there."""
        numbering: dict[str, int] = {}
        size = sum(len(positions) for positions in places)
        lengths, rows = np.zeros(size, np.int64), []
        for part, positions in zip(parts, places, strict=True):
            numbers = np.array(
                [numbering.setdefault(t, len(numbering)) for t in part.terms], np.int64
            )
            lengths[positions] = np.diff(part.starts)
            owners = np.repeat(positions, np.diff(part.starts))
            rows.append((owners, numbers[part.numbers], part.counts))
        owners, numbers, counts = (
            np.concatenate([np.empty(0, np.int64), *column])
            for column in (zip(*rows, strict=True) if rows else ((), (), ()))
        )
        order = np.argsort(owners, kind="stable")
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return cls(Strings.of(list(numbering)), starts, numbers[order], counts[order])


class DocumentVectors(NamedTuple):
    """The vectors of some documents that have one each.

    Attributes:
        vectors: (d, dimensions) in single precision.
    """

    vectors: Singles

    @classmethod
    def together(cls, parts: Sequence[DocumentVectors], places: Sequence[Ints]) -> DocumentVectors:
        """The vectors of several sets of documents as one; `places` are where theirs are there."""
        width = max((part.vectors.shape[1] for part in parts), default=0)
        vectors = np.zeros((sum(len(positions) for positions in places), width), np.float32)
        for part, positions in zip(parts, places, strict=True):
            if len(positions):
                vectors[positions] = part.vectors
        return cls(vectors)


def terms_of(shard: PostingsShard, documents: Ints) -> DocumentTerms:
    """The terms of some documents of a shard, each of which is named once.

    Postings are kept by term: all of them are looked through once, whatever the number of documents.
    """
    positions = np.full(len(shard), -1, np.int32)
    positions[documents] = np.arange(len(documents), dtype=np.int32)
    parts = []
    for first in range(0, len(shard.documents) if len(documents) else 0, _POSTINGS):
        owners = positions[shard.documents[first : first + _POSTINGS]]
        parts.append(np.flatnonzero(owners >= 0) + first)
    postings = np.concatenate([np.empty(0, np.int64), *parts])
    owners = positions[shard.documents[postings]]
    order = np.argsort(owners, kind="stable")
    postings, owners = postings[order], owners[order]
    terms, numbers = np.unique(
        np.searchsorted(shard.starts, postings, side="right") - 1, return_inverse=True
    )
    lengths = np.bincount(owners, minlength=len(documents))
    return DocumentTerms(
        shard.terms.taken(terms),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        numbers.astype(np.int64),
        np.asarray(shard.class_counts[shard.classes[postings]], np.int64),
    )


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


@dataclass(frozen=True)
class Statistics:
    """Statistics of terms in some shards; those of more shards are their sum.

    Attributes:
        size: number of documents.
        tokens: terms of all documents, with repetitions.
        count: the greatest count of a term in a document, or 0.
        length: the shortest length of a document that has a term, or 0.
        found: (t,) number of documents that have each term.
        empty: number of documents without a term.
    """

    size: int
    tokens: int
    count: int
    length: int
    found: Ints
    empty: int = 0

    @classmethod
    def total(cls, parts: Iterable[Statistics]) -> Statistics:
        """Returns the statistics of several shards or sets of shards together."""
        listed = list(parts)
        return cls(
            sum(part.size for part in listed),
            sum(part.tokens for part in listed),
            max((part.count for part in listed), default=0),
            min((part.length for part in listed if part.length), default=0),
            np.sum([part.found for part in listed], axis=0),
            sum(part.empty for part in listed),
        )

    @property
    def average(self) -> float:
        """Mean length of a document, in terms."""
        return self.tokens / self.size if self.size else 0.0


class Counting(Protocol):
    """Shards that count terms."""

    def statistics(self, terms: Strings) -> Statistics:
        """Returns the statistics of terms."""
        ...

    def all_frequencies(self) -> Ints:
        """Number of documents of every term, in the order of the terms."""
        ...


class Postings(Sharded):
    """Shards of postings whose terms are counted as one.

    Args:
        shards: the postings of each shard.
        first: see `Sharded`.
    """

    def __init__(self, shards: Sequence[PostingsShard], first: int = 0) -> None:
        super().__init__([shard.docs for shard in shards], list(map(len, shards)), first)
        self.parts = shards

    @classmethod
    def of(cls, shards: Sequence[OpenShard], first: int = 0) -> Self:
        """Shards of postings that are open."""
        return cls(list(map(PostingsShard.load, shards)), first)

    def subset(self, documents: Ints, terms: Strings | None = None) -> Self:
        """Returns some documents as shards of their own, whose documents are numbered from 0.

        Args:
            documents: (c,) their numbers, ascending.
            terms: the terms whose postings are kept; by default all.
        """
        parts = []
        for number, _, places in self.split(documents):
            part = self.parts[number]
            kept_terms = None if terms is None else part.terms.places(terms)
            parts.append(part.subset(places, kept_terms))
        return type(self)(parts)

    def frequencies(self, terms: Strings) -> Ints:
        """(t,) number of documents that have each term."""
        if len(self.parts) == 1:
            return self.parts[0].frequencies(self.parts[0].terms.places(terms))
        total = np.zeros(len(terms), np.int64)
        for part in self.parts:
            total += part.frequencies(part.terms.places(terms))
        return total

    def contents(self, documents: Ints) -> DocumentTerms:
        """The terms of some documents, each of which is named once."""
        parts = self.split(documents)
        return DocumentTerms.together(
            [terms_of(self.parts[number], places) for number, _, places in parts],
            [rows for _, rows, _ in parts],
        )

    def statistics(self, terms: Strings) -> Statistics:
        """Returns the statistics of terms in these shards."""
        tokens, count, length, empty = self.totals
        return Statistics(self.size, tokens, count, length, self.frequencies(terms), empty)

    @cached_property
    def totals(self) -> tuple[int, int, int, int]:
        """Tokens, greatest count, shortest length and empty documents; see `Statistics`."""
        parts = [part.totals() for part in self.parts]
        tokens, counts, lengths, empty = zip(*parts, strict=True) if parts else ((), (), (), ())
        return (
            sum(tokens),
            max(counts, default=0),
            min(filter(None, lengths), default=0),
            sum(empty),
        )

    def vocabulary(self) -> Vocabulary:
        """Every term, and the number of documents that have it."""
        return Vocabulary.total(
            Vocabulary(part.terms, part.all_frequencies()) for part in self.parts
        )

    def all_frequencies(self) -> Ints:
        """Number of documents of every term, in the order of the terms."""
        if len(self.parts) == 1:  # no term has to be read
            counts = self.parts[0].all_frequencies()
            return counts[counts > 0]
        return self.vocabulary().counts

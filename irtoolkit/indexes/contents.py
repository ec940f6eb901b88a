"""The terms or vectors of documents, read from shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.postings import PostingsShard
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

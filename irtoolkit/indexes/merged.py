"""The best documents of several sets of shards as the best of all."""

from __future__ import annotations

from typing import NamedTuple

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


def merged(one: Part, other: Part, depth: int) -> Part:
    """The best of two sets of shards, of which the first has the lower numbers.

    Scores descend, and ties are in descending order of ids.
    """
    counts = np.diff(one.found.offsets), np.diff(other.found.offsets)
    query = np.concatenate([np.repeat(np.arange(len(own)), own) for own in counts])
    docs = np.concatenate([one.found.documents, other.found.documents])
    scores = np.concatenate([one.found.scores, other.found.scores])
    order = np.lexsort((-scores, query))
    query, docs, scores = query[order], docs[order], scores[order]
    numbers = np.concatenate([one.numbers, other.numbers])
    ids = Strings.joined([one.ids, other.ids])
    tied = np.zeros(len(docs), bool)
    tied[1:] = (scores[1:] == scores[:-1]) & (query[1:] == query[:-1])
    tied[:-1] |= tied[1:]
    rows = np.flatnonzero(tied)
    if len(rows):
        known, which = np.unique(docs[rows], return_inverse=True)
        names = rank_ids(id_array(ids.chosen(np.searchsorted(numbers, known))))
        by_name = np.lexsort((-names[which], -scores[rows], query[rows]))
        docs[rows] = docs[rows][by_name]
    starts = np.cumsum([0, *(counts[0] + counts[1])])
    kept = np.arange(len(docs)) - starts[query] < depth
    offsets = np.cumsum([0, *np.minimum(counts[0] + counts[1], depth)]).astype(np.int64)
    found = TopDocuments(offsets, docs[kept], scores[kept])
    left = np.unique(found.documents)
    return Part(found, left, ids.taken(np.searchsorted(numbers, left)))

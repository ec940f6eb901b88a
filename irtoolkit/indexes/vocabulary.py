"""The terms of shards, and how many documents have each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.indexes.strings import Strings


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
        every = list(parts)
        if len(every) == 1:
            there = np.flatnonzero(every[0].counts)
            whole = len(there) == len(every[0].counts)
            return every[0] if whole else cls(every[0].terms.taken(there), every[0].counts[there])
        found: dict[str, int] = {}
        for part in every:
            for term, count in zip(part.terms, part.counts.tolist(), strict=True):
                found[term] = found.get(term, 0) + count
        terms = sorted(term for term, count in found.items() if count)
        return cls(Strings.of(terms), np.array([found[term] for term in terms], np.int64))

    def of(self, terms: Strings) -> Ints:
        """(n,) the frequency of some terms; 0 for one that is not there."""
        if terms is self.terms:
            return self.counts
        places = self.terms.places(terms)
        return np.where(places < 0, 0, self.counts[places]) if len(self.terms) else 0 * places

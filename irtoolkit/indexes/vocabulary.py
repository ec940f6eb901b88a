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

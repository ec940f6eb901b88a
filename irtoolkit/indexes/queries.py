"""Queries as counted terms, many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from irtoolkit.base.analysis import Analyzer, Tokenizer
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.strings import Strings, starts_of

# The terms of a query, each with how often it occurs there, or its weight.
QueryTerms = Mapping[str, float]

# From so many queries on, compiled code splits them: to load it takes longer than a few queries do.
MANY = 64


class CountedQueries(NamedTuple):
    """The terms of some queries.

    Attributes:
        terms: terms, each once; some may be of no query.
        starts: (q+1,) where the terms of each query begin.
        numbers: (n,) the terms of all queries end to end, as places in `terms`.
        counts: (n,) how often each occurs in its query, or its weight.
    """

    terms: Strings
    starts: Ints
    numbers: Ints
    counts: Floats

    @property
    def size(self) -> int:
        """Number of queries."""
        return len(self.starts) - 1

    @classmethod
    def of(cls, queries: Sequence[QueryTerms]) -> CountedQueries:
        """Queries that were counted one by one."""
        named = list(chain.from_iterable(queries))
        numbers = {term: number for number, term in enumerate(dict.fromkeys(named))}
        return cls(
            Strings.of(list(numbers)),
            starts_of(queries),
            np.fromiter(map(numbers.__getitem__, named), np.int64, len(named)),
            np.fromiter(chain.from_iterable(query.values() for query in queries), np.float64),
        )

    def each(self) -> list[QueryTerms]:
        """The terms of each query."""
        names = list(self.terms)
        terms = [names[number] for number in self.numbers.tolist()]
        counts, ends = self.counts.tolist(), self.starts.tolist()
        return [
            dict(zip(terms[first:last], counts[first:last], strict=True))
            for first, last in pairwise(ends)
        ]

    def part(self, first: int, last: int) -> CountedQueries:
        """Some queries that follow each other."""
        if first == 0 and last >= self.size:
            return self
        starts = self.starts[first : last + 1]
        rows = slice(int(starts[0]), int(starts[-1]))
        return CountedQueries(self.terms, starts - starts[0], self.numbers[rows], self.counts[rows])

    def chosen(self, queries: Ints) -> CountedQueries:
        """Some queries, in the order of their numbers."""
        lengths = np.diff(self.starts)[queries]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        rows = np.repeat(self.starts[queries] - starts[:-1], lengths) + np.arange(starts[-1])
        return CountedQueries(self.terms, starts, self.numbers[rows], self.counts[rows])


def counted(
    queries: Sequence[Sequence[str]], tokenizer: Tokenizer, analyze: Analyzer
) -> CountedQueries:
    """The terms of queries, each given as segments across which no term reaches."""
    from collections import Counter

    if len(queries) < MANY:
        return CountedQueries.of(
            [Counter(chain.from_iterable(map(analyze, segments))) for segments in queries]
        )
    from irtoolkit.indexes.tokens import Terms, counted_at_once

    terms = Terms(analyze)
    texts = ["\n".join(query) for query in queries]
    counts = counted_at_once(texts, tokenizer, analyze, terms)
    return CountedQueries(
        Strings.of(terms.by_number()),
        np.concatenate([np.zeros(1, np.int64), counts.ends]),
        counts.terms.astype(np.int64),
        counts.counts.astype(np.float64),
    )

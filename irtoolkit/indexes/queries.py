"""Queries as counted terms, many at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.analysis import Analyzer, Tokenizer
from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ints, distinct_numbers
from irtoolkit.indexes.strings import Strings, starts_of
from irtoolkit.indexes.tokens import Terms, counted_by_python, split_steps, table_of

# The terms of a query, each with how often it occurs there, or its weight.
QueryTerms = Mapping[str, float]

# From so many queries on, compiled code splits them: to load it takes longer than a few queries do.
MANY = 64
# Terms that are remembered at most, since each new one copies all of them; and slots of the table of
# tokens at first.
_REMEMBERED, _SLOTS = 1 << 16, 1 << 14


class CountedQueries(NamedTuple):
    """The terms of some queries.

    Attributes:
        terms: terms, each once; some may be of no query.
        starts: (q+1,) where the terms of each query begin.
        numbers: (n,) the terms of all queries end to end, as places in `terms`.
        counts: (n,) how often each occurs in its query, or its weight.
        numbering: what has numbered the terms; None for a numbering of these queries alone. Of queries
            with the same, the column of terms of one begins with that of the other.
    """

    terms: Strings
    starts: Ints
    numbers: Ints
    counts: Floats
    numbering: object = None

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
        return self._replace(
            starts=starts - starts[0], numbers=self.numbers[rows], counts=self.counts[rows]
        )

    def with_own_terms(self) -> CountedQueries:
        """The same with a column of the terms of these queries alone."""
        used, numbers = distinct_numbers(self.numbers)
        return CountedQueries(self.terms.taken(used), self.starts, numbers, self.counts)

    def chosen(self, queries: Ints) -> CountedQueries:
        """Some queries, in the order of their numbers."""
        lengths = np.diff(self.starts)[queries]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        rows = np.repeat(self.starts[queries] - starts[:-1], lengths) + np.arange(starts[-1])
        return CountedQueries(self.terms, starts, self.numbers[rows], self.counts[rows])


class QueryCounter:
    """Counts the terms of queries; terms and tokens that it has met are remembered.

    Args:
        tokenizer, analyze: how texts become terms.
    """

    def __init__(self, tokenizer: Tokenizer, analyze: Analyzer) -> None:
        self._tokenizer, self._analyze = tokenizer, analyze
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._terms, self._column = Terms(self._analyze), Strings.of([])
        self._table: Any = None

    def count(self, queries: Sequence[Sequence[str]]) -> CountedQueries:
        """Returns the terms of queries, each given as segments across which no term reaches.

        Raises:
            InputError: half a surrogate pair.
        """
        with self._lock:
            if len(self._terms) > _REMEMBERED:
                self._forget()
            count_terms = self._count_each if len(queries) < MANY else self._count_together
            starts, numbers, counts = count_terms(queries)
            if len(self._column) < len(self._terms):
                self._extend_column()
            return CountedQueries(self._column, starts, numbers, counts, self._terms)

    def _count_each(self, queries: Sequence[Sequence[str]]) -> tuple[Ints, Ints, Floats]:
        """Returns starts, numbers and counts of a few queries; see `CountedQueries`."""
        analyze = self._analyze
        rows = [Counter(chain.from_iterable(map(analyze, segments))) for segments in queries]
        numbers = self._terms.numbers_of(chain.from_iterable(rows))
        counts = list(chain.from_iterable(row.values() for row in rows))
        starts = list(accumulate(map(len, rows), initial=0))
        return np.array(starts, np.int64), np.array(numbers, np.int64), np.array(counts, np.float64)

    def _count_together(self, queries: Sequence[Sequence[str]]) -> tuple[Ints, Ints, Floats]:
        """Returns the same of many queries."""
        texts = ["\n".join(query) for query in queries]
        if not is_worth_loading(split_steps(texts)):
            counted = counted_by_python(texts, self._analyze, self._terms)
        else:
            if self._table is None:
                self._table = table_of(self._tokenizer, self._analyze, self._terms, _SLOTS)
            counted = self._table.count(texts)
        starts = np.concatenate([np.zeros(1, np.int64), counted.ends])
        return starts, counted.terms.astype(np.int64), counted.counts.astype(np.float64)

    def _extend_column(self) -> None:
        """Adds new terms to the column."""
        try:
            fresh = Strings.of(self._terms.since(len(self._column)))
        except InputError:
            self._forget()
            raise
        self._column = Strings.joined([self._column, fresh])

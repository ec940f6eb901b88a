"""Queries as counted terms, many at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.analysis import Analyzer, Tokenizer
from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Floats, Ints, distinct_numbers
from irtoolkit.indexes.strings import Strings, starts_of

# The terms of a query, each with how often it occurs there, or its weight.
QueryTerms = Mapping[str, float]

# From so many queries on, compiled code splits them: to load it takes longer than a few queries do.
MANY = 64
# Terms that are remembered at most, and slots of the table of tokens at first.
_REMEMBERED, _SLOTS = 1 << 18, 1 << 14


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


class QueryCounter:
    """Counts the terms of queries; tokens that it has met are not analysed again.

    Args:
        tokenizer, analyze: how texts become terms.
    """

    def __init__(self, tokenizer: Tokenizer, analyze: Analyzer) -> None:
        self._tokenizer, self._analyze = tokenizer, analyze
        self._lock = Lock()
        self._table: Any = None
        self._terms: Any = ()

    def count(self, queries: Sequence[Sequence[str]]) -> CountedQueries:
        """Returns the terms of queries, each given as segments across which no term reaches."""
        if len(queries) < MANY:
            analyze = self._analyze
            return CountedQueries.of(
                [Counter(chain.from_iterable(map(analyze, segments))) for segments in queries]
            )
        from irtoolkit.indexes.tokens import Terms, counted_by_python, split_steps

        texts = ["\n".join(query) for query in queries]
        if not is_worth_loading(split_steps(texts)):
            terms = Terms(self._analyze)
            counts = counted_by_python(texts, self._analyze, terms)
            names = Strings.of(terms.by_number())
        else:
            with self._lock:
                counts = self._known().count(texts)
                names = self._known_names()
        used, numbers = distinct_numbers(counts.terms.astype(np.int64))
        return CountedQueries(
            names.taken(used),
            np.concatenate([np.zeros(1, np.int64), counts.ends]),
            numbers,
            counts.counts.astype(np.float64),
        )

    def _known(self) -> Any:
        """Returns the table of tokens, a new one if there are very many."""
        from irtoolkit.indexes.tokens import Terms, table_of

        if self._table is None or len(self._terms) > _REMEMBERED:
            self._terms, self._names = Terms(self._analyze), Strings.of([])
            self._table = table_of(self._tokenizer, self._analyze, self._terms, _SLOTS)
        return self._table

    def _known_names(self) -> Strings:
        """Returns the terms by number."""
        count = len(self._names)
        if count < len(self._terms):
            names = self._terms.by_number()[count:]
            self._names = Strings.joined([self._names, Strings.of(names)])
        return self._names

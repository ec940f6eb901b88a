"""Query likelihood over stored postings, and what all formulas share that score every document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.counting import Postings
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries, QueryTerms
from irtoolkit.indexes.scanning import PostingsScan, ScannedQuery, ScannedShard
from irtoolkit.indexes.sharded import CountedShardSet, Targets
from irtoolkit.indexes.strings import Strings
from irtoolkit.retrievers.postings_index import PostingsSearcher
from irtoolkit.runs.order import TopDocuments

# Numbers that a class of postings may have, so that damage does not lead out of a table.
_CLASSES = 1 << 16


class ScannedPostings(Postings):
    """Shards of postings all of whose documents are scored; a `ShardSet` but for the formula."""

    def scan(self, queries: Any) -> tuple[PostingsScan, Sequence[ScannedQuery]]:
        """The shards under the formula, and the queries."""
        raise NotImplementedError

    def every(self, queries: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """(q, d) the score of every document, and whether it shares a term with the query."""
        scan, scanned = self.scan(queries)
        return scan.every(scanned)

    def best(self, queries: Any, depth: int, fill: bool = False) -> TopDocuments:
        """Returns the best documents of each query; `fill` adds some that share no term with it."""
        scan, scanned = self.scan(queries)
        return scan.best(scanned, depth, fill)

    def scores(self, queries: Any, documents: Sequence[Ints]) -> list[Any]:
        """Returns the scores of some documents of each query."""
        scan, scanned = self.scan(queries)
        return scan.scores(scanned, documents)

    def before(self, queries: Any, targets: Sequence[Targets]) -> list[Ints]:
        """Counts the documents before each target of each query."""
        scan, scanned = self.scan(queries)
        return scan.before(scanned, targets)


class Occurrences(NamedTuple):
    """How often terms occur in some shards; in more shards it is the sum.

    Attributes:
        tokens: terms of all documents, with repetitions.
        found: (t,) how often each of some terms occurs.
    """

    tokens: int
    found: Ints

    @classmethod
    def total(cls, parts: Iterable[Occurrences]) -> Occurrences:
        """Returns how often terms occur in several sets of shards together."""
        listed = list(parts)
        return cls(sum(part.tokens for part in listed), np.sum([part.found for part in listed], 0))


class LikelihoodShards(ScannedPostings):
    """Shards of postings under query likelihood; a `ShardSet`.

    Args:
        shards, first: see `Postings`.
        mu: of Dirichlet smoothing; None without.
    """

    def __init__(
        self, shards: Sequence[PostingsShard], first: int = 0, mu: float | None = None
    ) -> None:
        super().__init__(shards, first)
        self.mu = mu

    def subset(self, documents: Ints, terms: Strings | None = None) -> Self:
        """Returns some documents as shards of their own; see `Postings.subset`."""
        subset = super().subset(documents, terms)
        subset.mu = self.mu
        return subset

    @cached_property
    def _scan(self) -> PostingsScan:
        if self.mu is None:
            scanned = [
                scanned_shard(part, part.class_counts / part.class_lengths, np.empty(0))
                for part in self.parts
            ]
        else:
            scanned = [
                scanned_shard(part, part.class_counts, -np.log(np.asarray(part.lengths) + self.mu))
                for part in self.parts
            ]
        return PostingsScan(scanned, "logarithm", first=int(self.bases[0]))

    def scan(self, queries: Sequence[ScannedQuery]) -> tuple[PostingsScan, Sequence[ScannedQuery]]:
        """The shards under the formula, and the queries."""
        return self._scan, queries

    def statistics(self, terms: Strings) -> Occurrences:  # type: ignore[override]
        """Returns how often some terms occur in all documents."""
        occurrences = np.zeros(len(terms), np.int64)
        for part in self.parts:
            for row, number in enumerate(part.terms.places(terms).tolist()):
                if number >= 0:
                    postings = slice(part.starts[number], part.starts[number + 1])
                    documents = part.documents[postings]
                    part.docs.check(documents)
                    counts = part.class_counts[part.classes[postings]]
                    occurrences[row] += int(counts[part.live[documents] == 1].sum())
        return Occurrences(self.totals[0], occurrences)


class LikelihoodSearcher(PostingsSearcher):
    """Searches kept postings with query likelihood; a `Searcher`.

    Args:
        settings: of the retriever; see `irtoolkit.retrievers.lexical.QueryLikelihood`.
        shards, counting: `LikelihoodShards`, or a `ShardSet` of such; see `PostingsSearcher`.
    """

    def __init__(
        self, settings: Mapping[str, Any], shards: CountedShardSet, counting: Any = None
    ) -> None:
        super().__init__(settings, shards, counting)
        self._dirichlet = settings["smoothing"] == "dirichlet"
        self._mu, self._lam = settings["mu"], settings["lam"]

    def found(self, terms: CountedQueries, depth: int, *, fill: bool = False) -> TopDocuments:
        """The best documents of each query, among those that share a term with it.

        All documents have a probability, and `fill` ranks them all.
        """
        return self.shards.best(self._asked(terms), depth, fill=fill)

    def _asked(self, terms: CountedQueries) -> list[ScannedQuery]:
        statistics: Occurrences = self.counting.statistics(terms.terms)
        occurrences = dict(zip(terms.terms, statistics.found.tolist(), strict=True))
        return [
            self._query(query, occurrences, max(1, statistics.tokens)) for query in terms.each()
        ]

    def _query(self, terms: QueryTerms, occurrences: Mapping[str, int], total: int) -> ScannedQuery:
        present = sorted(term for term in terms if occurrences[term])
        counts = np.array([terms[term] for term in present], np.float64)
        chance = np.array([occurrences[term] for term in present], np.float64) / total
        # log p(t) = log(what an absent term has) + log(1 + what occurrence adds)
        if self._dirichlet:
            everywhere = float((counts * np.log(self._mu * chance)).sum())
            return ScannedQuery(present, counts, 1 / (self._mu * chance), counts.sum(), everywhere)
        everywhere = float((counts * np.log(self._lam * chance)).sum())
        return ScannedQuery(
            present, counts, (1 - self._lam) / (self._lam * chance), 0.0, everywhere
        )


def scanned_shard(part: PostingsShard, table: Any, doc_values: Any) -> ScannedShard:
    """Returns a shard with the weight of each class, and a number of each document."""
    classes = np.zeros(max(len(table), _CLASSES))
    classes[: len(table)] = table
    return ScannedShard(
        part.docs,
        part.arrays,
        lambda terms: part.terms.places(Strings.of(terms)),
        classes,
        np.asarray(doc_values, np.float64),
    )

"""Query likelihood: the probability that a document's language model gives the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.indexes.counting import Postings
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries, QueryTerms
from irtoolkit.indexes.scanning import PostingsScan, ScannedQuery, ScannedShard
from irtoolkit.indexes.sharded import CountedShardSet
from irtoolkit.indexes.strings import Strings
from irtoolkit.retrievers.lexical import Lexical
from irtoolkit.retrievers.postings_index import PostingsSearcher


@dataclass(frozen=True)
class QueryLikelihood(Lexical):
    """Query likelihood under a smoothed language model of the document (Zhai and Lafferty 2001).

    The log of the probability that the document's model gives the query; terms that no document
    has are left out. smoothing "dirichlet": p(t) = (tf + μ·p(t|C)) / (dl + μ). "jm"
    (Jelinek-Mercer): p(t) = (1-λ)·tf/dl + λ·p(t|C). Lucene's LMDirichlet is another: it lets only the
    terms that a document has speak of its length, and cuts each off at 0.

    Attributes:
        smoothing: with what the document's model is smoothed.
        mu: μ of "dirichlet", in terms.
        lam: λ of "jm", the share of the collection's model.
    """

    name: ClassVar[str] = "ql"
    ranges: ClassVar = {"mu": (1e-9, 1e12), "lam": (1e-9, 1)}
    read_with: ClassVar = {"mu": ("smoothing=dirichlet",), "lam": ("smoothing=jm",)}

    smoothing: Literal["dirichlet", "jm"] = "dirichlet"
    mu: float = 1000.0
    lam: float = 0.1

    def postings(self, shards: Sequence[PostingsShard], first: int = 0) -> LikelihoodShards:
        return LikelihoodShards(shards, first, self.mu if self.smoothing == "dirichlet" else None)

    def searcher(self, shards: Any, counting: Any = None) -> Any:
        return LikelihoodSearcher(self.settings(), shards, counting)


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


class LikelihoodShards(PostingsScan, Postings):
    """Shards of postings under query likelihood; a `ShardSet`.

    Args:
        shards, first: see `Postings`.
        mu: of Dirichlet smoothing; None without.
    """

    kind = "logarithm"

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

    def under_formula(self, queries: Sequence[ScannedQuery]) -> Sequence[ScannedQuery]:
        """Returns queries as the formula takes them, once the shards are scanned under it."""
        if not self.scanned:
            self.scanned = [self._scanned(part) for part in self.parts]
        return queries

    def _scanned(self, part: PostingsShard) -> ScannedShard:
        if self.mu is None:
            return ScannedShard.of(part, part.class_counts / part.class_lengths, np.empty(0))
        return ScannedShard.of(part, part.class_counts, -np.log(np.asarray(part.lengths) + self.mu))

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
    """Searches postings with query likelihood; all documents have a probability.

    Args:
        settings: of the retriever; see `QueryLikelihood`.
        shards, counting: `LikelihoodShards`, or a `ShardSet` of such; see `PostingsSearcher`.
    """

    def __init__(
        self, settings: Mapping[str, Any], shards: CountedShardSet, counting: Any = None
    ) -> None:
        super().__init__(settings, shards, counting)
        self._dirichlet = settings["smoothing"] == "dirichlet"
        self._mu, self._lam = settings["mu"], settings["lam"]

    def weighed(self, terms: CountedQueries) -> list[ScannedQuery]:
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

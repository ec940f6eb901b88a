"""Query likelihood and TF-IDF over kept postings: every document is scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes.counting import Postings
from irtoolkit.indexes.index_format import OpenShard
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries, QueryTerms
from irtoolkit.indexes.scanning import PostingsScan, ScannedQuery, ScannedShard, filled
from irtoolkit.indexes.searched_shard import SearchedShard
from irtoolkit.indexes.sharded import CountedShardSet, Targets
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.vocabulary import Vocabulary
from irtoolkit.retrievers.postings_index import PostingsIndex, PostingsSearcher
from irtoolkit.runs.order import TopDocuments

# Numbers that a class of postings may have, so that damage does not lead out of a table.
_CLASSES = 1 << 16


class ScannedPostings(Postings):
    """Shards of postings all of whose documents are scored; a `ShardSet` but for the formula."""

    def scan(self, asked: Any) -> tuple[PostingsScan, Sequence[ScannedQuery]]:
        """The shards under the formula, and the queries."""
        raise NotImplementedError

    def every(self, asked: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """(q, d) the score of every document, and whether it shares a term with the query."""
        scan, queries = self.scan(asked)
        return scan.every(queries)

    def best(self, asked: Any, depth: int, every: bool = False) -> TopDocuments:
        """The best documents of each query; `every` ranks such as have nothing of it, too."""
        scan, queries = self.scan(asked)
        return scan.best(queries, depth, every)

    def scores(self, asked: Any, wanted: Sequence[Ints]) -> list[Any]:
        """The scores of some documents of each query."""
        scan, queries = self.scan(asked)
        return scan.scores(queries, wanted)

    def before(self, asked: Any, targets: Sequence[Targets]) -> list[Ints]:
        """How many documents are before some of each query."""
        scan, queries = self.scan(asked)
        return scan.before(queries, targets)


class LikelihoodIndex(PostingsIndex):
    """How query likelihood keeps its documents; an `IndexFormat`."""

    def of(
        self, shards: Sequence[tuple[PostingsShard, OpenShard]], first: int = 0
    ) -> LikelihoodShards:
        """Shards of postings as one."""
        made = LikelihoodShards(shards, first)
        own = self._retriever.settings()
        made.mu = own["mu"] if own["smoothing"] == "dirichlet" else None
        return made

    def searcher(self, shards: CountedShardSet, counting: Any = None) -> LikelihoodSearcher:
        """Searches shards of postings."""
        return LikelihoodSearcher(self._retriever.settings(), shards, counting)


class CosineIndex(PostingsIndex):
    """How TF-IDF keeps its documents; an `IndexFormat`."""

    def of(self, shards: Sequence[tuple[PostingsShard, OpenShard]], first: int = 0) -> CosineShards:
        """Shards of postings as one."""
        return CosineShards(shards, first)

    def searcher(self, shards: CountedShardSet, counting: Any = None) -> CosineSearcher:
        """Searches shards of postings."""
        return CosineSearcher(self._retriever.settings(), shards, counting)


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
        """How often terms occur in several sets of shards together."""
        every = list(parts)
        return cls(sum(part.tokens for part in every), np.sum([part.found for part in every], 0))


class LikelihoodShards(ScannedPostings):
    """Shards of postings under query likelihood; a `ShardSet`.

    Attributes:
        mu: of Dirichlet smoothing; None without.
    """

    mu: float | None = None

    def subset(self, documents: Ints, terms: Strings | None = None) -> Self:
        """Returns some documents as shards of their own; see `Postings.subset`."""
        made = super().subset(documents, terms)
        made.mu = self.mu
        return made

    @cached_property
    def _scan(self) -> PostingsScan:
        if self.mu is None:
            made = [
                _scanned(part, part.shard.class_counts / part.shard.class_lengths, np.empty(0))
                for part in self.parts
            ]
        else:
            made = [
                _scanned(
                    part, part.shard.class_counts, -np.log(np.asarray(part.shard.lengths) + self.mu)
                )
                for part in self.parts
            ]
        return PostingsScan(made, "logarithm", first=int(self.bases[0]))

    def scan(self, asked: Sequence[ScannedQuery]) -> tuple[PostingsScan, Sequence[ScannedQuery]]:
        """The shards under the formula, and the queries."""
        return self._scan, asked

    def statistics(self, terms: Strings) -> Occurrences:  # type: ignore[override]
        """How often some terms occur in all documents."""
        found = np.zeros(len(terms), np.int64)
        for part in self.parts:
            shard = part.shard
            for at, place in enumerate(shard.places(terms).tolist()):
                if place >= 0:
                    own = slice(shard.starts[place], shard.starts[place + 1])
                    counts = shard.class_counts[shard.classes[own]]
                    found[at] += int(counts[part.live[shard.documents[own]] == 1].sum())
        return Occurrences(self.tokens, found)


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
        known: Occurrences = self.counting.statistics(terms.terms)
        found = dict(zip(terms.terms, known.found.tolist(), strict=True))
        return [self._query(own, found, max(1, known.tokens)) for own in terms.each()]

    def _query(self, terms: QueryTerms, found: Mapping[str, int], total: int) -> ScannedQuery:
        known = sorted(term for term in terms if found[term])
        counts = np.array([terms[term] for term in known], np.float64)
        chance = np.array([found[term] for term in known], np.float64) / total
        # log p(t) = log(what an absent term has) + log(1 + what occurrence adds)
        if self._dirichlet:
            everywhere = float((counts * np.log(self._mu * chance)).sum())
            return ScannedQuery(known, counts, 1 / (self._mu * chance), counts.sum(), everywhere)
        everywhere = float((counts * np.log(self._lam * chance)).sum())
        return ScannedQuery(known, counts, (1 - self._lam) / (self._lam * chance), 0.0, everywhere)


class Idf(NamedTuple):
    """Inverse document frequencies as TF-IDF takes them.

    Attributes:
        size: number of documents.
        extra: what is added to it, and to the frequencies.
    """

    size: int
    extra: int

    def of(self, found: Ints) -> Floats:
        """(t,) weight of terms that occur in `found` documents; 0 for those in none."""
        idf = np.log((self.size + self.extra) / np.maximum(found + self.extra, 1)) + 1
        return np.where(found > 0, idf, 0.0)


class CosineQueries(NamedTuple):
    """Queries, and what makes unit vectors of documents.

    Attributes:
        queries: the queries.
        idf, vocabulary: weigh all terms, with the statistics of all shards.
    """

    queries: Sequence[ScannedQuery]
    idf: Idf
    vocabulary: Vocabulary


class CosineShards(ScannedPostings):
    """Shards of postings as vectors of TF-IDF; a `ShardSet`.

    The lengths of the vectors are those of the first queries' statistics: of an index as it is.
    """

    _scan: PostingsScan | None = None

    def scan(self, asked: CosineQueries) -> tuple[PostingsScan, Sequence[ScannedQuery]]:
        """The shards under the formula, and the queries."""
        if self._scan is None:
            made = []
            for part in self.parts:
                idf = asked.idf.of(asked.vocabulary.of(part.shard.terms))
                norms = _norms(_scanned(part, part.shard.class_counts, np.empty(0)), idf)
                made.append(_scanned(part, part.shard.class_counts, norms))
            self._scan = PostingsScan(made, "class", divided=True, first=int(self.bases[0]))
        return self._scan, asked.queries


class CosineSearcher(PostingsSearcher):
    """Searches kept postings by the cosine of TF-IDF vectors; a `Searcher`.

    Args:
        settings: of the retriever; see `irtoolkit.retrievers.tfidf.TFIDF`.
        shards, counting: `CosineShards`, or a `ShardSet` of such; see `PostingsSearcher`.
    """

    def __init__(
        self, settings: Mapping[str, Any], shards: CountedShardSet, counting: Any = None
    ) -> None:
        super().__init__(settings, shards, counting)
        self._idf = Idf(self.counting.size, int(settings["smooth"]))

    def reads_all_terms(self, apart: bool) -> bool:
        return True  # the length of a document's vector

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        found: Vocabulary = self.counting.vocabulary()
        return found

    def found(self, terms: CountedQueries, depth: int, *, fill: bool = False) -> TopDocuments:
        """The best documents of each query, among those that share a term with it.

        Where these are fewer than `depth`, `fill` adds others, by descending id, which score 0.
        """
        found: TopDocuments = self.shards.best(self._asked(terms), depth)
        depth = min(depth, self.shards.size)
        if not fill or (np.diff(found.offsets) >= depth).all():
            return found
        return filled(found, depth, self.shards, np.zeros(terms.size))

    def _asked(self, terms: CountedQueries) -> CosineQueries:
        known = self.counting.statistics(terms.terms).found
        found = dict(zip(terms.terms, known.tolist(), strict=True))
        made = [self._query(own, found) for own in terms.each()]
        return CosineQueries(made, self._idf, self._vocabulary)

    def _query(self, terms: QueryTerms, every: Mapping[str, int]) -> ScannedQuery:
        known = sorted(term for term in terms if every[term])
        idf = self._idf.of(np.array([every[term] for term in known], np.int64))
        weights = idf * np.array([terms[term] for term in known], np.float64)
        length = float(np.sqrt((weights * weights).sum())) or 1.0
        return ScannedQuery(known, weights * idf / length, np.ones(len(known)))


def _scanned(part: SearchedShard, table: Any, own: Any) -> ScannedShard:
    shard = part.shard
    classes = np.zeros(max(len(table), _CLASSES))
    classes[: len(table)] = table
    return ScannedShard(
        part.docs,
        (shard.starts, shard.documents, shard.classes, part.live),
        lambda terms: shard.places(Strings.of(terms)),
        classes,
        np.asarray(own, np.float64),
    )


def _norms(scanned: ScannedShard, idf: Floats) -> Floats:
    """(d,) length of each document's vector; 1 for one without terms."""
    from irtoolkit.indexes._compiled_scan import square_sums

    sums, lost = np.zeros((2, len(scanned.arrays[3])))
    square_sums(scanned.arrays, scanned.table, idf, sums, lost)
    norms: Floats = np.sqrt(sums + lost)
    return np.where(norms > 0, norms, 1.0)

"""TF-IDF over stored postings: the cosine of two vectors of all their terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.indexes import scored
from irtoolkit.indexes.counting import Vocabulary
from irtoolkit.indexes.index_format import OpenShard
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries, QueryTerms
from irtoolkit.indexes.scanning import PostingsScan, ScannedQuery, ScannedShard, filled
from irtoolkit.indexes.sharded import CountedShardSet
from irtoolkit.retrievers.postings_index import PostingsIndex, PostingsSearcher
from irtoolkit.retrievers.scanned_postings import ScannedPostings, scanned_shard
from irtoolkit.runs.order import TopDocuments

# Steps that it takes Python to add up the square of a posting; see `is_worth_loading`.
_SQUARED = 20


class CosineIndex(PostingsIndex):
    """How TF-IDF keeps its documents; an `IndexFormat`."""

    def of(self, shards: Sequence[tuple[PostingsShard, OpenShard]], first: int = 0) -> CosineShards:
        """Shards of postings as one."""
        return CosineShards(shards, first)

    def searcher(self, shards: CountedShardSet, counting: Any = None) -> CosineSearcher:
        """Searches shards of postings."""
        return CosineSearcher(self._retriever.settings(), shards, counting)


class Idf(NamedTuple):
    """Inverse document frequencies as TF-IDF takes them.

    Attributes:
        size: number of documents.
        extra: what is added to it, and to the frequencies.
    """

    size: int
    extra: int

    def of(self, frequencies: Ints) -> Floats:
        """Returns the (t,) weights of terms, given how many documents have each; 0 for those in none."""
        idf = np.log((self.size + self.extra) / np.maximum(frequencies + self.extra, 1)) + 1
        return np.where(frequencies > 0, idf, 0.0)


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

    def scan(self, queries: CosineQueries) -> tuple[PostingsScan, Sequence[ScannedQuery]]:
        """The shards under the formula, and the queries."""
        if self._scan is None:
            scanned = []
            for part in self.parts:
                idf = queries.idf.of(queries.vocabulary.of(part.shard.terms))
                norms = _norms(scanned_shard(part, part.shard.class_counts, np.empty(0)), idf)
                scanned.append(scanned_shard(part, part.shard.class_counts, norms))
            self._scan = PostingsScan(scanned, "class", divided=True, first=int(self.bases[0]))
        return self._scan, queries.queries


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
        vocabulary: Vocabulary = self.counting.vocabulary()
        return vocabulary

    def found(self, terms: CountedQueries, depth: int, *, fill: bool = False) -> TopDocuments:
        """The best documents of each query, among those that share a term with it.

        Where these are fewer than `depth`, `fill` adds others, by descending id, which score 0.
        """
        hits: TopDocuments = self.shards.best(self._asked(terms), depth)
        depth = min(depth, self.shards.size)
        if not fill or (np.diff(hits.offsets) >= depth).all():
            return hits
        return filled(hits, depth, self.shards, np.zeros(terms.size))

    def _asked(self, terms: CountedQueries) -> CosineQueries:
        counts = self.counting.statistics(terms.terms).found
        frequencies = dict(zip(terms.terms, counts.tolist(), strict=True))
        queries = [self._query(query, frequencies) for query in terms.each()]
        return CosineQueries(queries, self._idf, self._vocabulary)

    def _query(self, terms: QueryTerms, frequencies: Mapping[str, int]) -> ScannedQuery:
        present = sorted(term for term in terms if frequencies[term])
        idf = self._idf.of(np.array([frequencies[term] for term in present], np.int64))
        weights = idf * np.array([terms[term] for term in present], np.float64)
        length = float(np.sqrt((weights * weights).sum())) or 1.0
        return ScannedQuery(present, weights * idf / length, np.ones(len(present)))


def _norms(scanned: ScannedShard, idf: Floats) -> Floats:
    """(d,) length of each document's vector; 1 for one without terms."""
    *postings, live = scanned.arrays
    table, (sums, lost) = scanned.table, np.zeros((2, len(live)))
    if is_worth_loading(_SQUARED * len(postings[1])):
        from irtoolkit.indexes._compiled_scan import square_sums

        square_sums(tuple(postings), table, idf, sums, lost)
    else:
        scanned.docs.check(postings[1])
        # Python reads lists in less time than arrays.
        lists = [column.tolist() for column in postings]
        sums, lost = sums.tolist(), lost.tolist()
        scored.square_sums(lists, table.tolist(), idf.tolist(), sums, lost)
    norms: Floats = np.sqrt(np.add(sums, lost))
    return np.where(norms > 0, norms, 1.0)

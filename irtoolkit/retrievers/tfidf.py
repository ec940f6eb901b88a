"""TF-IDF vectors, compared by their cosine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, get_args

import numpy as np

from irtoolkit.base.compiled import is_worth_loading
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats, Ints
from irtoolkit.datasets.cache import content_hash
from irtoolkit.indexes import few
from irtoolkit.indexes.counting import Postings, Vocabulary
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries, QueryTerms
from irtoolkit.indexes.scanning import PostingsScan, ScannedQuery, ScannedShard
from irtoolkit.indexes.sharded import CountedShardSet
from irtoolkit.indexes.strings import Strings
from irtoolkit.retrievers.lexical import Lexical, StatisticsSource
from irtoolkit.retrievers.postings_index import PostingsSearcher
from irtoolkit.retrievers.text_files import FileStatistics


@dataclass(frozen=True)
class TFIDF(Lexical):
    """Cosine of TF-IDF vectors, as scikit-learn weights them: tf · (ln((1+N)/(1+n)) + 1).

    Unit vectors order alike by cosine, by dot product and by L2 distance.

    Attributes:
        statistics: whose frequencies weigh the terms: each query's "candidates", the whole
            "corpus", or a file of other texts, one in a line or as JSON lines; a term that none
            of these texts has weighs nothing.
        smooth: whether N and n are each one higher.
    """

    name: ClassVar[str] = "tfidf"

    statistics: str = "corpus"  # type: ignore[assignment]
    smooth: bool = True

    def missing(self) -> str | None:
        if self._file is not None and not self._file.is_file():
            return (
                f"the file of statistics {self._file} is not there (or give corpus or candidates)"
            )
        return super().missing()

    def fingerprint(self) -> str | None:
        return None if self._file is None or self.missing() else content_hash(self._file)

    @property
    def _file(self) -> Path | None:
        return None if self.statistics in get_args(StatisticsSource) else Path(self.statistics)

    def postings(self, shards: Sequence[PostingsShard], first: int = 0) -> CosineShards:
        return CosineShards(shards, first)

    def searcher(self, shards: Any, counting: Any = None) -> CosineSearcher:
        reason = self.missing()
        if reason is not None:
            raise InputError(reason)
        if self._file is not None:
            counting = FileStatistics(self._file, self.analysis(None))
        return CosineSearcher(self.settings(), shards, counting)

    def index_format(self) -> IndexFormat | None:
        # The statistics of an index are those of its documents.
        return super().index_format() if self._file is None else None


# Steps that it takes Python to add up the square of a posting; see `is_worth_loading`.
_SQUARED = 20


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


class CosineShards(PostingsScan, Postings):
    """Shards of postings as vectors of TF-IDF; a `ShardSet`.

    The lengths of the vectors are those of the first queries' statistics: of an index as it is.
    """

    kind, divided = "class", True

    def under_formula(self, queries: CosineQueries) -> Sequence[ScannedQuery]:
        """Returns queries as the formula takes them, once the shards are scanned under it."""
        if not self.scanned:
            self.scanned = [self._scanned(part, queries) for part in self.parts]
        return queries.queries

    @staticmethod
    def _scanned(part: PostingsShard, queries: CosineQueries) -> ScannedShard:
        idf = queries.idf.of(queries.vocabulary.of(part.terms))
        norms = _norms(ScannedShard.of(part, part.class_counts, np.empty(0)), idf)
        return ScannedShard.of(part, part.class_counts, norms)


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
        self._extra = int(settings["smooth"])

    def within(self, documents: Ints, terms: Strings | None, *, apart: bool) -> Self:
        searcher = super().within(documents, terms, apart=apart)
        if apart:
            vars(searcher).pop("_vocabulary", None)
        return searcher

    @property
    def _idf(self) -> Idf:
        return Idf(self.counting.size, self._extra)

    def reads_all_terms(self, apart: bool) -> bool:
        return True  # the length of a document's vector

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        vocabulary: Vocabulary = self.counting.vocabulary()
        return vocabulary

    def weighed(self, terms: CountedQueries) -> CosineQueries:
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
        few.square_sums(lists, table.tolist(), idf.tolist(), sums, lost)
    norms: Floats = np.sqrt(np.add(sums, lost))
    return np.where(norms > 0, norms, 1.0)

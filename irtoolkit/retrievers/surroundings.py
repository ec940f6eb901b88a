"""Term matching of passages of books together with the sentences around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, hstack

from irtoolkit.base.analysis import analyzer
from irtoolkit.base.ids import Ints
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings
from irtoolkit.indexes.tokens import BLOCK, Counter
from irtoolkit.retrievers._book_windows import (
    BookWindows,
    FadedTerms,
    Surrounded,
    all_windows,
    book_windows,
    incidence,
)
from irtoolkit.retrievers.base import Ask, Block, Matches, Scorer
from irtoolkit.retrievers.lexical import BM25, Lexical, StatisticsSource
from irtoolkit.retrievers.query_likelihood import QueryLikelihood
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import BLOCK_DOCS

# The name of all terms together that no query has; no text has it.
_OTHERS = ""


@dataclass(frozen=True)
class LexicalSurroundings(Surrounded, FadedTerms, Lexical):
    """A term-matching retriever of passages with their surroundings.

    Sentences are counted once; the counts of a window are the sums of its sentences' counts.
    Windows of each size are weighed by statistics of their own.

    Attributes:
        statistics: whose frequencies and average length weigh the terms: those of windows around
            the query's candidates, or around all passages of the corpus.
    """

    statistics: StatisticsSource = "candidates"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_surroundings()

    def prepare(self, task: Task) -> Ask:
        retriever, windows = self.on(task.lang), book_windows(task)
        sentences = _Sentences(retriever, windows.sentences)
        no_passages = retriever.searcher(retriever.postings([]))
        everything = all_windows(task) if self.statistics == "corpus" else None

        def ask(query_task: Task) -> Scorer:
            queries = retriever.query_terms(query_task, no_passages)
            counting = {
                size: None if everything is None
                else _AllWindows(sentences, retriever, everything, size, self.columns(sentences, queries))
                for size, _ in self.shares()
            }  # fmt: skip

            def candidates(docs: Ints) -> Block:
                def score(query: Ints) -> Matches:
                    counted = queries.chosen(query)
                    columns = self.columns(sentences, counted if everything is None else queries)
                    total, shared = np.zeros((len(query), len(docs))), []
                    for size, share in self.shares():
                        shard = sentences.windows(*windows.ranges(docs, size), columns)
                        postings = retriever.postings([shard])
                        matches = retriever.searcher(postings, counting[size]).every(counted)
                        total += share * matches.scores
                        shared.append(matches.shared())
                    return Matches(total, lambda: np.any(shared, axis=0))

                return score

            return candidates

        return ask

    def columns(self, sentences: _Sentences, queries: CountedQueries) -> Ints:
        """The terms whose counts decide scores, ascending: those of the queries."""
        # Others only add to lengths.
        places = sentences.terms.places(queries.terms)[np.unique(queries.numbers)]
        return np.unique(places[places >= 0])


@dataclass(frozen=True)
class BM25Surroundings(LexicalSurroundings, BM25):
    """BM25 of passages of books, interpolated with BM25 of windows around them."""

    name: ClassVar[str] = "bm25-surroundings"

    def columns(self, sentences: _Sentences, queries: CountedQueries) -> Ints:
        # Okapi's negative weights become a share of the mean over all terms.
        if self.form == "okapi":
            return np.arange(len(sentences.terms))
        return super().columns(sentences, queries)


@dataclass(frozen=True)
class LikelihoodSurroundings(LexicalSurroundings, QueryLikelihood):
    """Query likelihood of passages of books, interpolated with that of windows around them."""

    name: ClassVar[str] = "ql-surroundings"


class _Sentences:
    """Counts of terms in sentences, from which those in windows are made.

    Attributes:
        terms: the terms, in byte order.
    """

    def __init__(self, retriever: Lexical, texts: Sequence[str]) -> None:
        analysis = retriever.analysis(None)
        counter = Counter(analysis.tokenizer, analyzer(*analysis))
        try:
            blocks = (texts[first : first + BLOCK] for first in range(0, len(texts), BLOCK))
            parts = list(counter.each(blocks))
        finally:
            counter.close()
        names = counter.terms.by_number()
        order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        self.terms = Strings.of([names[number] for number in order])
        rank = np.argsort(order)
        sizes = [np.diff(part.ends, prepend=0) for part in parts]
        starts = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]))
        numbers = np.concatenate([np.empty(0, np.int64), *(rank[part.terms] for part in parts)])
        counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in parts)])
        self._counts = csr_array((counts, numbers, starts), shape=(len(texts), len(names)))
        self._lengths = np.concatenate([np.empty(0, np.int32), *(part.lengths for part in parts)])

    def windows(self, first: Ints, last: Ints, columns: Ints) -> PostingsShard:
        """Returns windows of sentences as a shard, in which all other terms are one.

        Args:
            first, last: (c,) the first sentence of each window, and one past its last.
            columns: the terms that are counted apart, ascending.
        """
        base, stop = int(first.min()), int(last.max())
        window_counts = self._counts[base:stop][:, columns]
        others = self._lengths[base:stop] - np.asarray(window_counts.sum(axis=1)).ravel()
        apart = hstack([csr_array(others[:, None]), window_counts], format="csr")
        counts = csr_array(incidence(first, last, base, stop - base).astype(np.int64) @ apart)
        return _shard(counts, Strings.joined([Strings.of([_OTHERS]), self.terms.taken(columns)]))


def _shard(counts: Any, terms: Strings) -> PostingsShard:
    """Returns (documents, terms) counts as a shard, each of whose postings is a class by itself."""
    counts.eliminate_zeros()
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    by_term = counts.tocsc()
    size = len(by_term.indices)
    arrays = {
        "starts": by_term.indptr.astype(np.int64), "documents": by_term.indices.astype(np.int32),
        "classes": np.arange(size, dtype=np.uint32), "class-counts": by_term.data,
        "class-lengths": lengths[by_term.indices], "lengths": lengths,
        "bounds": np.zeros((len(terms), 4), np.int32),
    }  # fmt: skip
    ids = Strings(np.empty(0, np.uint8), np.zeros(len(lengths) + 1, np.int64))
    return PostingsShard((terms, arrays), OpenShard.in_memory(ids))


class _AllWindows:
    """The statistics of the windows of one size around all passages of a collection.

    Args:
        sentences, retriever: count terms, and say what the formula takes of the counts.
        windows: where the passages are.
        size: sentences around each.
        columns: the terms that are counted; see `_Sentences.windows`.
    """

    def __init__(
        self, sentences: _Sentences, retriever: Lexical, windows: BookWindows, size: int,
        columns: Ints,
    ) -> None:  # fmt: skip
        self._sentences, self._retriever, self._windows = sentences, retriever, windows
        self._size, self._columns = size, columns
        self._known: dict[int, Any] = {}

    def _each(self) -> Any:
        for start in range(0, len(self._windows.begins), BLOCK_DOCS):
            docs = np.arange(start, min(start + BLOCK_DOCS, len(self._windows.begins)))
            ranges = self._windows.ranges(docs, self._size)
            yield self._retriever.postings([self._sentences.windows(*ranges, self._columns)])

    def statistics(self, terms: Strings) -> Any:
        """Returns the statistics of terms in the windows."""
        if id(terms) not in self._known:
            parts = [shards.statistics(terms) for shards in self._each()]
            self._known = {id(terms): (terms, type(parts[0]).total(parts))}
        return self._known[id(terms)][1]

    def all_frequencies(self) -> Ints:
        """Number of windows that have each term."""
        parts = [shards.vocabulary() for shards in self._each()]
        counts: Ints = type(parts[0]).total(parts).counts
        return counts

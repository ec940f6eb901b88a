"""The base class of retrievers that match terms, BM25 and query likelihood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from irtoolkit.base.analysis import (
    ANALYZERS,
    Analysis,
    AnalyzerName,
    Stemmer,
    StopWords,
    Tokenizer,
    analysis_of,
    missing_tokenizer,
)
from irtoolkit.base.ids import Segments
from irtoolkit.indexes.formula import Weighting
from irtoolkit.indexes.index_format import IndexFormat
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.search import PostingsSearch
from irtoolkit.retrievers.base import Ask, Retriever, Scorer
from irtoolkit.retrievers.bm25_forms import FORMS, BM25Weighting, Lengths
from irtoolkit.retrievers.postings_index import PostingsIndex, WeightedSearcher
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.term_index import term_index

# The settings that say how texts become terms.
ANALYSIS = ("analyzer", "tokenizer", "stop", "stem")
StatisticsSource = Literal["candidates", "corpus"]


@dataclass(frozen=True)
class Lexical(Retriever):
    """A retriever that matches terms.

    Attributes:
        statistics: whose frequencies and average length weigh the terms: each query's candidates',
            or those of the whole corpus.
        analyzer: a name for the next three together, see `irtoolkit.base.analysis`; "auto" is that
            of the documents' language: "lucene-en" where it is English or not known.
        tokenizer: what splits texts; "auto" is the analyzer's.
        stop: the words left out: scikit-learn's English list, Lucene's, or none; "auto" is the
            analyzer's.
        stem: Porter's stemmer, or none; "auto" is the analyzer's.
    """

    statistics: StatisticsSource = "corpus"
    analyzer: Literal["auto", AnalyzerName] = "auto"
    tokenizer: Literal["auto", Tokenizer] = "auto"
    stop: Literal["auto", StopWords] = "auto"
    stem: Literal["auto", Stemmer] = "auto"

    def missing(self) -> str | None:
        return missing_tokenizer(self.tokenizer)

    def reads_corpus(self) -> bool:
        return self.statistics == "corpus"

    def analysis(self, lang: str | None) -> Analysis:
        """How texts of a language become terms."""
        return analysis_of(vars(self), lang)

    def on(self, lang: str | None) -> Self:
        analysis = self.analysis(lang)
        name = next((name for name, parts in ANALYZERS.items() if parts == analysis), None)
        if name is None:
            return replace(self, analyzer="auto", **analysis._asdict())
        return replace(self, analyzer=name, tokenizer="auto", stop="auto", stem="auto")

    def prepare(self, task: Task) -> Ask:
        index = term_index(self.on(task.lang), task)

        def ask(query_task: Task) -> Scorer:
            terms = self.query_terms(query_task, index.searcher)
            return lambda documents: index.block(documents, terms)

        return ask

    def query_terms(self, task: Task, searcher: Any) -> CountedQueries:
        """Returns the terms of a task's queries, as what searches the postings counts them."""
        terms: CountedQueries = searcher.terms(task.queries)
        return terms

    def weighting(self) -> Weighting:
        """Returns the formula, where scores are sums of term weights; else see `postings`."""
        raise NotImplementedError

    def postings(self, shards: Sequence[PostingsShard], first: int = 0) -> Any:
        """Returns shards of postings as one; `first` is the number of their first document."""
        return PostingsSearch(shards, first)

    def searcher(self, shards: Any, counting: Any = None) -> Any:
        """Returns what searches shards of postings.

        Args:
            shards: as `postings` gives them, here or in workers.
            counting: what counts the terms that weigh them; by default the shards.
        """
        return WeightedSearcher(self.settings(), self.weighting(), shards, counting)

    def index_format(self) -> IndexFormat | None:
        cls = type(self)
        is_indexed = cls.scorer is Lexical.scorer and cls.prepare is Lexical.prepare
        return PostingsIndex(self) if is_indexed else None

    def indexed(self) -> Lexical:
        """A retriever that keeps an index, in the cache, of the same terms."""
        return (
            self
            if self.index_format()
            else BM25(**{name: getattr(self, name) for name in ANALYSIS})
        )

    def rewritten(self, texts: Iterable[Segments]) -> Iterable[Segments]:
        """The documents as they are indexed."""
        return texts

    def rewriting(self) -> dict[str, Any]:
        """Returns the settings that decide how documents are rewritten; another value needs another index."""
        return {}


@dataclass(frozen=True)
class BM25(Lexical):
    """BM25 in one of its published forms.

    Each form is idf(t) · w(tf), summed over the query's terms as often as they are repeated; n is
    the number of documents with the term, N that of all, L = 1 - b + b·dl/avgdl.

    - "lucene" (Lucene 8 and later): ln(1 + (N-n+½)/(n+½)) · tf/(tf + k1·L), with exact
      lengths unless `lengths` says otherwise. Defaults k1 0.9, b 0.4 (Anserini's).
    - "okapi" (rank_bm25's BM25Okapi): ln((N-n+½)/(n+½)), where that is negative `epsilon` times its
      mean over the vocabulary; tf·(k1+1)/(tf + k1·L). Defaults k1 1.5, b 0.75.
    - "atire": ln(N/n) · tf·(k1+1)/(tf + k1·L).
    - "bm25l" (as published, and in bm25s): ln((N+1)/(n+½)) · (k1+1)·(tf/L+δ)/(k1+tf/L+δ), δ 0.5;
      "rank-bm25l" is rank_bm25's BM25L, which multiplies it with tf once more.
    - "bm25+" (rank_bm25's BM25Plus): ln((N+1)/n) · (δ + tf·(k1+1)/(tf + k1·L)), δ 1.

    "bm25l" and "bm25+" also give weight to a term that a document lacks, which moves all candidates
    of a query alike; it is kept, so that scores are those of bm25s and rank_bm25.

    Attributes:
        form: which formula.
        k1, b: saturation and length normalisation; by default the form's.
        delta: δ of "bm25l", "rank-bm25l" and "bm25+"; by default the form's.
        epsilon: of "okapi": share of the mean idf that a negative idf becomes.
        lengths: document lengths: "exact"; or "lucene", as Lucene has them: one byte for each, and
            only documents that have a term count towards N and the average length.
    """

    name: ClassVar[str] = "bm25"
    # 2: of documents that score less than 0, none is listed with 0.
    format: ClassVar[int] = 2
    ranges: ClassVar = {"k1": (0, 1e6), "b": (0, 1), "delta": (0, 1e6), "epsilon": (0, 1e6)}
    read_with: ClassVar = {
        "delta": ("form=bm25l", "form=rank-bm25l", "form=bm25+"),
        "epsilon": ("form=okapi",),
    }

    form: Literal["okapi", "lucene", "atire", "bm25l", "rank-bm25l", "bm25+"] = "lucene"
    k1: float | None = None
    b: float | None = None
    delta: float | None = None
    epsilon: float = 0.25
    lengths: Lengths = "exact"

    def settings(self) -> dict[str, Any]:
        settings, defaults = super().settings(), FORMS[self.form]
        for name in ("k1", "b", "delta"):
            if settings[name] is None:
                settings[name] = getattr(defaults, name)
        return settings

    def weighting(self) -> Weighting:
        return BM25Weighting.of(self.settings())

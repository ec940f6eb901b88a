"""Lucene, as Anserini and Pyserini use it: BM25, query likelihood, impacts, RM3 and Rocchio."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints
from irtoolkit.retrievers.base import Ask, Block, Matches, Retriever, Scorer
from irtoolkit.retrievers.lucene import given as _given
from irtoolkit.retrievers.lucene import indexing as _lucene_index
from irtoolkit.retrievers.lucene import java as _java
from irtoolkit.retrievers.lucene.given import CONTENTS as _CONTENTS
from irtoolkit.retrievers.lucene.given import ID as _ID
from irtoolkit.retrievers.lucene.indexing import English, Language, lucene_analyzer
from irtoolkit.retrievers.lucene.java import java_class
from irtoolkit.retrievers.task import Task


@dataclass(frozen=True)
class Lucene(Retriever):
    """The scores of Pyserini's LuceneSearcher, before it rounds them to four digits.

    The index holds every document of the collection, with document vectors, and is kept in
    irtoolkit's cache folder; or it is one that Anserini or Pyserini made, with `index`, which has to
    hold every document that has text. N, n and average length are its own. Documents without text
    are not in it, as in Anserini. A query that ranks a part of the collection is restricted to that part
    by a filter, which moves no score. A document that Lucene does not return has none of the
    query's terms and scores below all that it does: 0 under BM25 and impacts; -1 under query
    likelihood, RM3 and Rocchio, which can give 0.

    Attributes:
        index: the folder of a Lucene index, or a name from Pyserini's list of prebuilt indexes,
            which Pyserini downloads; by default the collection is indexed. `analyzer` has to be the
            one it was made with.
        model: BM25; query likelihood with Dirichlet smoothing ("qld"); or the sum of the weights in
            an index of impacts ("impact"), whose queries are JSON objects of terms and weights, or
            terms that are repeated as often as they weigh.
        k1, b: of BM25.
        mu: of query likelihood.
        rm3: whether queries are expanded by RM3. Feedback documents are the query's candidates. An
            `index` has to have document vectors.
        rocchio: whether queries are expanded by Rocchio's method, without negative feedback; as RM3.
        fb_docs, fb_terms: of RM3 and Rocchio.
        original_query_weight: of RM3.
        alpha, beta: of Rocchio: the weights of the query, and of the mean of the feedback documents.
        filter_terms: whether RM3 takes only terms of a-z and 0-9; by default it does with an
            English analyzer.
        analyzer: Anserini's English analyzer with the stemmer "porter" or "krovetz", or with
            "none"; its analyzer of another language (zh and ko have Lucene's CJKAnalyzer);
            "whitespace" for texts that are tokenised already.
        hits: how many documents Lucene returns; by default all with a term of the query. With
            fewer, the rest score like documents without one, which saves time on millions.
    """

    name: ClassVar[str] = "lucene"
    read_with: ClassVar = {
        "k1": ("model=bm25",),
        "b": ("model=bm25",),
        "mu": ("model=qld",),
        "fb_docs": ("rm3=true", "rocchio=true"),
        "fb_terms": ("rm3=true", "rocchio=true"),
        "original_query_weight": ("rm3=true",),
        "filter_terms": ("rm3=true",),
        "alpha": ("rocchio=true",),
        "beta": ("rocchio=true",),
        "analyzer": ("model=bm25", "model=qld"),
    }

    index: str | None = None
    model: Literal["bm25", "qld", "impact"] = "bm25"
    k1: float = 0.9
    b: float = 0.4
    mu: float = 1000.0
    rm3: bool = False
    rocchio: bool = False
    fb_docs: int = 10
    fb_terms: int = 10
    original_query_weight: float = 0.5
    alpha: float = 1.0
    beta: float = 0.75
    filter_terms: bool | None = None
    analyzer: Literal[English, Language, "whitespace"] = "porter"
    hits: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = {
            "k1": 0 <= self.k1 < np.inf,
            "b": 0 <= self.b <= 1,
            "mu": 0 < self.mu < np.inf,
            "fb_docs": self.fb_docs >= 1,
            "fb_terms": self.fb_terms >= 1,
            "original_query_weight": 0 <= self.original_query_weight <= 1,
            "alpha": 0 <= self.alpha < np.inf,
            "beta": 0 <= self.beta < np.inf,
            "hits": self.hits is None or self.hits >= 1,
        }
        for name, fine in allowed.items():
            if not fine:
                raise InputError(f"setting {name}={getattr(self, name)} is out of range")
        if self.rm3 and self.rocchio:
            raise InputError("rm3 and rocchio both expand queries", remedy="choose one of them")
        if self.model == "impact" and self.expands():
            raise InputError("model=impact takes queries as they are", remedy="rm3=false")
        if self.model == "impact" and self.index is None:
            raise InputError("model=impact needs an index of impacts", remedy="--index FOLDER")

    def expands(self) -> bool:
        """Whether queries are expanded."""
        return self.rm3 or self.rocchio

    def missing(self) -> str | None:
        return _java.missing_java()

    def reads_corpus(self) -> bool:
        return True

    def fingerprint(self) -> str | None:
        version = _lucene_index.pyserini_version()
        if self.index is None:
            return version
        return f"{version}, {_given.fingerprint_of(_given.index_folder(self.index))}"

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "filter_terms": self.takes_only_latin()}

    def takes_only_latin(self) -> bool:
        """Whether RM3 filters terms, said or by default."""
        english = self.analyzer in get_args(English)
        return english if self.filter_terms is None else self.filter_terms

    def prepare(self, task: Task) -> Ask:
        analyzer = lucene_analyzer(self.analyzer)
        if self.index is None:
            index = _lucene_index.open_index(task, self.analyzer, analyzer)
        else:
            folder = _given.index_folder(self.index)
            index = _given.open_given(folder, task, vectors=self.expands())
        numbers = index.numbers(task)
        search = _Search(self, index.reader, analyzer)
        absent = -1.0 if self.model == "qld" or self.expands() else 0.0

        def ask(query_task: Task) -> Scorer:
            def candidates(doc: Ints) -> Block:
                places = np.flatnonzero(numbers[doc] >= 0)
                place_of = np.full(len(index.doc_ids), -1)
                place_of[numbers[doc][places]] = places
                whole = len(places) == len(index.doc_ids)
                only = None if whole else search.filter(task.doc_ids[doc[places]])

                def score(query: Ints) -> Matches:
                    scores = np.full((len(query), len(doc)), absent, np.float32)
                    for row, q in zip(scores, query, strict=True):
                        query_id, text = query_task.query_ids[q], " ".join(query_task.queries[q])
                        request = search.query(str(query_id), text, only)
                        rows, values = search(request, only, max(1, len(places)))
                        row[place_of[rows]] = values
                    return Matches(scores, lambda: scores > absent)

                return score

            return candidates

        return ask


class _Search:
    """Searches an index with a retriever's settings, as SimpleSearcher does behind LuceneSearcher.

    That class takes no filter, and hands over its hits one by one, at some 40 µs for each.
    """

    def __init__(self, settings: Lucene, reader: Any, analyzer: Any) -> None:
        self._settings, self._analyzer = settings, analyzer
        self._searcher = java_class("org.apache.lucene.search.IndexSearcher")(reader)
        self._searcher.setSimilarity(_similarity(settings))
        self._bag = java_class("io.anserini.search.query.BagOfWordsQueryGenerator")()
        # Gives all hits in one string.
        self._json = java_class("com.fasterxml.jackson.databind.ObjectMapper")()

    def filter(self, doc_ids: Ids) -> Any:
        """A query for documents by their ids."""
        keys = java_class("java.util.ArrayList")()
        key = java_class("org.apache.lucene.util.BytesRef")
        for doc_id in doc_ids:
            keys.add(key(doc_id.encode()))
        return java_class("org.apache.lucene.search.TermInSetQuery")(_ID, keys)

    def query(self, query_id: str, text: str, only: Any | None) -> Any:
        """Lucene's query for a text, among the documents of a filter."""
        if self._settings.model == "impact":
            weights = java_class("java.util.HashMap")()
            for term, weight in _given.term_weights(query_id, text).items():
                weights.put(term, java_class("java.lang.Float")(weight))
            return self._bag.buildQuery(_CONTENTS, weights)
        bag = self._bag.buildQuery(_CONTENTS, self._analyzer, text)
        return self._expanded(text, bag, only) if self._settings.expands() else bag

    def __call__(self, request: Any, only: Any | None, most: int) -> tuple[list[int], list[float]]:
        """Numbers and scores of the documents that a query finds.

        Args:
            request: Lucene's query.
            only: a filter, or None.
            most: how many there can be.
        """
        query, hits = _restricted(request, only), self._settings.hits
        if hits is None or hits >= most:
            top = self._searcher.search(query, most)
        else:
            top = self._searcher.search(query, hits, self._order, True)
        score_docs = json.loads(self._json.writeValueAsString(top))["scoreDocs"]
        return [hit["doc"] for hit in score_docs], [hit["score"] for hit in score_docs]

    def _expanded(self, text: str, bag: Any, only: Any | None) -> Any:
        """The query that RM3 or Rocchio makes of the best documents for another."""
        feedback = self._searcher.search(
            _restricted(bag, only), self._settings.fb_docs, self._order, True
        )
        docs = java_class("io.anserini.search.ScoredDocs").fromTopDocs(feedback, self._searcher)
        if not docs.scores:
            return bag
        args = java_class("io.anserini.search.SearchCollection$Args")()
        args.hits = 1  # of the reranker's own search, which knows no filter
        tokens = java_class("io.anserini.analysis.AnalyzerUtils").analyze(self._analyzer, text)
        context = java_class("io.anserini.rerank.RerankerContext")(
            self._searcher, "", bag, None, text, tokens, None, args
        )
        self._feedback.rerank(docs, context)
        return self._bag.buildQuery(_CONTENTS, context.feedbackTerms)

    @cached_property
    def _feedback(self) -> Any:
        s = self._settings
        if s.rocchio:
            return java_class("io.anserini.rerank.lib.RocchioReranker")(
                self._analyzer,
                None,
                _CONTENTS,
                s.fb_terms,
                s.fb_docs,
                s.fb_terms,
                s.fb_docs,
                s.alpha,
                s.beta,
                0.0,
                False,
                False,
            )
        return java_class("io.anserini.rerank.lib.Rm3Reranker")(
            self._analyzer,
            None,
            _CONTENTS,
            s.fb_terms,
            s.fb_docs,
            s.original_query_weight,
            False,
            s.takes_only_latin(),
        )

    @cached_property
    def _order(self) -> Any:
        """Anserini's: by score, ties by document id ascending."""
        field = java_class("org.apache.lucene.search.SortField")
        by_id = field(_ID, java_class("org.apache.lucene.search.SortField$Type").STRING_VAL)
        return java_class("org.apache.lucene.search.Sort")(field.FIELD_SCORE, by_id)


def _restricted(query: Any, only: Any | None) -> Any:
    if only is None:
        return query
    occur = java_class("org.apache.lucene.search.BooleanClause$Occur")
    both = java_class("org.apache.lucene.search.BooleanQuery$Builder")()
    both.add(query, occur.MUST)
    both.add(only, occur.FILTER)
    return both.build()


def _similarity(settings: Lucene) -> Any:
    package = "org.apache.lucene.search.similarities."
    if settings.model == "impact":
        return java_class("io.anserini.search.similarity.ImpactSimilarity")()
    if settings.model == "qld":
        return java_class(f"{package}LMDirichletSimilarity")(settings.mu)
    return java_class(f"{package}BM25Similarity")(settings.k1, settings.b)

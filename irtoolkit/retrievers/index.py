"""Documents prepared once, and searched by text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any

from irtoolkit.base import analysis
from irtoolkit.base.arguments import checked_names
from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.retrievers.hits import MatchedPlaces, SearchResult
from irtoolkit.runs import Run


class Index(ABC):
    """Documents that a system has prepared, for queries that come at any time.

    Attributes:
        name: of the documents, or the folder of an index that is kept.
        searched_by: the name of the system that searches.
    """

    name: str
    searched_by: str

    @abstractmethod
    def __len__(self) -> int:
        """Number of documents."""

    @abstractmethod
    def _rank(self, queries: Mapping[str, str], depth: int) -> Run:
        """The best documents of some queries."""

    @abstractmethod
    def _texts(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        """The texts of some documents that there are."""

    def _texts_of_hits(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        """The texts of documents that a search has found."""
        return self._texts(doc_ids)

    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """The settings of the system that searches."""

    @abstractmethod
    def with_settings(self, **settings: Any) -> Index:
        """The same documents, searched with other settings.

        Raises:
            InputError: a setting that is unknown, or that concerns how documents are prepared.
        """

    def _matches(self, query: str, text: str) -> MatchedPlaces:
        """Where a text matches a query."""
        return ()

    def __repr__(self) -> str:
        return f"Index({self.name!r}, {self.searched_by!r}, {number_of(len(self), 'documents')})"

    @checked_names
    def search(self, query: str, k: int = 10) -> SearchResult:
        """The best documents for a query; those that share no term with it are left out where
        the system matches terms.

        Args:
            query: what is searched for.
            k: how many documents are returned, at most.

        Raises:
            InputError: a query without text, or `k` below 1.
        """
        if not isinstance(query, str):
            raise InputError(
                f"a query is one string, not {type(query).__name__}",
                remedy="search_many takes several",
            )
        _check_not_empty("the query", query)
        ids, scores = self._best(query, _depth(k))
        why_none = "" if ids else self._why_none(query)
        return SearchResult(query, ids, scores, partial(self._read, query), why_none)

    def _best(self, query: str, depth: int) -> tuple[list[str], list[float]]:
        """The ids and scores of the best documents of one query."""
        run = self._rank({"query": query}, depth)
        return [str(run.doc_ids[doc]) for doc in run.docs], run.scores.tolist()

    def _read(self, query: str, doc_ids: Sequence[str]) -> list[tuple[str, MatchedPlaces]]:
        """The texts of documents that a search has found, and where each matches the query."""
        texts = self._texts_of_hits(doc_ids)
        doc_texts = [texts.get(doc_id, "") for doc_id in doc_ids]
        return [(text, self._matches(query, text)) for text in doc_texts]

    def _why_none(self, query: str) -> str:
        """Why a query that finds nothing finds nothing, where its own words tell; else empty."""
        settings = self.settings()
        if not {"tokenizer", "stop", "stem"} <= settings.keys():
            return ""
        analyze = analysis.analyzer(*analysis.analysis_of(settings))
        words = analyze.split(analyze.lower(query))
        if not words:
            return "it has no words"
        stopped = all(analyze.term(word) is None for word in words)
        return "all its words are stop words" if stopped else ""

    def texts(self, doc_ids: str | Iterable[str]) -> dict[str, str]:
        """The texts of some documents, as the system read them, by id; empty where none is kept.

        One string is one id.

        Raises:
            InputError: a document that is not in the index, or an id that is not a string.
        """
        ids = listed_ids(doc_ids)
        texts_by_id = dict(self._texts(ids))
        absent = next((doc_id for doc_id in ids if doc_id not in texts_by_id), None)
        if absent is not None:
            raise InputError(f"document {absent} is not in the index {self.name}")
        return texts_by_id

    @checked_names
    def search_many(self, queries: Any, k: int = 1000) -> Run:
        """The best documents for each of several queries, as a run.

        Args:
            queries: query id to text; texts, whose positions are their ids; (id, text) pairs; the
                path of a .jsonl, .csv, .tsv, .trec or .parquet file of topics; or what else `ir.load` takes as
                queries.
            k: how many documents are returned for each query, at most.

        Raises:
            InputError: no queries, an id twice, a query without text, one string that names no file
                of topics, or `k` below 1.
        """
        named = _named(queries)
        if not named:
            raise InputError("there are no queries", remedy="give at least one")
        for query_id, text in named.items():
            _check_not_empty(f"query {query_id}", text)
        return self._rank(named, _depth(k))


def listed_ids(doc_ids: str | Iterable[str]) -> list[str]:
    """Ids of documents, each once, in their order; one string is one id.

    Raises:
        InputError: one that is not a string.
    """
    several = isinstance(doc_ids, Iterable) and not isinstance(doc_ids, str | bytes)
    ids: list[Any] = list(doc_ids) if several else [doc_ids]
    for doc_id in ids:
        if not isinstance(doc_id, str):
            raise InputError(f"document id {doc_id!r} is not a string", remedy="write it in quotes")
    return list(dict.fromkeys(ids))


def _named(queries: Any) -> dict[str, Any]:
    """Query id to text."""
    named: Iterable[tuple[Any, Any]]
    if isinstance(queries, Mapping):
        named = queries.items()
    elif isinstance(queries, list | tuple) and all(isinstance(text, str) for text in queries):
        named = enumerate(queries)
    else:
        # Of no use to the forms above, whose first result it would delay.
        from irtoolkit.datasets.texts import QUERIES, texts_of

        return texts_of(queries, QUERIES)
    texts: dict[str, Any] = {}
    for query_id, text in named:
        if str(query_id) in texts:
            raise InputError(f"query {query_id} occurs twice", remedy="ids must be distinct")
        texts[str(query_id)] = text
    return texts


def _depth(k: int) -> int:
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise InputError(f"k={k!r} is not a whole number", remedy="k is how many are returned")
    k = int(k)
    if k < 1:
        raise InputError(f"k={k} is not at least 1")
    return k


def _check_not_empty(noun: str, text: Any) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{noun} has no text", remedy="give it at least one word")

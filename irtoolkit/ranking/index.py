"""Documents prepared once, and searched by text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.hits import Hit, SearchResult
from irtoolkit.ranking.session import Session
from irtoolkit.ranking.systems import System
from irtoolkit.ranking.texts import Asked
from irtoolkit.retrievers.texts import view
from irtoolkit.runs import Run


class Index(ABC):
    """Documents that a system has prepared, for queries that come at any time.

    Attributes:
        system: what searches.
        name: of the documents, or the folder of an index that is kept.
    """

    system: System
    name: str

    @abstractmethod
    def __len__(self) -> int:
        """Number of documents."""

    @abstractmethod
    def _rank(self, asked: Sequence[Asked], depth: int) -> Run:
        """The best documents of some queries."""

    @abstractmethod
    def _texts(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        """The texts of some documents that there are."""

    def _matches(self, query: str, text: str) -> tuple[tuple[int, int], ...]:
        """Where a text matches a query."""
        return ()

    def __repr__(self) -> str:
        return f"Index({self.name!r}, {self.system.name!r}, {len(self)} documents)"

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
        _refuse_empty("the query", query)
        found = self._rank([Asked("query", query)], _depth(k))
        ids, scores = [str(found.doc_ids[doc]) for doc in found.docs], found.scores.tolist()
        if self.system.retriever.zero_is_no_match():
            scores = [score for score in scores if score > 0]
        texts = self._texts(ids[: len(scores)])
        hits = []
        for rank, (doc_id, score) in enumerate(zip(ids, scores, strict=False), 1):
            text = texts.get(doc_id, "")
            hits.append(Hit(rank, doc_id, score, text, self._matches(query, text)))
        return SearchResult(query, hits)

    def search_many(self, queries: Mapping[str, str] | Sequence[str], k: int = 1000) -> Run:
        """The best documents for each of several queries, as a run.

        Args:
            queries: query id to text, or texts, whose positions are their ids.
            k: how many documents are returned for each query, at most.

        Raises:
            InputError: no queries, a query without text, or `k` below 1.
        """
        named = queries.items() if isinstance(queries, Mapping) else enumerate(queries)
        asked = [Asked(str(query_id), text) for query_id, text in named]
        if not asked:
            raise InputError("there are no queries", remedy="give at least one")
        for query in asked:
            _refuse_empty(f"query {query.query_id}", query.text)
        return self._rank(asked, _depth(k))


class SessionIndex(Index):
    """Documents that are prepared in this process and held in memory.

    The whole corpus is searched, whatever candidates a dataset has for its own queries.

    Args:
        data: a dataset; its queries and judgments are not used.
        system: what searches.

    Raises:
        InputError: no documents; a first stage, which an index has none of; or what the system
            lacks to run here.
    """

    def __init__(self, data: Dataset, system: System) -> None:
        refuse_unindexable(data, system)
        corpus = ir_datasets.Dataset(data.docs_handler())
        self.system, self.name = system, data.id
        self._store = data.docs_store()
        self._ready = Session(system, Dataset(data.id, corpus, in_memory=True))
        self._ready.prepare()

    def __len__(self) -> int:
        return len(self._ready)

    def _rank(self, asked: Sequence[Asked], depth: int) -> Run:
        found = self._ready.rank(asked, depth=depth)
        return Run.from_rows(
            (
                (query.query_id, str(doc_id), score)
                for query, one in zip(asked, found, strict=True)
                for doc_id, score in zip(one.doc_ids, one.scores.tolist(), strict=True)
            ),
            self.system.name,
        )

    def _texts(self, doc_ids: Sequence[str]) -> Mapping[str, str]:
        name = self.system.task.doc
        return {
            record.doc_id: " ".join(view(record, name))
            for record in self._store.get_many_iter(doc_ids)
        }


def refuse_unindexable(data: Dataset, system: System) -> None:
    """Raises InputError for a system with a first stage, or a dataset without documents."""
    if system.first is not None:
        raise InputError(
            f"system {system.name} ranks again what {system.first.name} has found",
            remedy="index with one of the two retrievers",
        )
    if not data.has("docs"):
        raise InputError(f"dataset {data.id} has no documents to index")


def _depth(k: int) -> int:
    if k < 1:
        raise InputError(f"k={k} is not at least 1")
    return k


def _refuse_empty(what: str, text: Any) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{what} has no text", remedy="give it at least one word")

"""Documents prepared once in this process, and searched by text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import ir_datasets

from irtoolkit.base.errors import InputError
from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.session import Session
from irtoolkit.ranking.systems import System
from irtoolkit.ranking.texts import Asked
from irtoolkit.retrievers.texts import view
from irtoolkit.runs import Run

# Characters of a text that a table of hits shows.
_SHOWN = 120


class Hit(NamedTuple):
    """A document that a search found.

    Attributes:
        rank: its place, from 1.
        doc_id: its id.
        score: its score; higher is better.
        text: its text, as the system read it.
    """

    rank: int
    doc_id: str
    score: float
    text: str


class SearchResult(Sequence[Hit]):
    """What a search found, best first; a notebook shows it as a table.

    Attributes:
        query: the text that was searched for.
    """

    def __init__(self, query: str, hits: Iterable[Hit]) -> None:
        self.query, self._hits = query, tuple(hits)

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, key: Any) -> Any:
        return self._hits[key]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    @property
    def doc_ids(self) -> list[str]:
        """The ids of the documents, best first."""
        return [hit.doc_id for hit in self._hits]

    @property
    def scores(self) -> list[float]:
        """The scores, best first."""
        return [hit.score for hit in self._hits]

    @property
    def texts(self) -> list[str]:
        """The texts, best first."""
        return [hit.text for hit in self._hits]

    def _table(self) -> TextTable:
        rows: list[list[TableCell]] = [
            [hit.rank, hit.doc_id, hit.score, _short(hit.text)] for hit in self._hits
        ]
        return TextTable(["rank", "document", "score", "text"], rows, self.query)

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table().to_html()


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"


class Index:
    """The documents of a dataset, prepared by a system for queries that come at any time.

    Documents are prepared when the index is made and kept in memory; a search encodes only its
    query. The whole corpus is searched, whatever candidates a dataset has for its own queries.

    Args:
        data: a dataset; its queries and judgments are not used.
        system: what searches.
        progress: whether to show a bar while documents are prepared.

    Raises:
        InputError: no documents; a first stage, which an index has none of; or what the system
            lacks to run here.
    """

    def __init__(self, data: Dataset, system: System, *, progress: bool = True) -> None:
        if system.first is not None:
            raise InputError(
                f"system {system.name} ranks again what {system.first.name} has found",
                remedy="index with one of the two retrievers",
            )
        if not data.has("docs"):
            raise InputError(f"dataset {data.id} has no documents to index")
        corpus = ir_datasets.Dataset(data.docs_handler())
        self.system, self.dataset = system, data
        self._docs = Dataset(data.id, corpus, in_memory=True)
        self._store = data.docs_store()
        self._ready = Session(system, self._docs)
        self._ready.prepare()

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._ready)

    def __repr__(self) -> str:
        return f"Index({self.dataset.id!r}, {self.system.name!r}, {len(self)} documents)"

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
        (found,) = self._ready.rank([Asked("query", query)], depth=_depth(k))
        scores = found.scores.tolist()
        if self.system.retriever.zero_is_no_match():
            scores = [score for score in scores if score > 0]
        ids = [str(doc_id) for doc_id in found.doc_ids[: len(scores)]]
        texts = self._texts(ids)
        return SearchResult(
            query,
            (
                Hit(rank, doc_id, score, texts[doc_id])
                for rank, (doc_id, score) in enumerate(zip(ids, scores, strict=True), 1)
            ),
        )

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
        found = self._ready.rank(asked, depth=_depth(k))
        return Run.from_rows(
            (
                (query.query_id, str(doc_id), score)
                for query, one in zip(asked, found, strict=True)
                for doc_id, score in zip(one.doc_ids, one.scores.tolist(), strict=True)
            ),
            self.system.name,
        )

    def _texts(self, doc_ids: list[str]) -> dict[str, str]:
        name = self.system.task.doc
        return {
            record.doc_id: " ".join(view(record, name))
            for record in self._store.get_many_iter(doc_ids)
        }


def _depth(k: int) -> int:
    if k < 1:
        raise InputError(f"k={k} is not at least 1")
    return k


def _refuse_empty(what: str, text: Any) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{what} has no text", remedy="give it at least one word")

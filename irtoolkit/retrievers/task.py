"""The task of a retriever: texts of queries and documents, and which documents each query ranks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, Segments, id_array, translate
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.texts import DEFAULT_VIEW, DatasetTexts, TextSource, own_document, view
from irtoolkit.runs import Run


@dataclass(frozen=True)
class QueryGroup:
    """Queries that rank the same candidates.

    Attributes:
        queries: (q,) indices into the task's queries.
        docs: (c,) indices into the task's documents.
    """

    queries: Ints
    docs: Ints


@dataclass(frozen=True)
class Task:
    """The queries of a dataset, and for each the documents it ranks. It holds no judgments.

    Attributes:
        dataset_id: the id, for messages and records.
        query_ids: (Q,) ids.
        doc_ids: (D,) ids of every candidate of any query.
        groups: the queries by their candidates; each query is in exactly one group.
        query_view, doc_view: the fields that give a record's text, joined by "+"; "default"
            is ir_datasets' default_text.
        drop_self: whether a query's own document has been taken out of its candidates.
        picked: whether the candidates are the best of another run; see `among`.
        ordered: whether each query's candidates stand as another ranking has them, best first.
        pooled: whether the collection has candidates for each query, or excludes documents for some, so
            that not all rank the corpus.
        typed: whether the queries are mere texts, which have no fields.
        texts: where texts come from.
    """

    dataset_id: str
    query_ids: Ids
    doc_ids: Ids
    groups: tuple[QueryGroup, ...]
    query_view: str = DEFAULT_VIEW
    doc_view: str = DEFAULT_VIEW
    drop_self: bool = False
    picked: bool = False
    ordered: bool = False
    pooled: bool = False
    typed: bool = False
    texts: TextSource | None = None

    @property
    def _texts(self) -> TextSource:
        if self.texts is None:
            raise InputError(f"the task of {self.dataset_id} has no texts")
        return self.texts

    @cached_property
    def queries(self) -> list[Segments]:
        """(Q,) text of each query."""
        return self._texts.queries(self.query_view)

    def query_fields(self, name: str) -> list[Segments]:
        """(Q,) text of each query under another view than the task's own; see `view`.

        Raises:
            InputError: the queries have no such field; names those they have.
        """
        return self._texts.queries(name)

    @property
    def docs(self) -> Any:
        """(D,) text of each candidate document, read from the collection when it is asked for."""
        return self._texts.docs(self.doc_ids, self.doc_view, self.ranks_corpus)

    @property
    def lang(self) -> str | None:
        """The language of the documents as a code; None where it is not known."""
        return None if self.dataset is None else self.dataset.lang

    @property
    def dataset(self) -> Dataset | None:
        """The dataset that the documents are from; None where they are given."""
        return None if self.texts is None else self.texts.dataset

    @property
    def ranks_corpus(self) -> bool:
        """Whether every query ranks every document of the collection, in the collection's order."""
        return (
            len(self.groups) == 1
            and not self.picked
            and not self.pooled
            and len(self.groups[0].docs) == len(self.doc_ids)
        )

    def corpus(self) -> Iterator[Segments]:
        """The text of every document of the collection, candidate or not."""
        return (segments for _, segments in self._texts.corpus(self.doc_view))

    def collection(self) -> Iterator[tuple[str, Segments]]:
        """Id and text of every document of the collection, candidate or not."""
        return self._texts.corpus(self.doc_view)

    def only(self, queries: Collection[str]) -> Task:
        """The task with those of its queries that are named, and all its documents."""
        names = set(queries)
        rows = np.flatnonzero([name in names for name in self.query_ids.tolist()])
        new_rows = np.full(len(self.query_ids), -1)
        new_rows[rows] = np.arange(len(rows))
        members = ((new_rows[group.queries], group.docs) for group in self.groups)
        groups = tuple(QueryGroup(new[new >= 0], docs) for new, docs in members if (new >= 0).any())
        query_ids, texts = self.query_ids[rows], self._texts.only(rows)
        return replace(self, query_ids=query_ids, groups=groups, texts=texts)

    def among(self, run: Run, depth: int | None = None) -> Task:
        """The same queries, each with its best documents of a run as candidates, best first.

        A query that the run does not have has no candidates.

        Raises:
            InputError: the run has a query or a document that is not this task's, or a document
                that is no candidate of its query.
        """
        if depth is not None and depth < 1:
            raise InputError(f"depth {depth} is not at least 1")
        query_rows = translate(run.query_ids, self.query_ids)
        doc_rows = translate(run.doc_ids, self.doc_ids)
        for kind, ids, translated in (
            ("query", run.query_ids, query_rows),
            ("document", run.doc_ids[run.docs], doc_rows[run.docs]),
        ):
            if (translated < 0).any():
                raise InputError(
                    f"{kind} {ids[np.argmax(translated < 0)]} of the run {run.tag} is not in"
                    f" {self.dataset_id}",
                    remedy="it is a run on another collection",
                )
        pools = [np.empty(0, np.int64)] * len(self.query_ids)
        for row, query in enumerate(query_rows):
            pools[query] = doc_rows[run.docs[run.offsets[row] : run.offsets[row + 1]]]
        for group in self.groups:
            if len(group.docs) == len(self.doc_ids):  # everything is a candidate
                continue
            for query in group.queries:
                strange = ~np.isin(pools[query], group.docs)
                if strange.any():
                    raise InputError(
                        f"document {self.doc_ids[pools[query][np.argmax(strange)]]} of the run"
                        f" {run.tag} is no candidate of query {self.query_ids[query]}",
                        remedy="it is a run on other candidates; candidates=corpus takes all documents",
                    )
        pools = [pool[:depth] for pool in pools]
        rows, places = np.unique(np.concatenate(pools), return_inverse=True)
        cuts = np.cumsum([len(pool) for pool in pools])[:-1]
        groups = tuple(
            QueryGroup(np.array([query]), docs) for query, docs in enumerate(np.split(places, cuts))
        )
        return replace(self, doc_ids=self.doc_ids[rows], groups=groups, picked=True, ordered=True)


def load_task(
    data: Dataset | str,
    *,
    query: str = DEFAULT_VIEW,
    doc: str = DEFAULT_VIEW,
    own: Literal["keep", "drop"] = "keep",
) -> Task:
    """The retrieval task of a dataset.

    Candidates are the dataset's scoreddocs where it has them, else its whole corpus.

    Args:
        data: a Dataset, or an ir_datasets id.
        query: view of the queries, e.g. "facet_sentences" or "title+abstract".
        doc: view of the documents.
        own: "drop" takes a query's own document (its `doc_id`) out of its candidates.

    Raises:
        InputError: no such dataset or view, or no queries or documents in it.
    """
    dataset = Dataset.of(data)
    for kind in ("queries", "docs"):
        if not dataset.has(kind):
            raise InputError(
                f"dataset {dataset.id} has no {kind}, so there is nothing to rank",
                remedy="give some, as in ir.load(DOCUMENTS, queries=...), or with --topics FILE"
                if kind == "queries"
                else None,
            )
    queries = dataset.queries
    query_ids = _distinct([record.query_id for record in queries], dataset.id)
    doc_ids, pools = _candidates(dataset, list(query_ids))
    if not doc_ids and not any(True for _ in dataset.docs_iter()):
        raise InputError(f"dataset {dataset.id} has no docs, so there is nothing to rank")
    if own == "drop":
        index = {doc_id: i for i, doc_id in enumerate(doc_ids)}
        for record in queries:
            own_index = index.get(own_document(record, dataset.id))
            pool = pools[record.query_id]
            pools[record.query_id] = [doc for doc in pool if doc != own_index]
    task = Task(
        dataset.id,
        query_ids,
        id_array(doc_ids),
        _groups(pools.values()),
        query,
        doc,
        own == "drop",
        pooled=dataset.has("scoreddocs") or bool(dataset.excluded_docs),
        texts=DatasetTexts(dataset),
    )
    # A view that is not there is refused now, not after an hour of indexing.
    view(queries[0], query)
    _check_doc_view(dataset, task.doc_ids, doc)
    return task


def corpus_task(data: Dataset | str, *, query: str = DEFAULT_VIEW, doc: str = DEFAULT_VIEW) -> Task:
    """The documents of a dataset as a task without queries, for an index that waits for some.

    Raises:
        InputError: no such dataset or view, or no documents in it.
    """
    dataset = Dataset.of(data)
    doc_ids = [record.doc_id for record in dataset.docs_iter()] if dataset.has("docs") else []
    if not doc_ids:
        raise InputError(f"dataset {dataset.id} has no docs, so there is nothing to rank")
    task = Task(
        dataset.id,
        id_array([]),
        id_array(doc_ids),
        (QueryGroup(np.empty(0, np.int64), np.arange(len(doc_ids))),),
        query,
        doc,
        texts=DatasetTexts(dataset),
    )
    _check_doc_view(dataset, task.doc_ids, doc)
    return task


def _distinct(query_ids: list[str], dataset_id: str) -> Ids:
    """The ids of a dataset's queries, of which there is at least one and none twice."""
    if not query_ids:
        raise InputError(f"dataset {dataset_id} has no queries, so there is nothing to rank")
    names: set[str] = set()
    for name in query_ids:
        if name in names:
            raise InputError(f"query {name} occurs twice in dataset {dataset_id}")
        names.add(name)
    return id_array(query_ids)


def _check_doc_view(dataset: Dataset, doc_ids: Ids, name: str) -> None:
    for record in dataset.docs_store().get_many_iter(doc_ids[:1]):
        view(record, name)


def _candidates(dataset: Dataset, query_ids: list[str]) -> tuple[list[str], dict[str, list[int]]]:
    """Ids of all candidates, and for each query its own as indices; queries may share a list."""
    index: dict[str, int] = {}
    pools: dict[str, list[int]] = {query_id: [] for query_id in query_ids}
    for members, doc_ids in dataset.candidates():
        present = [query_id for query_id in members if query_id in pools]
        if present:
            shared = [index.setdefault(doc_id, len(index)) for doc_id in doc_ids]
            pools.update(dict.fromkeys(present, shared))
    return list(index), pools


def _groups(pools: Iterable[list[int]]) -> tuple[QueryGroup, ...]:
    """Groups queries by their candidate list, which its identity or its content tells."""
    members: dict[bytes, list[int]] = {}
    arrays: dict[bytes, Ints] = {}
    keys: dict[int, bytes] = {}
    listed = list(pools)
    for query, pool in enumerate(listed):
        if id(pool) not in keys:
            array = np.array(pool, dtype=np.int64)
            keys[id(pool)] = array.tobytes()
            arrays[array.tobytes()] = array
        members.setdefault(keys[id(pool)], []).append(query)
    return tuple(QueryGroup(np.array(queries), arrays[key]) for key, queries in members.items())

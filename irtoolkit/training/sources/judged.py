"""Training rows from the judged queries of a dataset."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, encode, id_array, offsets_of, translate
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.task import Task, load_task
from irtoolkit.retrievers.texts import BLOCK_DOCS
from irtoolkit.runs import Qrels, Run
from irtoolkit.training.ragged import Ragged
from irtoolkit.training.recipes import Stage
from irtoolkit.training.sources.base import Links, RowSource, TextSink, required
from irtoolkit.training.sources.files import read_ids

_log = logging.getLogger(__name__)


class JudgedSource(RowSource):
    """Rows of the judged queries of a dataset: with each relevant document, or with the gold one."""

    def __init__(self, stage: Stage, join: str) -> None:
        super().__init__(stage, join)
        self.what = required(stage, "dataset")
        if (stage.run is None) == (stage.negatives == "mined"):
            raise InputError(
                "negatives=mined without a run"
                if stage.run is None
                else f"run={stage.run} without negatives=mined",
                remedy="negatives=mined takes the highest documents of run=FILE",
            )

    @cached_property
    def _pairs(self) -> _Pairs:
        task = load_task(self.what, query=self.stage.query, doc=self.stage.doc)
        query, golds = self._left(task, *self._relevant(task))
        queries, query_of = np.unique(query, return_inverse=True)
        pool_of, pools = np.full(len(task.query_ids), -1), list[Ints]()
        for group in task.groups:
            members = group.queries[np.isin(group.queries, queries)]
            if not len(members):
                continue
            pool_of[members] = len(pools)
            pools.append(group.docs)
        rows = np.arange(len(golds))
        if self.stage.pairs == "one":
            rows = self._golds(task.query_ids[queries], query_of, task.doc_ids[golds])
        ranked = self._ranked(task, queries)
        return _Pairs(task, queries, query_of, golds, rows, pool_of[queries], pools, ranked)

    def _golds(self, names: Ids, query_of: Ints, docs: Ids) -> Ints:
        """Returns the pairs of each query with its gold document.

        Args:
            names: (q,) ids of the queries.
            query_of, docs: (n,) query of each pair, and the id of its document.
        """
        several = np.bincount(query_of, minlength=len(names)) > 1
        if not several.any():
            return np.arange(len(docs))
        dataset = Dataset.load(self.what)
        if dataset.about is None or dataset.about.gold_of is None:
            raise InputError(
                f"pairs=one, and query {names[np.argmax(several)]} of {self.what} has several"
                " relevant documents, of which none is named as the gold one",
                remedy="pairs=all",
            )
        named = {query.query_id: dataset.about.gold_of(query) for query in dataset.queries_iter()}
        gold_ids = id_array([named.get(name, "") for name in names])
        rows: Ints = np.flatnonzero(~several[query_of] | (gold_ids[query_of] == docs))
        lost = len(names) - len(np.unique(query_of[rows]))
        if lost:
            _log.warning(
                "pairs=one: %d of %d queries of %s are left out: their gold document is not among"
                " the relevant ones",
                lost,
                len(names),
                self.what,
            )
        return rows

    def _relevant(self, task: Task) -> tuple[Ints, Ints]:
        """Returns the query and the document of each relevant judgment, in the task's numbers.

        They are ordered by query.
        """
        qrels = Dataset.load(self.what).qrels
        relevant = qrels.grades > 0
        if not relevant.any():
            raise InputError(
                f"{self.what} has no judged query with a relevant document to train on",
                remedy="name another split",
            )
        judged = np.repeat(np.arange(len(qrels.query_ids)), np.diff(qrels.offsets))[relevant]
        query = translate(qrels.query_ids, task.query_ids)[judged]
        if (query < 0).any():
            unknown = qrels.query_ids[judged[np.argmax(query < 0)]]
            raise InputError(
                f"the qrels of {self.what} judge query {unknown}, which it does not have"
            )
        order = np.argsort(query, kind="stable")
        query, docs = query[order], qrels.docs[relevant][order]
        golds = translate(qrels.doc_ids, task.doc_ids)[docs]
        self._check_candidates(task, qrels, query, docs, golds)
        return query, golds

    def _left(self, task: Task, query: Ints, golds: Ints) -> tuple[Ints, Ints]:
        """Returns the pairs without the queries that the stage leaves out."""
        if self.stage.without is None:
            return query, golds
        listed = read_ids(self.stage.without)
        barred = np.isin(task.query_ids[query], listed)
        books = self._books(task.doc_ids[golds])
        if books is not None:
            barred |= np.isin(id_array(books), listed)
        mask = ~np.isin(query, query[barred])
        dropped, total = len(np.unique(query[~mask])), len(np.unique(query))
        _log.warning(
            "without=%s: %d of %d queries of %s are left out",
            self.stage.without,
            dropped,
            total,
            self.what,
        )
        if dropped == total:
            raise InputError(
                f"without={self.stage.without} leaves out all {total} queries of {self.what}",
                remedy="name only what must not be trained on",
            )
        return query[mask], golds[mask]

    def _check_candidates(
        self, task: Task, qrels: Qrels, query: Ints, docs: Ints, golds: Ints
    ) -> None:
        """Raises InputError for a relevant document that is not a candidate of its query."""
        rows_of = Ragged(offsets_of(query, len(task.query_ids)), np.arange(len(query)))
        for group in task.groups:
            rows = rows_of.take(group.queries)[1]
            outside = rows[~np.isin(golds[rows], group.docs)]
            if len(outside):
                doc_id, query_id = (
                    qrels.doc_ids[docs[outside[0]]],
                    task.query_ids[query[outside[0]]],
                )
                raise InputError(
                    f"document {doc_id} is relevant to query {query_id} of {self.what} and not"
                    " among its candidates",
                    remedy="correct the qrels or the candidate pools: a model cannot learn to find"
                    " a document that is not a candidate",
                )

    def _ranked(self, task: Task, queries: Ints) -> list[Ints] | None:
        """Returns the documents of each query in the stage's run, best first."""
        if self.stage.run is None:
            return None
        try:
            narrowed = task.among(Run.read(self.stage.run), self.stage.depth)
        except InputError as error:
            file = error.file or self.stage.run
            raise InputError(error.found, file=file, line=error.line, remedy=error.remedy) from None
        numbers = translate(narrowed.doc_ids, task.doc_ids)
        ranked = [np.empty(0, np.int64)] * len(task.query_ids)
        for group in narrowed.groups:
            for query in group.queries:
                ranked[query] = numbers[group.docs]
        return [ranked[query] for query in queries]

    def read(self, out: TextSink) -> Links:
        pairs = self._pairs
        task, selected = pairs.task, np.zeros(len(pairs.task.query_ids), bool)
        selected[pairs.queries] = True
        records = Dataset.load(self.what).queries_iter()
        for record, judged in zip(records, selected, strict=True):
            if judged:
                out.query(record.query_id, self._query(record))
        parts = pairs.pools if self.stage.needs_all_documents else [pairs.golds]
        docs = np.unique(np.concatenate([*parts, *(pairs.ranked or ())]))
        texts = task.docs if len(docs) == len(task.doc_ids) else task.docs[docs]
        for doc_id, segments in zip(task.doc_ids[docs], texts, strict=True):
            out.doc(doc_id, self._join.join(segments))
        number = np.full(len(task.doc_ids), -1)
        number[docs] = np.arange(len(docs))
        pools = [np.sort(number[pool]) for pool in pairs.pools]
        rows, relevant = pairs.rows, number[pairs.golds]
        return Links(
            pairs.query_of[rows],
            relevant[rows],
            self._groups(task.doc_ids[pairs.golds[rows]]),
            pairs.pool_of,
            Ragged.of([pool[pool >= 0] for pool in pools]),
            None if pairs.ranked is None else Ragged.of([number[row] for row in pairs.ranked]),
            relevant=None if len(rows) == len(relevant) else (pairs.query_of, relevant),
        )

    def _groups(self, doc_ids: Ids) -> Ints:
        """Returns the number of each document's book; 0 if the documents have no book."""
        books = self._books(doc_ids)
        return np.zeros(len(doc_ids), np.int64) if books is None else encode(books)[1]

    def _books(self, doc_ids: Ids) -> list[str] | None:
        """Returns the book of each document; None if the documents have no book."""
        dataset = Dataset.load(self.what)
        if "book" not in getattr(dataset.docs_cls(), "_fields", ()):
            return None
        store, distinct = dataset.docs_store(), list(dict.fromkeys(doc_ids))
        blocks = (distinct[i : i + BLOCK_DOCS] for i in range(0, len(distinct), BLOCK_DOCS))
        books = {doc.doc_id: doc.book for block in blocks for doc in store.get_many_iter(block)}
        return [books[doc_id] for doc_id in doc_ids]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The judged queries of a task with their relevant documents.

    Attributes:
        task: the task of the dataset.
        queries: (q,) the judged queries, as numbers of the task.
        query_of: (n,) index in `queries` of each relevant document's query.
        golds: (n,) relevant documents, as numbers of the task.
        rows: the pairs that make rows, as indices of `golds`.
        pool_of: (q,) pool of each query.
        pools: the documents of each pool, as numbers of the task.
        ranked: the documents of each query in the stage's run, best first; None without a run.
    """

    task: Task
    queries: Ints
    query_of: Ints
    golds: Ints
    rows: Ints
    pool_of: Ints
    pools: list[Ints]
    ranked: list[Ints] | None

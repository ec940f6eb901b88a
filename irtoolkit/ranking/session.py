"""A session: a system that ranks a few queries at a time and keeps its prepared documents.

`irtoolkit retrieve` knows all queries beforehand. Others come with queries as they have them: one
by one, in batches, rewritten, or with candidates of their own.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints, id_array, rank_ids
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.formats import GenericQuery
from irtoolkit.ranking.produce import check_runnable
from irtoolkit.ranking.systems import System
from irtoolkit.ranking.texts import TextQuery, TextRanking, rank_found, run_of, squeezed
from irtoolkit.retrievers.asking import Asking
from irtoolkit.retrievers.base import Ask, Block, Retriever, Scorer, keep_last
from irtoolkit.retrievers.cross import CrossEncoder
from irtoolkit.retrievers.neural import Neural
from irtoolkit.retrievers.task import QueryGroup, Task, corpus_task
from irtoolkit.retrievers.texts import DEFAULT_VIEW, DatasetTexts, view

_log = logging.getLogger(__name__)

# Retrievers that read no more than is asked: there is nothing to prepare.
_SPARING = (CrossEncoder, Asking)


class SystemSession:
    """A system on a collection.

    A query that is the dataset's by its id ranks the candidates that the dataset has for it. Where
    its text is the dataset's too, the system is shown the record through its own view, as
    `irtoolkit retrieve` does; any other text is taken as it is. Queries that are not the dataset's
    rank the whole corpus, unless they name their candidates. Where the dataset has candidates for
    its own queries, they rank all of these, with a warning; asked beside queries of the dataset, they
    are refused, since their ids may be wrong.

    The collection is prepared for all queries of the dataset when the first is asked, and once more
    for other texts; both are kept. Models that read pairs of texts, and language models, get only
    what is asked.
    """

    def __init__(self, system: System, data: Dataset | str) -> None:
        self._system, self._dataset = system, Dataset.of(data)
        self._first = None if system.first is None else SystemSession(system.first, self._dataset)
        self._task = task = _load(system, self._dataset)
        self._records = self._dataset.queries
        self._place = {query_id: position for position, query_id in enumerate(task.query_ids)}
        self._pools: list[Ints] = [np.empty(0, np.int64)] * len(task.query_ids)
        for group in task.groups:
            for query in group.queries:
                self._pools[query] = group.docs
        # In this order ids are sorted fast, however often.
        self._rank = rank_ids(task.doc_ids)
        self._order = np.argsort(self._rank)
        self._sorted = task.doc_ids[self._order]
        whole = (group.docs for group in task.groups if len(group.docs) == len(task.doc_ids))
        self._whole = next(whole, np.arange(len(task.doc_ids)))
        self._scorers: dict[bool, Scorer] = {}
        self._asks: dict[bool, Ask] = {}
        self._warned = False

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._task.doc_ids)

    def prepare(self) -> None:
        """Prepares the collection for texts that come later, where the retriever can.

        Raises:
            InputError: the system cannot run here.
        """
        check_runnable(self._system)
        if not isinstance(self._system.retriever, _SPARING):
            self._asks[False] = self._system.retriever.prepare(self._task)

    def rank(
        self, queries: Sequence[TextQuery], *, depth: int | None = None, progress: bool = False
    ) -> list[TextRanking]:
        """The ranking of each query, in their order.

        Args:
            queries: queries with distinct ids; either all name their candidates or none does.
            depth: rows kept for each; None keeps all.
            progress: whether to show a bar on a terminal.

        Raises:
            InputError: the system cannot run here; a query that is not the dataset's beside others
                that are, where each has candidates of its own; or a document that is no candidate of its query.
        """
        check_runnable(self._system)
        self._check_strange(queries)
        if self._first is not None and any(query.doc_ids is None for query in queries):
            first_rankings = self._first.rank(queries, depth=self._system.depth, progress=progress)
            queries = [
                query._replace(doc_ids=ranking.doc_ids.tolist())
                for query, ranking in zip(queries, first_rankings, strict=True)
            ]
        results: dict[str, TextRanking] = {}
        from_dataset = [self._is_own(query) for query in queries]
        for flag in (True, False):
            part = [
                query for query, is_own in zip(queries, from_dataset, strict=True) if is_own == flag
            ]
            if part:
                results |= self._rank_alike(part, flag, depth, progress)
        return [results[query.query_id] for query in queries]

    def _is_own(self, query: TextQuery) -> bool:
        """Whether this is the dataset's own text of the query."""
        position = self._place.get(query.query_id)
        if position is None:
            return False
        views = {DEFAULT_VIEW, self._task.query_view}
        texts = (" ".join(view(self._records[position], name)) for name in views)
        return squeezed(query.text) in map(squeezed, texts)

    def _rank_alike(
        self, queries: Sequence[TextQuery], is_own: bool, depth: int | None, progress: bool
    ) -> dict[str, TextRanking]:
        """Ranks queries that are either all the dataset's own or all free texts."""
        task, docs = self._narrowed(queries, is_own)
        picked = queries[0].doc_ids is not None
        if picked:
            for query in queries:
                self._check_candidates(query)
            task = task.among(run_of(queries))
            docs = self._numbers(task.doc_ids)
        retriever = self._system.retriever
        # These read no more than is asked, and remember on disk what they have made of it.
        sparing = (Neural, Asking) if picked else _SPARING
        if not isinstance(retriever, sparing):
            retriever = self._prepared(queries, is_own, picked, docs)
        system = self._system.filled() if picked else self._system
        return rank_found(task, retriever, system, depth, progress)

    def _narrowed(self, queries: Sequence[TextQuery], is_own: bool) -> tuple[Task, Ints]:
        """The task of these queries alone, and the index of each of its documents in the whole task."""
        groups = self._groups(queries)
        places = [self._rank[group.docs] for group in groups]
        needed = np.zeros(len(self._sorted), dtype=bool)
        for docs in places:
            needed[docs] = True
        positions, numbers = np.flatnonzero(needed), np.cumsum(needed) - 1
        groups = tuple(
            replace(group, docs=numbers[docs]) for group, docs in zip(groups, places, strict=True)
        )
        task = self._asking(queries, is_own, groups, self._sorted[positions], picked=True)
        return task, self._order[positions]

    def _groups(self, queries: Sequence[TextQuery]) -> tuple[QueryGroup, ...]:
        """The queries grouped by the documents of the whole task that they may rank."""
        pools = [self._pool(query) for query in queries]
        members: dict[int, list[int]] = {}
        for position, pool in enumerate(pools):
            members.setdefault(id(pool), []).append(position)
        return tuple(QueryGroup(np.array(places), pools[places[0]]) for places in members.values())

    def _pool(self, query: TextQuery) -> Ints:
        position = self._place.get(query.query_id)
        return self._whole if position is None else self._pools[position]

    def _check_strange(self, queries: Sequence[TextQuery]) -> None:
        """Warns of queries that are not the dataset's and rank all candidates of its own.

        Raises:
            InputError: such queries beside the dataset's own.
        """
        strange = [
            query.query_id
            for query in queries
            if query.doc_ids is None and query.query_id not in self._place
        ]
        if not strange or not self._dataset.has("scoreddocs"):
            return
        name = self._task.dataset_id
        if len(strange) < len(queries):
            raise InputError(
                f"query {strange[0]!r} is none of {name}, where each query has candidates of its own",
                remedy="ask by the ids of its queries, or alone, to rank all candidates",
            )
        if not self._warned:
            _log.warning(
                "query %s is none of %s, where each query has candidates of its own:"
                " it ranks all %s",
                strange[0],
                name,
                f"{len(self._whole):,}",
            )
            self._warned = True

    def _numbers(self, doc_ids: Ids) -> Ints:
        """The number of each document, or -1 where it is not there."""
        if not len(self._sorted):
            return np.full(len(doc_ids), -1)
        positions = np.minimum(np.searchsorted(self._sorted, doc_ids), len(self._sorted) - 1)
        return np.where(self._sorted[positions] == doc_ids, self._order[positions], -1)

    def _check_candidates(self, query: TextQuery) -> None:
        """Raises InputError for candidates that the query does not have in the dataset."""
        doc_ids = id_array(query.doc_ids or ())
        numbers, pool = self._numbers(doc_ids), self._pool(query)
        name = self._task.dataset_id
        if (numbers < 0).any():
            raise InputError(f"document {doc_ids[np.argmin(numbers)]} is no candidate in {name}")
        if pool is self._whole:
            return
        strange = ~np.isin(numbers, pool)
        if strange.any():
            raise InputError(
                f"document {doc_ids[np.argmax(strange)]} is no candidate of query"
                f" {query.query_id} in {name}",
                remedy="a query under an id of your own may have any",
            )

    def _asking(
        self,
        queries: Sequence[TextQuery],
        is_own: bool,
        groups: tuple[QueryGroup, ...],
        doc_ids: Ids,
        picked: bool,
    ) -> Task:
        """A task of other queries over some documents of this one."""
        records = (
            [self._records[self._place[query.query_id]] for query in queries]
            if is_own
            else [GenericQuery(query.query_id, query.text) for query in queries]
        )
        return replace(
            self._task,
            query_ids=id_array([query.query_id for query in queries]),
            doc_ids=doc_ids,
            groups=groups,
            query_view=self._task.query_view if is_own else DEFAULT_VIEW,
            picked=picked,
            typed=not is_own,
            texts=DatasetTexts(self._dataset, records),
        )

    def _prepared(
        self, text_queries: Sequence[TextQuery], is_own: bool, picked: bool, docs: Ints
    ) -> Retriever:
        """The retriever with its documents prepared, for a task with these documents."""
        if is_own:
            if picked not in self._scorers:
                task = replace(self._task, picked=True) if picked else self._task
                self._scorers[picked] = keep_last(self._system.retriever.scorer(task))
            queries = np.array([self._place[query.query_id] for query in text_queries])
            return _Prepared(self._scorers[picked], queries, docs)
        if picked not in self._asks:
            task = replace(self._task, picked=True) if picked else self._task
            self._asks[picked] = self._system.retriever.prepare(task)
        groups = self._groups(text_queries)
        scorer = self._asks[picked](
            self._asking(text_queries, is_own, groups, self._task.doc_ids, picked)
        )
        return _Prepared(scorer, np.arange(len(text_queries)), docs)


@dataclass(frozen=True)
class _Prepared(Retriever):
    """A prepared retriever for a task that numbers queries and documents in another way.

    Attributes:
        scorer_of_all: what it has made.
        queries, docs: the number there of each that the task has.
    """

    scorer_of_all: Scorer
    queries: Ints
    docs: Ints

    def scorer(self, task: Task) -> Scorer:
        def candidates(docs: Ints) -> Block:
            block = self.scorer_of_all(self.docs[docs])
            return lambda queries: block(self.queries[queries])

        return candidates


def _load(system: System, dataset: Dataset) -> Task:
    """The system's task; for a corpus without queries, a task of its documents alone."""
    if dataset.has("queries") or not dataset.has("docs"):
        return system.load(dataset)
    with system.reading(dataset.id):
        return corpus_task(dataset, query=system.task.query, doc=system.task.doc)

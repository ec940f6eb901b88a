"""A run joined with relevance judgments: the arrays that measures are computed from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Grades, Ids, Ints, translate
from irtoolkit.runs import Qrels, Run
from irtoolkit.runs.columns import Ranks, TiedRank


class RankedRows(NamedTuple):
    """Rows of a judged run, ordered by query and rank; the arrays are parallel.

    Attributes:
        queries: index of each row's query.
        ranks: rank of each row within its query, from 1.
        grades: grade of each row's document.
    """

    queries: Ints
    ranks: Ints
    grades: Grades

    def where(self, mask: NDArray[np.bool_]) -> RankedRows:
        """Returns the rows that a mask, (rows,), selects."""
        return RankedRows(self.queries[mask], self.ranks[mask], self.grades[mask])


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The rows of a run for the judged queries, each with the grade of its document.

    As in trec_eval, only judged queries count, a judged query that the run lacks has no rows, and
    an unjudged document has grade 0.

    Attributes:
        query_ids: (Q,) ids of the judged queries.
        offsets: (Q+1,) offsets of the rows: those of query i are `offsets[i]:offsets[i + 1]`, in
            rank order.
        grades: (N,) grade of each row's document.
        pool_offsets: (Q+1,) offsets of the judgments of each query in `pool_grades`.
        pool_grades: (M,) grade of each judgment, whether its document was retrieved or not.
        doc_ids: (D,) ids of the documents of the run and of the judgments.
        docs: (N,) index in `doc_ids` of each row's document.
        pool_docs: (M,) index in `doc_ids` of each judgment's document.
        exact_ranks: (M,) rank of each judged document over all candidates, infinite if unknown; None
            if the run has no exact ranks.
        best_ranks: (M,) the same, with the best rank for documents of equal score; None if the run's
            system does not say which scores are equal.
        judged_rows: (K,) indices of the rows whose document is judged, ascending; None if all are.
    """

    query_ids: Ids
    offsets: Ints
    grades: Grades
    pool_offsets: Ints
    pool_grades: Grades
    doc_ids: Ids = field(default_factory=lambda: np.empty(0, dtype=object))
    docs: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    pool_docs: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    exact_ranks: Floats | None = None
    best_ranks: Floats | None = None
    judged_rows: Ints | None = None

    @classmethod
    def of(cls, run: Run, qrels: Qrels, ranks: Ranks | None = None) -> JudgedRun:
        """Joins a run with judgments.

        Args:
            run: the ranking.
            qrels: the judgments.
            ranks: exact ranks over all candidates, by query id and document id, if available.
        """
        source = translate(qrels.query_ids, run.query_ids)
        # A query that the run lacks has the index -1, which is that of the appended 0.
        counts = np.append(np.diff(run.offsets), 0)[source]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        shifts = run.offsets[source] - offsets[:-1]
        docs = run.docs[: offsets[-1]]
        if shifts[counts > 0].any():
            docs = run.docs[np.arange(offsets[-1]) + np.repeat(shifts, counts)]
        # The documents of the run come first, then those that are judged only.
        numbers = translate(qrels.doc_ids, run.doc_ids)
        unlisted = np.flatnonzero(numbers < 0)
        numbers[unlisted] = len(run.doc_ids) + np.arange(len(unlisted))
        doc_ids = np.concatenate([run.doc_ids, qrels.doc_ids[unlisted]])
        pool_docs = numbers[qrels.docs]
        judgments = look_up(offsets, docs, qrels.offsets, pool_docs, len(doc_ids))
        relevant_rows = np.flatnonzero(judgments >= 0)
        grades = np.zeros(len(docs), dtype=qrels.grades.dtype)
        grades[relevant_rows] = qrels.grades[judgments[relevant_rows]]
        return cls(
            qrels.query_ids,
            offsets,
            grades,
            qrels.offsets,
            qrels.grades,
            doc_ids,
            docs,
            pool_docs,
            *_exact_ranks(qrels, ranks),
            relevant_rows,
        )

    @cached_property
    def queries(self) -> Ints:
        """(N,) index of each row's query."""
        return np.repeat(np.arange(len(self.query_ids)), self.counts)

    @cached_property
    def ranks(self) -> Ints:
        """(N,) rank of each row within its query, from 1."""
        return within(self.offsets)

    @cached_property
    def counts(self) -> Ints:
        """(Q,) number of rows of each query."""
        return np.diff(self.offsets)

    @cached_property
    def pool_queries(self) -> Ints:
        """(M,) index of each judgment's query."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.pool_offsets))

    @cached_property
    def ideal(self) -> Grades:
        """(N,) the grades of each query's rows, best first."""
        return self.grades[np.lexsort((-self.grades, self.queries))]

    def rows(self, index: Ints) -> RankedRows:
        """Returns the rows at some indices."""
        queries = np.searchsorted(self.offsets, index, side="right") - 1
        return RankedRows(queries, index - self.offsets[queries] + 1, self.grades[index])

    @cached_property
    def hits(self) -> RankedRows:
        """The rows with a judged document, which are few and all that most measures need."""
        return self.rows(self._judged_rows)

    @property
    def _judged_rows(self) -> Ints:
        return np.arange(len(self.grades)) if self.judged_rows is None else self.judged_rows

    @cached_property
    def exact(self) -> RankedRows:
        """The judged documents of the whole ranking whose ranks are known.

        They are those that the run lists, and those below its cut that have exact ranks.
        """
        return self.hits if self.exact_ranks is None else self._ranked(self.exact_ranks)

    @cached_property
    def best(self) -> RankedRows:
        """The judged documents of the whole ranking, with the best rank among equal scores."""
        return self.exact if self.best_ranks is None else self._ranked(self.best_ranks)

    def _ranked(self, exact: Floats) -> RankedRows:
        """Returns the judged documents that the run lists or whose ranks, (M,), are finite."""
        width = len(self.doc_ids)
        listed = self.hits.queries * width + self.docs[self._judged_rows]
        order = np.argsort(listed)
        keys = self.pool_queries * width + self.pool_docs
        index = np.minimum(np.searchsorted(listed[order], keys), max(len(listed) - 1, 0))
        best = exact.copy()
        if len(listed):
            matched = listed[order][index] == keys
            best[matched] = np.minimum(best[matched], self.hits.ranks[order][index[matched]])
        ranked = np.flatnonzero(np.isfinite(best))
        ranked = ranked[np.lexsort((best[ranked], self.pool_queries[ranked]))]
        ranks = best[ranked].astype(np.int64)
        return RankedRows(self.pool_queries[ranked], ranks, self.pool_grades[ranked])

    @cached_property
    def pool(self) -> RankedRows:
        """(M,) the judgments of each query, ranked by descending grade."""
        queries = self.pool_queries
        order = np.lexsort((-self.pool_grades, queries))
        return RankedRows(queries, within(self.pool_offsets), self.pool_grades[order])

    def sum(self, values: Floats) -> Floats:
        """Returns (Q,) sums over the rows of each query of one value per row."""
        return sums(self.queries, values, len(self.query_ids))


def sums(groups: Ints, values: Floats, count: int) -> Floats:
    """Returns (count,) sum of the values of each group."""
    return np.bincount(groups, weights=values, minlength=count).astype(np.float64)


def within(offsets: Ints) -> Ints:
    """Returns (N,) position of each item within its group, from 1; `offsets` delimit the groups."""
    return np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], np.diff(offsets))


def look_up(
    offsets: Ints, docs: NDArray[np.integer[Any]], pool_offsets: Ints, pool_docs: Ints, width: int
) -> NDArray[np.int32]:
    """Returns the position of each row's document in its query's pool.

    It fills a table of all documents query by query, which is many times faster than sorting or
    searching millions of rows by query and document.

    Args:
        offsets: (Q+1,) offsets of the rows of each query in `docs`.
        docs: (N,) document of each row.
        pool_offsets: (Q+1,) offsets of the pool of each query in `pool_docs`.
        pool_docs: (M,) documents of the pools, distinct within a query.
        width: number of documents.

    Returns:
        (N,) positions in `pool_docs`, or -1 if the query's pool lacks the document.
    """
    codes = np.empty(len(docs), dtype=np.int32)
    table = np.full(width, -1, dtype=np.int32)
    places = np.arange(len(pool_docs), dtype=np.int32)
    bounds = zip(pairwise(offsets.tolist()), pairwise(pool_offsets.tolist()), strict=True)
    for (start, stop), (first, last) in bounds:
        if start < stop:
            pool = pool_docs[first:last]
            table[pool] = places[first:last]
            # No index is out of bounds; with "clip" numpy writes in place, without a copy.
            table.take(docs[start:stop], out=codes[start:stop], mode="clip")
            table[pool] = -1
    return codes


def _exact_ranks(qrels: Qrels, ranks: Ranks | None) -> tuple[Floats | None, Floats | None]:
    """Returns (M,) exact ranks and (M,) best ranks among equal scores, if available."""
    if ranks is None:
        return None, None
    none: dict[str, int] = {}
    rank_list = [ranks.get(row.query_id, none).get(row.doc_id, np.inf) for row in qrels]
    exact = np.array(rank_list, dtype=np.float64)
    if not any(isinstance(rank, TiedRank) for rank in rank_list):
        return exact, None
    return exact, np.array([getattr(rank, "best", rank) for rank in rank_list], dtype=np.float64)

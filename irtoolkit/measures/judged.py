"""A run laid against qrels: the arrays every measure of ours is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ids, Ints, translate
from irtoolkit.runs import Qrels, Run

Floats = NDArray[np.float64]
# Query id to document id to rank over all candidates, from 1.
Ranks = Mapping[str, Mapping[str, int]]


class Rows(NamedTuple):
    """Some rows of a laid run in its order; the arrays are parallel."""

    queries: Ints
    ranks: Ints
    grades: Ints

    def where(self, mask: NDArray[np.bool_]) -> Rows:
        """Those for which the mask, (rows,), is set."""
        return Rows(*(column[mask] for column in self))


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The rows of a run for the queries of the qrels, each with its grade.

    Following trec_eval, only judged queries count, a judged query that the run lacks has no rows,
    and an unjudged document has grade 0.

    Attributes:
        query_ids: (Q,) the qrels' queries.
        offsets: (Q+1,) the rows of query i are `offsets[i]:offsets[i + 1]`, in rank order.
        grades: (N,) grade of each row's document.
        pool_offsets: (Q+1,) positions in `pool_grades`.
        pool_grades: (M,) every judgment's grade, whether retrieved or not.
        doc_ids: (D,) ids of the documents of run and qrels.
        docs: (N,) index of each row's document in `doc_ids`.
        pool_docs: (M,) index of each judgment's.
        located: (M,) exact rank of each judged document over all candidates, where it was asked
            for when the run was made, else infinite; None where nothing was.
        known: (K,) numbers of the rows whose document is judged, ascending; None where all are.
    """

    query_ids: Ids
    offsets: Ints
    grades: Ints
    pool_offsets: Ints
    pool_grades: Ints
    doc_ids: Ids = field(default_factory=lambda: np.empty(0, dtype=object))
    docs: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    pool_docs: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    located: Floats | None = None
    known: Ints | None = None

    @classmethod
    def lay(cls, run: Run, qrels: Qrels, ranks: Ranks | None = None) -> JudgedRun:
        """Joins the rows of `run` with the judgments of `qrels`, and perhaps with exact ranks."""
        source = translate(qrels.query_ids, run.query_ids)
        # A query that the run lacks, -1, finds the appended count of 0.
        counts = np.append(np.diff(run.offsets), 0)[source]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        shifts = run.offsets[source] - offsets[:-1]
        docs = run.docs[: offsets[-1]]
        if shifts[counts > 0].any():
            docs = run.docs[np.arange(offsets[-1]) + np.repeat(shifts, counts)]
        # The run's documents first, then those that are only judged.
        place = translate(qrels.doc_ids, run.doc_ids)
        unlisted = np.flatnonzero(place < 0)
        place[unlisted] = len(run.doc_ids) + np.arange(len(unlisted))
        doc_ids = np.concatenate([run.doc_ids, qrels.doc_ids[unlisted]])
        pool_docs = place[qrels.docs]
        judgments = look_up(offsets, docs, qrels.offsets, pool_docs, len(doc_ids))
        known = np.flatnonzero(judgments >= 0)
        grades = np.zeros(len(docs), dtype=np.int64)
        grades[known] = qrels.grades[judgments[known]]
        return cls(
            qrels.query_ids,
            offsets,
            grades,
            qrels.offsets,
            qrels.grades,
            doc_ids,
            docs,
            pool_docs,
            None if ranks is None else _located(qrels, ranks),
            known,
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
    def ideal(self) -> Ints:
        """(N,) the grades of each query's rows, best first."""
        return self.grades[np.lexsort((-self.grades, self.queries))]

    def rows(self, at: Ints) -> Rows:
        """The rows of these numbers."""
        queries = np.searchsorted(self.offsets, at, side="right") - 1
        return Rows(queries, at - self.offsets[queries] + 1, self.grades[at])

    @cached_property
    def hits(self) -> Rows:
        """The rows whose document is judged: few, and all that most measures look at."""
        return self.rows(np.arange(len(self.grades)) if self.known is None else self.known)

    @cached_property
    def exact(self) -> Rows:
        """The judged documents that stand anywhere in the whole ranking, as far as it is known.

        Those of the run; and where exact ranks were kept beside a cut run, those below its cut.
        """
        if self.located is None:
            return self.hits
        width = len(self.doc_ids)
        rows = np.arange(len(self.docs)) if self.known is None else self.known
        listed = self.hits.queries * width + self.docs[rows]
        order = np.argsort(listed)
        wanted = self.pool_queries * width + self.pool_docs
        at = np.minimum(np.searchsorted(listed[order], wanted), max(len(listed) - 1, 0))
        best = self.located.copy()
        if len(listed):
            found = listed[order][at] == wanted
            best[found] = np.minimum(best[found], self.hits.ranks[order][at[found]])
        somewhere = np.flatnonzero(np.isfinite(best))
        somewhere = somewhere[np.lexsort((best[somewhere], self.pool_queries[somewhere]))]
        ranks = best[somewhere].astype(np.int64)
        return Rows(self.pool_queries[somewhere], ranks, self.pool_grades[somewhere])

    @cached_property
    def pool(self) -> tuple[Ints, Ints, Ints]:
        """(query, rank, grade) of every judgment in each query's best order; each (M,)."""
        queries = self.pool_queries
        order = np.lexsort((-self.pool_grades, queries))
        return queries, within(self.pool_offsets), self.pool_grades[order]

    def sum(self, values: Floats) -> Floats:
        """(Q,) per-query sums of a value per row."""
        return sums(self.queries, values, len(self.query_ids))


def sums(groups: Ints, values: Floats, count: int) -> Floats:
    """(count,) sum of the values of each group."""
    return np.bincount(groups, weights=values, minlength=count).astype(np.float64)


def within(offsets: Ints) -> Ints:
    """Place of each item within its group, from 1, for groups laid end to end."""
    return np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], np.diff(offsets))


def look_up(
    offsets: Ints, docs: NDArray[np.integer[Any]], pool_offsets: Ints, pool_docs: Ints, width: int
) -> NDArray[np.int32]:
    """Finds each row's document among those that a pool has for the same query.

    It goes query by query through a table of all documents: to sort or search millions of rows by
    query and document takes many times longer.

    Args:
        offsets: (Q+1,) positions in `docs`.
        docs: (N,) documents of the rows.
        pool_offsets: (Q+1,) positions in `pool_docs`.
        pool_docs: (M,) documents of the pool, none twice for a query.
        width: number of all documents.

    Returns:
        (N,) position in `pool_docs`, or -1 where the document is not there for the row's query.
    """
    found = np.empty(len(docs), dtype=np.int32)
    table = np.full(width, -1, dtype=np.int32)
    places = np.arange(len(pool_docs), dtype=np.int32)
    bounds = zip(pairwise(offsets.tolist()), pairwise(pool_offsets.tolist()), strict=True)
    for (start, stop), (first, last) in bounds:
        if start < stop:
            pool = pool_docs[first:last]
            table[pool] = places[first:last]
            # Nothing is out of bounds: "clip" is what lets numpy write in place.
            table.take(docs[start:stop], out=found[start:stop], mode="clip")
            table[pool] = -1
    return found


def _located(qrels: Qrels, ranks: Ranks) -> Floats:
    none: Mapping[str, int] = {}
    return np.array(
        [ranks.get(row.query_id, none).get(row.doc_id, np.inf) for row in qrels], dtype=np.float64
    )

"""A run laid against qrels: the arrays every measure of ours is computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from irtoolkit.ids import Ids, Ints, offsets_of, translate
from irtoolkit.qrels import Qrels
from irtoolkit.runs import Run

Floats = NDArray[np.float64]
# Query id to document id to rank over all candidates, from 1.
Ranks = Mapping[str, Mapping[str, int]]


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
    """

    query_ids: Ids
    offsets: Ints
    grades: Ints
    pool_offsets: Ints
    pool_grades: Ints
    doc_ids: Ids = field(default_factory=lambda: np.empty(0, dtype=object))
    docs: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    pool_docs: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    located: Floats | None = None

    @classmethod
    def lay(cls, run: Run, qrels: Qrels, ranks: Ranks | None = None) -> JudgedRun:
        """Joins the rows of `run` with the judgments of `qrels`, and perhaps with exact ranks."""
        query_of = translate(run.query_ids, qrels.query_ids)[run.queries]
        kept = np.flatnonzero(query_of >= 0)
        # Rows keep their rank order inside a query while queries take the qrels' order.
        kept = kept[np.argsort(query_of[kept], kind="stable")]
        queries = query_of[kept]
        # Judged documents first, then those that only the run has.
        place = translate(run.doc_ids, qrels.doc_ids)
        unjudged = np.flatnonzero(place < 0)
        place[unjudged] = len(qrels.doc_ids) + np.arange(len(unjudged))
        doc_ids = np.concatenate([qrels.doc_ids, run.doc_ids[unjudged]])
        docs = place[run.docs[kept]]
        width = len(doc_ids) + 1
        judged = np.repeat(np.arange(len(qrels.query_ids)), np.diff(qrels.offsets))
        keys = judged * width + qrels.docs
        order = np.argsort(keys)
        keys, judged_grades = keys[order], qrels.grades[order]
        wanted = queries * width + docs
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        found = keys[at] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
        grades = np.where(found, judged_grades[at], 0) if len(keys) else np.zeros_like(wanted)
        offsets = offsets_of(queries, len(qrels.query_ids))
        return cls(
            qrels.query_ids,
            offsets,
            grades,
            qrels.offsets,
            qrels.grades,
            doc_ids,
            docs,
            qrels.docs,
            None if ranks is None else _located(qrels, ranks),
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


def _located(qrels: Qrels, ranks: Ranks) -> Floats:
    none: Mapping[str, int] = {}
    return np.array(
        [ranks.get(row.query_id, none).get(row.doc_id, np.inf) for row in qrels], dtype=np.float64
    )

"""A run laid against qrels: the arrays every measure of ours is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from irtoolkit.ids import Ids, Ints, offsets_of, translate
from irtoolkit.qrels import Qrels
from irtoolkit.runs import Run

Floats = NDArray[np.float64]


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
    """

    query_ids: Ids
    offsets: Ints
    grades: Ints
    pool_offsets: Ints
    pool_grades: Ints

    @classmethod
    def lay(cls, run: Run, qrels: Qrels) -> JudgedRun:
        """Joins the rows of `run` with the judgments of `qrels`."""
        query_of = translate(run.query_ids, qrels.query_ids)[run.queries]
        kept = np.flatnonzero(query_of >= 0)
        # Rows keep their rank order inside a query while queries take the qrels' order.
        kept = kept[np.argsort(query_of[kept], kind="stable")]
        queries = query_of[kept]
        docs = translate(run.doc_ids, qrels.doc_ids)[run.docs[kept]]
        width = len(qrels.doc_ids) + 1
        judged = np.repeat(np.arange(len(qrels.query_ids)), np.diff(qrels.offsets))
        keys = judged * width + qrels.docs
        order = np.argsort(keys)
        wanted = queries * width + np.where(docs < 0, width - 1, docs)
        at = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
        found = keys[order][at] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
        grades = np.where(found, qrels.grades[order][at], 0) if len(keys) else np.zeros_like(wanted)
        offsets = offsets_of(queries, len(qrels.query_ids))
        return cls(qrels.query_ids, offsets, grades, qrels.offsets, qrels.grades)

    @cached_property
    def queries(self) -> Ints:
        """(N,) index of each row's query."""
        return np.repeat(np.arange(len(self.query_ids)), self.counts)

    @cached_property
    def ranks(self) -> Ints:
        """(N,) rank of each row within its query, from 1."""
        return np.arange(1, len(self.grades) + 1) - np.repeat(self.offsets[:-1], self.counts)

    @cached_property
    def counts(self) -> Ints:
        """(Q,) number of rows of each query."""
        return np.diff(self.offsets)

    @cached_property
    def ideal(self) -> Ints:
        """(N,) the grades of each query's rows, best first."""
        return self.grades[np.lexsort((-self.grades, self.queries))]

    @cached_property
    def pool(self) -> tuple[Ints, Ints, Ints]:
        """(query, rank, grade) of every judgment in each query's best order; each (M,)."""
        counts = np.diff(self.pool_offsets)
        queries = np.repeat(np.arange(len(self.query_ids)), counts)
        order = np.lexsort((-self.pool_grades, queries))
        ranks = np.arange(1, len(order) + 1) - np.repeat(self.pool_offsets[:-1], counts)
        return queries, ranks, self.pool_grades[order]

    def sum(self, values: Floats) -> Floats:
        """(Q,) per-query sums of a value per row."""
        return sums(self.queries, values, len(self.query_ids))


def sums(groups: Ints, values: Floats, count: int) -> Floats:
    """(count,) sum of the values of each group."""
    return np.bincount(groups, weights=values, minlength=count).astype(np.float64)

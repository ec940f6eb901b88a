"""Exact search on a GPU: products in half precision propose, double precision decides.

The documents stay on the GPU. A block of products in fp16 is made at a time, and one pass over it keeps
the documents that may be among the best and counts those above each wanted document. How far off such a
product can be is known (see `GpuVectors.off`), so that nothing is missed. What is kept is computed in
double precision, rounded to fp32 and ordered on the GPU by score and tie: ids, scores and ranks come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.indexes.nearest import BestDocuments
from irtoolkit.models.halving import in_halves
from irtoolkit.models.loading import torch_device
from irtoolkit.retrievers.base import ScoreMatrix
from irtoolkit.retrievers.gpu_pass import SearchPass
from irtoolkit.retrievers.gpu_vectors import GpuVectors
from irtoolkit.retrievers.vectors import Vectors, unit
from irtoolkit.runs.order import Ties
from irtoolkit.runs.top_k import TieOrder

# Fewer candidates are not worth a search: their scores are copied from the GPU.
SEARCHED = 1 << 14
# Queries that are searched in one pass over the documents.
QUERIES = 1 << 12


@dataclass(frozen=True, eq=False)
class GpuSearch:
    """Some queries, whose best documents are found on the GPU.

    Attributes:
        docs: gives the documents.
        queries: (q, dimensions) as they are multiplied.
        score: makes the (q, c) scores of all documents, where all are needed.
    """

    docs: Callable[[], GpuVectors]
    queries: Vectors
    score: Callable[[], ScoreMatrix]

    ties: ClassVar[Sequence[Ties]] = ("trec", "best")

    def every(self) -> ScoreMatrix:
        """Returns the (q, c) scores of all documents."""
        return self.score()

    def best(
        self, tied: TieOrder, depth: int, rows: Ints, places: Ints, fill: bool = True
    ) -> BestDocuments:
        """The best documents of each query, and the ranks of wanted ones.

        Args:
            tied: order of equally scored documents.
            depth: how many of each query; no more than there are.
            rows, places: (w,) query, ascending, and place of each wanted document.
            fill: not read: all documents have a score.

        Raises:
            InputError: the GPU's memory does not suffice for one query.
        """
        count = len(self.queries)
        docs = self.docs()
        documents: Any = docs.empty((count, depth), np.int32)
        scores = docs.empty((count, depth), np.float32)
        ranks, above = np.empty((2, len(rows)), np.int64)
        order = docs.tied(tied)

        def part(first: int, last: int) -> None:
            begin, end = np.searchsorted(rows, [first, last])
            block_pairs = rows[begin:end] - first, places[begin:end]
            search = SearchPass(docs, self.queries[first:last], order, depth, *block_pairs)
            search.best(documents[first:last], scores[first:last])
            ranks[begin:end], above[begin:end] = search.ranks()

        for first in range(0, count, QUERIES):
            in_halves(part, first, min(count, first + QUERIES), "the queries of a search")
        return BestDocuments(documents, scores, ranks, above)


def searching(
    docs: Vectors, similarity: str, device: str | None,
    compare: Callable[[], Callable[[Vectors], ScoreMatrix]],
) -> Callable[[Vectors], GpuSearch]:  # fmt: skip
    """Returns a function that searches documents for queries on a GPU.

    Args:
        docs: (c, dimensions).
        similarity: "cosine" or "dot".
        device: a torch device; by default this process's GPU.
        compare: gives what makes the scores of all documents.
    """
    cosine = similarity == "cosine"
    on_device = cache(lambda: GpuVectors(unit(docs) if cosine else docs, torch_device(device)))

    def search(queries: Vectors) -> GpuSearch:
        vectors = unit(queries) if cosine else queries
        return GpuSearch(on_device, vectors, lambda: compare()(queries))

    return search

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
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints, Singles
from irtoolkit.indexes.nearest import BestDocuments
from irtoolkit.models.batches import in_halves
from irtoolkit.models.loading import torch_device
from irtoolkit.retrievers.base import ScoreMatrix
from irtoolkit.retrievers.gpu_pass import SearchPass
from irtoolkit.retrievers.gpu_vectors import GpuVectors, free_bytes, kernels
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


# Products that plain torch makes at once.
_CELLS = 1 << 28
# Tokens of a query that the fused kernel takes.
_LONGEST = 256


class GpuTokens:
    """The token vectors of some documents on a GPU, without padding.

    Args:
        vectors: (t, dimensions) of all documents end to end.
        starts: (n+1,) where each document's begin.
        device: a torch device.
    """

    def __init__(self, vectors: NDArray[np.floating[Any]], starts: Ints, device: str) -> None:
        import torch

        self._device = torch.device(device)
        self._vectors = _half(vectors, self._device)
        self._starts = torch.from_numpy(np.ascontiguousarray(starts, np.int64)).to(self._device)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def maxsim(self, queries: Singles, starts: Ints) -> Singles:
        """(q, n) scores of queries given by their token vectors, which are brought to half precision."""
        import torch

        vectors = _half(queries, self._device)
        counts = torch.from_numpy(np.diff(starts)).to(self._device)
        longest = max(16, 1 << (int(np.diff(starts).max()) - 1).bit_length())
        padded = vectors.new_zeros((len(counts), longest, vectors.shape[1]))
        padded[torch.arange(longest, device=self._device) < counts[:, None]] = vectors
        # Memory that the GPU writes to fastest.
        scores = torch.empty((len(counts), len(self)), pin_memory=self._device.type == "cuda")
        fused = kernels(self._device.type if longest <= _LONGEST else "cpu")

        def part(first: int, last: int) -> None:
            similarities = fused.maxsim(
                self._vectors, self._starts, padded[first:last], counts[first:last]
            )
            scores[first:last].copy_(similarities)

        # Plain torch holds all products; the kernel holds none.
        whole = fused.__name__.endswith("kernels")
        step = len(counts) if whole else max(1, _CELLS // (longest * max(1, len(self._vectors))))
        for first in range(0, len(counts), step):
            in_halves(part, first, min(len(counts), first + step), "the queries of MaxSim")
        return np.asarray(scores.numpy())


def fits(tokens: int, width: int, device: str) -> bool:
    """Whether there is memory for so many more token vectors, and as much again for work."""
    import torch

    return 4 * tokens * _padded(width) <= free_bytes(torch.device(device))


def _half(vectors: NDArray[np.floating[Any]], device: Any) -> Any:
    """(t, width) in half precision on a device, filled with zeros to a width that kernels take."""
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(vectors)).to(device).half()
    return torch.nn.functional.pad(tensor, (0, _padded(vectors.shape[1]) - vectors.shape[1]))


def _padded(width: int) -> int:
    """A width of at least so many dimensions: a power of two, or a multiple of 128."""
    return max(16, 1 << (width - 1).bit_length()) if width <= 128 else -(-width // 128) * 128

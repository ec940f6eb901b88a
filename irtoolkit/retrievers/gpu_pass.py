"""One pass of exact search on a GPU over all documents; see `irtoolkit.retrievers.gpu_search`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Ints, Singles
from irtoolkit.retrievers.gpu_vectors import GpuVectors, kernels
from irtoolkit.retrievers.vectors import Vectors

# Documents that are compared at once where they do not fit into the GPU's memory.
_STREAMED = 1 << 16
# Documents of which the first products are made, to guess how high the best are.
_SAMPLE = 1 << 15
# Products of a row that are kept together.
_PART = 32
# Documents near a wanted one that are held for each, and for all together.
_NEAR, _ALL_NEAR = 1 << 16, 1 << 27
# Passes after which a query's documents are all computed in double precision.
_PASSES = 3


class ProductParts(NamedTuple):
    """Parts of rows of products: (q, room) first documents, (q, room, size) products, (q,) how many."""

    docs: Any
    values: Any
    counts: Any


class Kept(NamedTuple):
    """Documents that may be among the best: (q, room) numbers and products, and (q,) how many."""

    docs: Any
    values: Any
    counts: Any


class Wanted(NamedTuple):
    """Wanted documents by their query.

    Attributes:
        starts: (q+1,) where each query's begin.
        low, high: (w,) products between which a document may have an equal score.
        above: (w,) documents above that.
        near: (w, room) first documents of parts in which some are between them.
        bits: (w, room) which of each part.
        counts: (w,) how many parts.
    """

    starts: Any
    low: Any
    high: Any
    above: Any
    near: Any
    bits: Any
    counts: Any


class SearchPass:
    """One search for some queries."""

    def __init__(
        self, docs: GpuVectors, queries: Vectors, order: tuple[Any, Any], depth: int, rows: Ints,
        places: Ints,
    ) -> None:  # fmt: skip
        import torch

        self._docs, self._depth = docs, depth
        self._low, self._second = order
        self._asked = docs.ask(queries)
        device = docs.device
        self._rows = torch.from_numpy(np.ascontiguousarray(rows)).to(device)
        self._places = torch.from_numpy(np.ascontiguousarray(places)).to(device)
        self._targets = docs.exact(self._asked, self._rows, self._places)
        self._keys = self._key(self._targets, self._places)
        all_queries = torch.arange(len(queries), device=device)
        self._best = torch.empty((len(queries), depth), dtype=torch.int64, device=device)
        self._above = torch.zeros((2, len(rows)), dtype=torch.int64, device=device)
        self._search(
            all_queries, torch.arange(len(rows), device=device), self._first_guess(), _PASSES
        )

    # -- results ------------------------------------------------------------------------------

    def best(self, places: NDArray[np.int32], scores: Singles) -> None:
        """Fills in the (q, k) places and scores of the best documents."""
        import torch

        positions = self._second[len(self._second) - 1 - (self._best & 0xFFFFFFFF)]
        bits = (self._best >> 32).int()
        torch.from_numpy(places).copy_(positions, non_blocking=True)
        bits = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
        torch.from_numpy(scores).copy_(bits.view(torch.float32), non_blocking=True)

    def ranks(self) -> tuple[Ints, Ints]:
        """(w,) ranks of wanted documents, and how many have greater scores."""
        self._docs.wait()
        before, above = self._above.cpu().numpy()
        return before + 1, above

    # -- the search ---------------------------------------------------------------------------

    def _first_guess(self) -> tuple[Any, int]:
        """(q,) products that somewhat more than the best documents should have, and for how many."""
        total = len(self._docs)
        sample = self._docs.sample(_SAMPLE)
        share = len(sample) / total
        expected = self._depth * share
        rank = min(len(sample), int(1.25 * expected + 4 * expected**0.5) + 2)
        products = kernels(sample.device.type).product(self._asked.half, sample)
        least = products.topk(rank, dim=1, sorted=False).values.amin(dim=1).float()
        return least, min(total, int(2 * rank / share) + 256)

    def _search(self, rows: Any, targets: Any, guess: tuple[Any, int], passes: int) -> None:
        """Searches for some of the queries; again, with another guess, where one was wrong.

        To select by a mask waits for the GPU, so that it is done once, or where something was wrong.

        Args:
            rows: numbers of the queries.
            targets: numbers of their wanted documents.
            guess: as of `_first_guess`.
            passes: how often may be searched, this time included.
        """
        import torch

        least, room = guess
        candidates, near = self._sifted(rows, targets, least, room)
        counts = candidates.counts.clamp(max=room)
        is_filled = torch.arange(room, device=rows.device) < counts[:, None]
        values = torch.where(is_filled, candidates.values, -torch.inf)
        enough = counts >= self._depth
        kth = values.topk(self._depth, dim=1, sorted=False).values.amin(dim=1)
        bound = kth - 2 * self._asked.off(kth, rows)
        crowded = near.counts > near.near.shape[1]
        right = enough & (least <= bound) & (candidates.counts <= room)
        chosen = is_filled & (values >= bound[:, None]) & right[:, None]
        done = right.nonzero()[:, 0]
        self._finish(rows, done, candidates.docs, chosen)
        all_of = rows[:0]
        if len(targets):
            self._count(targets, near, ~crowded)
            all_of = self._rows[targets[crowded]]
        if len(done) < len(rows):
            wrong = rows[~right]
            if passes > 1:
                # Of too few all documents are kept next, of too many the best of those that were seen.
                again = torch.where(enough, bound, -torch.inf)[~right]
                room = min(len(self._docs), 8 * room)
                self._search(wrong, self._rows_of(wrong), (again, room), passes - 1)
            else:
                all_of = torch.cat([wrong, all_of])
        for row in all_of.unique().tolist() if len(all_of) else ():
            self._compute_all(row)

    def _sifted(self, rows: Any, numbers: Any, least: Any, room: int) -> tuple[Kept, Wanted]:
        import torch

        device, half = rows.device, self._asked.half[rows]

        def zeros(*shape: int) -> Any:
            return torch.zeros(shape, dtype=torch.int32, device=device)

        def empty(kind: Any, *shape: int) -> Any:
            return torch.empty(shape, dtype=kind, device=device)

        count = len(rows)
        parts = ProductParts(
            empty(torch.int32, count, room), empty(torch.float16, count, room, _PART), zeros(count)
        )
        targets, target_rows = self._targets[numbers], self._rows[numbers]
        middle = (targets * self._asked.scales[target_rows]).float()
        off = self._asked.off(middle, target_rows)
        many = max(1, min(_NEAR, _ALL_NEAR // max(1, len(numbers)), len(self._docs)))
        local = torch.searchsorted(rows, target_rows)
        starts = torch.searchsorted(local, torch.arange(len(rows) + 1, device=device)).int()
        near = Wanted(
            starts,
            middle - off,
            middle + off,
            zeros(len(numbers)),
            empty(torch.int32, len(numbers), many),
            empty(torch.int32, len(numbers), many),
            zeros(len(numbers)),
        )
        kernel = kernels(device.type)
        for first, block in self._docs.blocks(_STREAMED):
            kernel.propose(half, block, first, least, parts, near)
        candidates = Kept(zeros(count, room), empty(torch.float32, count, room), zeros(count))
        kernel.unpack(parts, least, candidates)
        # Of parts that found no place nothing is known.
        candidates.counts.add_(torch.where(parts.counts > room, room + 1, 0).int())
        return candidates, near

    def _rows_of(self, rows: Any) -> Any:
        """The numbers of the wanted documents of some queries."""
        import torch

        return torch.isin(self._rows, rows).nonzero()[:, 0]

    def _finish(self, rows: Any, done: Any, docs: Any, chosen: Any) -> None:
        """Orders the chosen documents of the queries whose guess was right, given by their places."""
        import torch

        row, column = chosen.nonzero(as_tuple=True)
        documents = docs[row, column]
        many = chosen.sum(1)
        within = torch.arange(len(row), device=rows.device) - (many.cumsum(0) - many)[row]
        least = torch.iinfo(torch.int64).min
        keys = torch.full((len(rows), max(self._depth, int(many.max()))), least, device=rows.device)
        keys[row, within] = self._key(
            self._docs.exact(self._asked, rows[row], documents), documents
        )
        ordered = keys.sort(dim=1, descending=True).values[:, : self._depth]
        self._best[rows[done]] = ordered[done]

    def _count(self, numbers: Any, near: Wanted, counted: Any) -> None:
        """Counts what is before some wanted documents."""
        import torch

        room = near.near.shape[1]
        is_filled = torch.arange(room, device=numbers.device) < near.counts[:, None]
        number, column = (is_filled & counted[:, None]).nonzero(as_tuple=True)
        bits = torch.arange(_PART, device=numbers.device)
        part, within = (near.bits[number, column][:, None] >> bits & 1).nonzero(as_tuple=True)
        documents = near.near[number, column][part] + within.int()
        target = numbers[number[part]]
        scores = self._docs.exact(self._asked, self._rows[target], documents)
        before = self._key(scores, documents) > self._keys[target]
        greater = scores > self._targets[target]
        for into, is_ahead in zip(self._above, (before, greater), strict=True):
            into[numbers] = near.above.long()
            into.index_add_(0, target, is_ahead.long())

    def _compute_all(self, row: int) -> None:
        """Computes all documents of a query in double precision, where too many are near."""
        import torch

        documents = torch.arange(len(self._docs), device=self._rows.device)
        scores = self._docs.exact(self._asked, torch.full_like(documents, row), documents)
        keys = self._key(scores, documents)
        self._best[row] = keys.topk(self._depth, sorted=True).values
        for target in (self._rows == row).nonzero()[:, 0].tolist():
            self._above[0, target] = (keys > self._keys[target]).sum()
            self._above[1, target] = (scores > self._targets[target]).sum()

    def _key(self, scores: Any, places: Any) -> Any:
        """(n,) whole numbers in the order of scores, and of ties where scores are equal."""
        import torch

        bits = (scores + 0.0).view(torch.int32)  # of the two zeros one is left
        order = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
        return (order << 32) | self._low[places.long()].long()

"""Exact search of vectors in memory: products in few bits propose documents, exact scores decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.cores import cores
from irtoolkit.base.ids import Floats, Ints, Singles
from irtoolkit.base.rows import by_rows
from irtoolkit.base.threads import one_thread_each
from irtoolkit.indexes.comparison import QueryVectors
from irtoolkit.indexes.proposals import LONGEST, ProductBlock, Proposals
from irtoolkit.indexes.vectors import VectorShard
from irtoolkit.runs.order import Ties
from irtoolkit.runs.top_k import TieOrder, before, first_unwritable, top_k, top_k_of_some

# Queries that are searched at once, and bytes of what all cores keep of them.
_QUERIES, _KEPT = 512, 1 << 28
# Fewer documents, or fewer for each that is listed, are all scored exactly: that takes less time.
_MANY, _FEW = 1 << 13, 8
# Exact scores held at once.
_CELLS = 1 << 25
_EVERY = np.empty(0, np.uint8)


class BestDocuments(NamedTuple):
    """The result of a search.

    Attributes:
        places: (q, k) places of the best documents, the best first; -1 where there are fewer.
        scores: (q, k) their scores, as they are written.
        ranks: (w,) of wanted documents, from 1; equal scores by the order of ties.
        above: (w,) how many documents have greater scores.
    """

    places: Ints
    scores: Singles
    ranks: Ints
    above: Ints


class ShardSearch:
    """A shard in memory of documents with one vector each, compared by the cosine or the product."""

    def __init__(self, shard: VectorShard) -> None:
        self.shard = shard
        self._known: dict[bool, Proposals] = {}

    def _searches(self, queries: QueryVectors, depth: int) -> bool:
        """Whether proposals are worth their time, and no product of them can overflow."""
        longest = max(self.shard.longest, float(np.sqrt(queries.squares.max(initial=0))))
        is_large = len(self.shard) >= max(_MANY, _FEW * depth)
        return is_large and queries.comparison.similarity != "l2" and longest < LONGEST

    def best(
        self, queries: QueryVectors, tied: TieOrder, depth: int, pairs: tuple[Ints, Ints]
    ) -> BestDocuments:
        """Returns the best documents of each query, and the ranks of `pairs`.

        Args:
            queries: their vectors.
            tied: order of equally scored documents.
            depth: how many of each query; no more than there are.
            pairs: (w,) query, ascending, and (w,) position of each document to rank.
        """
        rows, places = pairs
        searches, parts = self._searches(queries, depth), []
        cosine = queries.comparison.similarity == "cosine"
        most = _KEPT // (cores() * 12 * _room(depth)) if searches else _CELLS // len(self.shard)
        step = max(1, min(_QUERIES, most))
        for first in range(0, queries.size, step):
            last = min(queries.size, first + step)
            begin, end = np.searchsorted(rows, [first, last])
            block = queries.some(first, last)
            targets = rows[begin:end] - first, places[begin:end]
            if searches:
                search = _Search(self.shard, block, tied, depth)
                parts.append(search.run(self._proposals(cosine), targets))
            else:
                scores = block.comparison.scores(block, self.shard)
                parts.append(_best_of_all(scores, tied, depth, targets))
        return BestDocuments(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _proposals(self, cosine: bool) -> Proposals:
        """Returns what multiplies the vectors of the shard, and stays with this search."""
        if cosine not in self._known:
            self._known[cosine] = Proposals(self.shard, cosine)
        return self._known[cosine]


@dataclass(frozen=True, eq=False)
class Searched:
    """Queries whose best documents of a shard are computed on demand.

    Attributes:
        search: searches the shard.
        queries: their vectors.
    """

    search: ShardSearch
    queries: QueryVectors

    ties: ClassVar[Sequence[Ties]] = ("trec", "best")

    def every(self) -> Floats:
        """Returns the (q, c) scores of all documents."""
        return self.queries.comparison.scores(self.queries, self.search.shard)

    def best(
        self, tied: TieOrder, depth: int, rows: Ints, places: Ints, fill: bool = True
    ) -> BestDocuments:
        """Returns the best documents of each query, and the ranks of `pairs`; see `ShardSearch`."""
        return self.search.best(self.queries, tied, depth, (rows, places))


def _best_of_all(
    scores: Floats, tied: TieOrder, depth: int, pairs: tuple[Ints, Ints]
) -> BestDocuments:
    """Returns the best of documents that all have their scores; of a row with one that is not
    finite, that one comes first."""
    bad = first_unwritable(scores)
    if bad is not None:
        row, position = bad
        value, scores = scores[row, position], np.zeros_like(scores)
        places, written = top_k(scores, tied, depth)
        places[row, 0], written[row, 0] = position, value
    else:
        places, written = top_k(scores, tied, depth)
    counts, greater = before(scores, tied, *pairs)
    return BestDocuments(places, written, counts + 1, greater)


class _Search:
    """A search for some queries, whose products with all documents are looked through once."""

    def __init__(
        self, shard: VectorShard, queries: QueryVectors, tied: TieOrder, depth: int
    ) -> None:
        from irtoolkit.indexes import _compiled_exact as compiled

        self._shard, self._queries, self._tied, self._depth = shard, queries, tied, depth
        self._asked = queries.vectors, queries.doubles, queries.squares
        self._docs = shard.singles, np.asarray(shard.squares)
        cosine = queries.comparison.similarity == "cosine"
        self._kind = compiled.COSINE if cosine else compiled.DOT

    def run(
        self, proposals: Proposals, pairs: tuple[Ints, Ints], guessed: bool = True
    ) -> BestDocuments:
        """Returns the best documents, and the ranks of `pairs`."""
        targets = _Targets(pairs, self._tied, self._exact)
        candidates, (before, greater) = self._propose(proposals, targets, guessed)
        counts = np.where(candidates.is_crowded, 0, candidates.counts).clip(0)
        documents = candidates.documents[:, : counts.max(initial=0)]
        exact = self._exact(slice(None), documents, counts)
        places, scores = top_k_of_some(exact, documents, counts, self._tied, self._depth)
        self._again(proposals, candidates, places, scores)
        return BestDocuments(places, scores, before + 1, greater)

    def _propose(
        self, proposals: Proposals, targets: _Targets, guessed: bool
    ) -> tuple[PossibleBest, tuple[Ints, Ints]]:
        """Returns what may be among the best, and how many documents come before each target and how
        many have greater scores.

        Each core looks through some documents. A block of their products stays in its cache.
        """
        factors = proposals.factors(self._queries.rows)
        with one_thread_each("blas"):
            nothing = np.full(self._queries.size, -np.inf)
            guess = proposals.guess(factors, self._depth) if guessed else nothing

            def part(docs: slice) -> tuple[PossibleBest, Ints]:
                candidates, counts = (
                    PossibleBest(guess, self._depth),
                    np.zeros((2, targets.size), np.int64),
                )
                for block in proposals.blocks(factors, docs):
                    candidates.take(block)
                    if targets.size:
                        counts += self._count(block, targets)
                return candidates, counts

            parts = by_rows(part, self._shard.vectors, len(self._shard), slices=1)
        candidates, (before, greater) = parts[0]
        for later, counts in parts[1:]:
            candidates.merge(later)
            before, greater = before + counts[0], greater + counts[1]
        candidates.finish()
        return candidates, (before, greater)

    def _exact(self, rows: Any, places: Any, counts: Ints) -> Floats:
        """(r, m) scores of so many documents of some queries, ascending; the rest are -inf."""
        queries = tuple(array[rows] for array in self._asked[1:])
        out = np.full(places.shape, -np.inf)

        from irtoolkit.indexes._compiled_exact import exact_rows

        def part(docs: slice) -> None:
            exact_rows(
                queries, self._docs, self._kind, (places, counts), docs.start, docs.stop, out
            )

        by_rows(part, out, len(self._shard))
        return out

    def _count(self, block: ProductBlock, targets: _Targets) -> Any:
        """Counts the documents before each target."""
        from irtoolkit.indexes._compiled_nearest import count_before

        exact = self._asked, self._docs, self._kind
        return count_before(block.bits, block.first, block.off, exact, targets.arrays)

    def _again(
        self, proposals: Proposals, candidates: PossibleBest, places: Ints, scores: Singles
    ) -> None:
        """Fills in the best of queries whose guess was too high, or of which too many documents tie."""
        wrong = np.flatnonzero(candidates.counts < 0)
        if len(wrong):
            search = _Search(self._shard, self._queries.chosen(wrong), self._tied, self._depth)
            nothing = np.empty(0, np.int64), np.empty(0, np.int64)
            best = search.run(proposals, nothing, guessed=False)
            places[wrong], scores[wrong] = best.places, best.scores
        for row in np.flatnonzero(candidates.is_crowded).tolist():
            query = self._queries.some(row, row + 1)
            whole = query.comparison.scores(query, self._shard)
            (places[row],), (scores[row],) = top_k(whole, self._tied, self._depth)


class PossibleBest:
    """The documents that may be among the best of some queries.

    Args:
        guess: (q,) a score that at least `depth` documents should reach; -inf without a guess.
        depth: number of documents of each query; no more than there are.
    """

    def __init__(self, guess: Floats, depth: int) -> None:
        room = _room(depth)
        self._depth, self._guess = depth, guess
        self.documents = np.empty((len(guess), room), np.int32)
        self._lower, self._upper = np.empty((2, len(guess), room), np.float32)
        self.counts = np.zeros(len(guess), np.int64)
        self._least = guess.copy()

    def take(self, block: ProductBlock, base: int = 0, live: NDArray[np.uint8] = _EVERY) -> None:
        """Keeps what may be among the best of a block of products.

        Args:
            block: the products.
            base: the number of the first document of the block's shard.
            live: (b,) 1 for each document that may be found; by default all may.
        """
        from irtoolkit.indexes._compiled_nearest import sift

        def part(rows: slice) -> None:
            off = block.off[0][rows], block.off[1][rows]
            sift(block.bits[rows], base + block.first, live, off, *self._rows(rows))

        by_rows(part, block.bits)

    def merge(self, later: PossibleBest) -> None:
        """Keeps what another has kept of later documents, too."""
        from irtoolkit.indexes._compiled_nearest import merge

        by_rows(lambda rows: merge(later._rows(rows)[0], *self._rows(rows)), self.documents)

    def finish(self) -> None:
        """Drops what cannot be among the best; the count of a query whose guess was too high is -1."""
        from irtoolkit.indexes._compiled_nearest import finish

        by_rows(
            lambda rows: finish(self._rows(rows)[0], self._depth, self._guess[rows]), self.documents
        )

    @property
    def is_crowded(self) -> NDArray[np.bool_]:
        """(q,) whether more documents tie, or nearly so, than there is room for."""
        return self.counts > self.documents.shape[1]

    def _rows(self, rows: slice) -> Any:
        """Returns the arrays of some queries, as the compiled loops take them."""
        arrays = self.documents, self._lower, self._upper, self.counts
        return tuple(array[rows] for array in arrays), (self._least[rows], self._depth)


def _room(depth: int) -> int:
    """Returns the number of candidates to keep for so many results."""
    return 3 * depth + 512


class _Targets:
    """Documents whose ranks are wanted."""

    def __init__(
        self, pairs: tuple[Ints, Ints], tied: TieOrder, exact: Callable[..., Floats]
    ) -> None:
        self._rows, places = pairs
        self._order = tied.places if len(places) else np.empty(0, np.uint32)
        self._own = self._order[places]
        ones = np.ones(len(places), np.int64)
        self.scores = exact(self._rows, places[:, None], ones)[:, 0]
        self.size = len(places)

    @property
    def arrays(self) -> Any:
        """Them as the compiled loops take them."""
        return self._rows, self.scores, self._own, self._order

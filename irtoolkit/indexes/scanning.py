"""Search that scores every document: for formulas that dynamic pruning does not serve.

Scores do not depend on how documents are split into shards: each document's is computed from its own
postings, always in one order, and from statistics that are sums over shards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.base.rows import in_threads
from irtoolkit.indexes import few
from irtoolkit.indexes.few import How
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.sharded import Sharded, Targets, least_keys
from irtoolkit.indexes.shards import OpenShard
from irtoolkit.indexes.strings import Strings
from irtoolkit.runs.order import TopDocuments, best_first

# Binary digits of a summand behind the first of a query's greatest scale.
_DIGITS = 40
# Documents that are kept in mind at least while a shard is searched.
_ROOM = 1 << 10
# Numbers that a class of postings may have, so that damage does not lead out of a table.
_CLASSES = 1 << 16


class ScannedQuery(NamedTuple):
    """A query under a formula.

    Attributes:
        keys: its terms, as the shards know them, in an order that is the same for all shards.
        scales: what the summand of each term is multiplied by.
        rates: a factor of each term within a logarithm.
        times: how often the number is added that a document has of its own.
        everywhere: what all documents score.
    """

    keys: Any
    scales: Floats
    rates: Floats
    times: float = 0.0
    everywhere: float = 0.0


@dataclass(frozen=True)
class ScannedShard:
    """A shard whose documents are all scored.

    Attributes:
        docs: its documents.
        arrays: (starts, documents, values, live); see `_compiled_scan`.
        places: the number of each term in the shard, or -1.
        table: (classes,) what a class of postings means.
        own: (d,) a number that each document has of its own; empty without.
    """

    docs: OpenShard
    arrays: tuple[Any, ...]
    places: Callable[[Any], Ints]
    table: Floats
    own: Floats

    @classmethod
    def of(cls, part: PostingsShard, table: Any, own: Any) -> ScannedShard:
        """Returns a shard of postings with the value of each class, and a number of each document."""
        classes = np.zeros(max(len(table), _CLASSES))
        classes[: len(table)] = table
        return cls(
            part.docs,
            part.arrays,
            lambda terms: part.terms.places(Strings.of(terms)),
            classes,
            np.asarray(own, np.float64),
        )


class PostingsScan(Sharded):
    """Shards all of whose documents are scored; a `ShardSet` but for the formula.

    Attributes:
        kind: how values become summands.
        divided: whether sums are divided by what documents have of their own; else it is added.
        scanned: the shards under the formula; a subclass fills them in before a query is scored.
    """

    kind: ClassVar[How]
    divided: ClassVar[bool] = False
    scanned: Sequence[ScannedShard] = ()

    def under_formula(self, queries: Any) -> Sequence[ScannedQuery]:
        """Returns queries as the formula takes them, once the shards are scanned under it."""
        scanned: Sequence[ScannedQuery] = queries
        return scanned

    def best(self, queries: Any, depth: int, fill: bool = False) -> TopDocuments:
        """Returns the best documents of each query; `fill` adds some that share no term with it."""
        depth, scanned = max(1, min(depth, self.size)), self.under_formula(queries)
        by_numpy = self._by_numpy(scanned)
        return TopDocuments.of_rows(
            in_threads(lambda query: self._best(by_numpy, query, depth, fill), scanned)
        )

    def _best(
        self, by_numpy: bool, query: ScannedQuery, depth: int, fill: bool
    ) -> tuple[Ints, Floats]:
        best = few.best_of_all if by_numpy else _compiled_best(depth)
        docs, scores, keys = [], [], []
        for base, shard in zip(self.bases.tolist(), self.scanned, strict=False):
            found, values = best(shard.docs, self._search(query, shard), depth, fill)
            docs.append(found + base)
            scores.append(values)
            keys.append(shard.docs.documents.keys[found])
        if len(docs) == 1:
            order = best_first(scores[0], keys[0], depth)
            return docs[0][order], scores[0][order]
        every_doc = np.concatenate([np.empty(0, np.int64), *docs])
        return self.ordered(every_doc, np.concatenate([np.empty(0), *scores]), depth)

    def every(self, queries: Any) -> tuple[Floats, NDArray[np.bool_]]:
        """(q, d) the score of every document, and whether it shares a term with the query."""
        scanned = self.under_formula(queries)
        scores = np.zeros((len(scanned), self.size))
        shared = np.zeros((len(scanned), self.size), bool)
        by_numpy = self._by_numpy(scanned)
        rows = zip(scanned, scores, shared, strict=True)
        in_threads(lambda row: self._every(by_numpy, *row), list(rows))
        return scores, shared

    def _every(
        self, by_numpy: bool, query: ScannedQuery, scores: Floats, shared: NDArray[np.bool_]
    ) -> None:
        for low, high, shard in zip(self.bases, self.bases[1:], self.scanned, strict=False):
            search = self._search(query, shard)
            if by_numpy:
                scores[low:high], shared[low:high] = few.score_all(shard.docs, search)
                continue
            from irtoolkit.indexes._compiled_scan import score_all

            score_all(*search, scores[low:high], shared[low:high])

    def scores(self, queries: Any, documents: Sequence[Ints]) -> list[Any]:
        """Returns the scores of some documents of each query."""
        scanned = self.under_formula(queries)
        by_numpy = self._by_numpy(scanned)
        return [self._scores(by_numpy, *row) for row in zip(scanned, documents, strict=True)]

    def _scores(self, by_numpy: bool, query: ScannedQuery, documents: Ints) -> Floats:
        scores = np.zeros(len(documents))
        for number, rows, places in self.split(documents):
            shard = self.scanned[number]
            search = self._search(query, shard)
            if by_numpy:
                scores[rows] = few.score_all(shard.docs, search)[0][places]
                continue
            from irtoolkit.indexes._compiled_scan import score_of

            scores[rows] = [score_of(*search, position) for position in places.tolist()]
        return scores

    def before(self, queries: Any, targets: Sequence[Targets]) -> list[Ints]:
        """Counts the documents before each target of each query."""
        scanned = self.under_formula(queries)
        by_numpy = self._by_numpy(scanned)
        rows = zip(scanned, targets, strict=True)
        return in_threads(lambda row: self._before(by_numpy, *row), list(rows))

    def _before(self, by_numpy: bool, query: ScannedQuery, target: Targets) -> Ints:
        before = np.zeros(len(target.scores), np.int64)
        for shard in self.scanned if len(before) else ():
            scores_and_keys = target.scores, least_keys(shard.docs, target.ids)
            search = self._search(query, shard)
            if by_numpy:
                scores, _ = few.score_all(shard.docs, search)
                before += few.standing(scores, shard.docs, scores_and_keys)
                continue
            from irtoolkit.indexes._compiled_scan import count_before
            from irtoolkit.indexes._compiled_search import WINDOW

            keys = shard.docs.documents.keys
            count_before(*search, keys, scores_and_keys, np.zeros(WINDOW), before)
        return before

    def _by_numpy(self, queries: Sequence[ScannedQuery]) -> bool:
        """Returns whether numpy adds up the postings of some queries."""
        return few.is_faster(
            (shard.arrays, self._asked(query, shard)[0], 1)
            for query in queries
            for shard in self.scanned
        )

    def _search(self, query: ScannedQuery, shard: ScannedShard) -> tuple[Any, ...]:
        """Returns the shard, the formula and the query as the compiled loops take them."""
        formula = few.KINDS[self.kind], shard.table, shard.own, self.divided
        return shard.arrays, formula, self._asked(query, shard)

    def _asked(self, query: ScannedQuery, shard: ScannedShard) -> tuple[Any, ...]:
        """Returns a query as the compiled loops take it, with the term numbers of a shard."""
        places = shard.places(query.keys)
        matching = np.flatnonzero((places >= 0) & (query.scales != 0))
        greatest = float(np.abs(query.scales).max(initial=0))
        unit = 2.0 ** (np.ceil(np.log2(greatest)) - _DIGITS) if greatest else 1.0
        scales = query.scales[matching] / unit
        if self.kind == "class":  # twice the count is twice the summand
            scales = np.rint(scales)
        return (
            places[matching].astype(np.int64),
            scales,
            query.rates[matching],
            float(unit),
            float(query.times),
            float(query.everywhere),
        )


def _compiled_best(depth: int) -> Callable[..., tuple[Ints, Floats]]:
    """Returns what `few.best_of_all` does by compiled loops, with memory for so many documents."""
    from irtoolkit.indexes._compiled_scan import scan
    from irtoolkit.indexes._compiled_search import WINDOW

    space = max(2 * depth, _ROOM)
    room = np.zeros(WINDOW), np.empty(space, np.int64), np.empty(space)

    def best(docs: OpenShard, search: Any, depth: int, fill: bool) -> tuple[Ints, Floats]:
        count = scan(*search, docs.documents.keys, depth, fill, room)
        return room[1][:count].copy(), room[2][:count].copy()

    return best

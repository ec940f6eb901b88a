"""Search over shards of postings: the best documents of each query, and exact ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.ids import Floats, Ints
from irtoolkit.base.rows import in_threads
from irtoolkit.indexes import few, pruned
from irtoolkit.indexes.counting import Postings
from irtoolkit.indexes.postings import PostingsShard
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.sharded import Targets, least_keys
from irtoolkit.indexes.weighted import QueryBatch, WeighedTerms, WeightedQueries
from irtoolkit.runs.order import TopDocuments, greatest, merge

# Queries searched at once: their results are held in several forms.
_QUERIES = 1 << 10


class PostingsSearch(Postings):
    """Shards of postings that are searched as one.

    Scores do not depend on how documents are split into shards: they are sums of whole numbers, and
    statistics are sums over shards.
    """

    def best(
        self, weighted: Sequence[WeightedQueries], depth: int, fill: bool = False
    ) -> TopDocuments:
        """Returns the best documents of each query, with whole numbers as scores; see `valued`.

        `fill` adds some that share no term with the query, which score 0.
        """
        depth = max(1, min(depth, self.size))
        parts = [
            self._with_zeros(queries, self._best(queries, depth), depth, fill)
            for queries in weighted
        ]
        return parts[0] if len(parts) == 1 else TopDocuments.joined(parts)

    def _best(self, queries: WeightedQueries, depth: int) -> TopDocuments:
        count = len(queries)
        least, best = np.zeros(count, np.int64), np.zeros((count, 0), np.int64)
        hits: list[TopDocuments] = []
        several = len(self.parts) > 1
        batches = [queries.batch(part) for part in self.parts]
        is_added_up = queries.negative | self._by_numpy(batches)
        added_up, rest = is_added_up.nonzero()[0], (~is_added_up).nonzero()[0]
        for number, (part, batch) in enumerate(zip(self.parts, batches, strict=True)):
            counts, (documents, scores) = (
                np.zeros(count, np.int64),
                np.zeros((2, count, depth), np.int64),
            )
            out = counts, documents, scores
            if len(added_up):
                few.best(part, batch, added_up, out)
            if len(rest):
                pruned.best(part, batch, rest, least, out)
            hits.append(_filled(out, int(self.bases[number])))
            if several:
                best = greatest(np.concatenate([best, scores], axis=1), depth)
                least = best[:, 0]
        return hits[0] if len(hits) == 1 else merge(hits, depth, self.keys)

    def _by_numpy(self, batches: Sequence[QueryBatch]) -> bool:
        """Returns whether numpy adds up the postings of some queries, given as each shard takes them."""
        return few.is_faster(
            (part.arrays, batch.terms, len(batch.starts) - 1)
            for part, batch in zip(self.parts, batches, strict=True)
        )

    def _with_zeros(
        self, queries: WeightedQueries, hits: TopDocuments, depth: int, fill: bool
    ) -> TopDocuments:
        """Adds documents that score 0: they share only terms that weigh nothing or, to `fill`, none."""
        if not queries.has_weightless and not (fill and _has_room(hits, depth)):
            return hits
        others: dict[int, list[Ints]] = {}
        for part, base in zip(self.parts, self.bases.tolist(), strict=False):
            for query, terms in queries.weightless(part).items():
                others.setdefault(query, []).append(part.live_documents(terms) + base)
        if fill:
            first = self.first_of_equals(self.size if queries.negative.any() else 2 * depth)
            for query in range(len(queries)):
                others.setdefault(query, []).append(first)
        if not others:
            return hits
        batches = [queries.batch(part) for part in self.parts] if queries.negative.any() else []
        rows = []
        for query, (first, last) in enumerate(pairwise(hits.offsets.tolist())):
            matched = hits.documents[first:last]
            more = np.setdiff1d(np.concatenate([matched[:0], *others.get(query, ())]), matched)
            if queries.negative[query]:  # some that score less than 0 may not be among the hits
                more = more[self._scores(_Query(batches, query, True), more) == 0]
            docs = np.concatenate([matched, more])
            scores = np.concatenate([hits.scores[first:last], np.zeros(len(more), np.int64)])
            docs, scores = self.ordered(docs, scores, depth)
            rows.append(TopDocuments(np.array([0, len(docs)]), docs, scores))
        return TopDocuments.joined(rows)

    def scores(self, weighted: Sequence[WeightedQueries], documents: Sequence[Ints]) -> list[Any]:
        """Returns the scores of some documents of each query, as whole numbers."""
        return [self._scores(*row) for row in self._each(weighted, documents)]

    def _scores(self, query: _Query, documents: Ints) -> Ints:
        scores = np.zeros(len(documents), np.int64)
        for number, rows, places in self.split(documents):
            part, batch = self.parts[number], query.batches[number]
            if query.by_numpy:
                scores[rows] = few.added_up(part, batch, query.number)[places]
                continue
            from irtoolkit.indexes._compiled_sums import score_of

            search = part.arrays, batch.table, batch.query(query.number)
            scores[rows] = [score_of(*search, position) for position in places.tolist()]
        return scores

    def every(self, weighted: Sequence[WeightedQueries]) -> tuple[Floats, NDArray[np.bool_]]:
        """(q, d) the score of every document, and whether it shares a term with the query."""
        scores, shared = [], []
        for queries in weighted:
            sums = np.zeros((len(queries), self.size), np.int64)
            batches = [queries.batch(part) for part in self.parts]
            by_numpy = self._by_numpy(batches)
            for low, high, part, batch in zip(
                self.bases, self.bases[1:], self.parts, batches, strict=False
            ):
                self._add_up(part, batch, sums[:, low:high], by_numpy)
            met = sums != 0
            for low, part in zip(self.bases, self.parts, strict=False):
                for row, terms in queries.weightless(part).items():
                    met[row, low + part.live_documents(terms)] = True
            shared.append(met)
            scores.append(sums * queries.unit[:, None] + queries.everywhere[:, None])
        return np.concatenate(scores), np.concatenate(shared)

    @staticmethod
    def _add_up(part: PostingsShard, batch: QueryBatch, sums: Ints, by_numpy: bool) -> None:
        """Adds up the score of every document of a shard for each query."""
        if by_numpy:
            for row, row_sums in enumerate(sums):
                row_sums += few.added_up(part, batch, row)
            return
        from irtoolkit.indexes._compiled_sums import add_all

        rows = [
            (part.arrays, batch.table, batch.query(row), row_sums)
            for row, row_sums in enumerate(sums)
        ]
        in_threads(lambda row: add_all(*row), rows)

    def before(self, weighted: Sequence[WeightedQueries], targets: Sequence[Targets]) -> list[Ints]:
        """Counts the documents before each target of each query."""
        return in_threads(lambda row: self._before(*row), self._each(weighted, targets))

    def _before(self, query: _Query, target: Targets) -> Ints:
        before = np.zeros(len(target.scores), np.int64)
        for number, part in enumerate(self.parts if len(before) else ()):
            scores_and_keys = target.scores, least_keys(part.docs, target.ids)
            batch = query.batches[number]
            if query.by_numpy:
                sums = few.added_up(part, batch, query.number)
                before += few.standing(sums, part.docs, scores_and_keys)
                continue
            from irtoolkit.indexes._compiled_search import WINDOW
            from irtoolkit.indexes._compiled_sums import standing

            terms = batch.query(query.number)
            room = np.zeros(WINDOW, np.int64), np.zeros(len(terms[0]), np.int64)
            standing(part.arrays, batch.table, terms, scores_and_keys, part.keys, room, before)
        return before

    def _each(
        self, weighted: Sequence[WeightedQueries], rows: Sequence[Any]
    ) -> list[tuple[_Query, Any]]:
        """Returns each query as the shards take it, with its row."""
        pairs: list[tuple[_Query, Any]] = []
        first = 0
        for queries in weighted:
            part_rows = rows[first : first + len(queries)]
            first += len(queries)
            if not any(len(row[0] if isinstance(row, Targets) else row) for row in part_rows):
                pairs += [(_Query([], 0, False), row) for row in part_rows]
                continue
            batches = [queries.batch(part) for part in self.parts]
            by_numpy = self._by_numpy(batches)
            pairs += [
                (_Query(batches, number, by_numpy), row) for number, row in enumerate(part_rows)
            ]
        return pairs


class _Query(NamedTuple):
    """A query as each shard takes it.

    Attributes:
        batches: of each shard, the queries that are searched at once.
        number: which of them it is.
        by_numpy: whether it is added up by numpy.
    """

    batches: Sequence[QueryBatch]
    number: int
    by_numpy: bool


def _has_room(hits: TopDocuments, depth: int) -> bool:
    """Returns whether documents that score 0 could be among the best of a query."""
    is_full = (np.diff(hits.offsets) >= depth).all() and hits.scores.min(initial=0) >= 0
    return not is_full


def _filled(out: tuple[Ints, Ints, Ints], first: int) -> TopDocuments:
    """Returns the rows of a shard that were filled in; `first` is the number of its first document."""
    counts, documents, scores = out
    offsets = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=offsets[1:])
    if offsets[-1] == documents.size:
        return TopDocuments(offsets, documents.ravel() + first, scores.ravel())
    ends = counts.tolist()
    matched = np.concatenate([row[:end] for row, end in zip(documents, ends, strict=True)])
    values = np.concatenate([row[:end] for row, end in zip(scores, ends, strict=True)])
    return TopDocuments(offsets, matched + first, values)


def weighed(terms: WeighedTerms, queries: CountedQueries) -> list[WeightedQueries]:
    """Returns queries under a formula, in sets that are searched at once.

    Args:
        terms: has the terms of the queries.
        queries: the terms of each query.
    """
    return [
        WeightedQueries(terms, queries.part(first, first + _QUERIES))
        for first in range(0, queries.size, _QUERIES)
    ]


def valued(weighted: Sequence[WeightedQueries], hits: TopDocuments) -> TopDocuments:
    """Returns hits whose scores are whole numbers with the scores that these stand for."""
    if len(weighted) == 1 and len(weighted[0]) == 1:
        unit, everywhere = weighted[0].unit[0], weighted[0].everywhere[0]
        return hits._replace(scores=hits.scores * unit + everywhere)
    units = np.concatenate([np.empty(0), *(queries.unit for queries in weighted)])
    more = np.concatenate([np.empty(0), *(queries.everywhere for queries in weighted)])
    if len(units) and (units == units[0]).all() and (more == more[0]).all():
        return hits._replace(scores=hits.scores * units[0] + more[0])
    counts = np.diff(hits.offsets)
    scores = hits.scores * np.repeat(units, counts) + np.repeat(more, counts)
    return hits._replace(scores=scores)

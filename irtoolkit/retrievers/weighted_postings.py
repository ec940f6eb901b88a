"""Retrievers whose scores are sums of term weights: how their postings are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irtoolkit.base.ids import Floats
from irtoolkit.indexes.formula import Weighting
from irtoolkit.indexes.queries import CountedQueries
from irtoolkit.indexes.scanning import filled
from irtoolkit.indexes.search import valued, weighed
from irtoolkit.indexes.sharded import CountedShardSet
from irtoolkit.indexes.weighted import WeightedQueries
from irtoolkit.retrievers.postings_index import PostingsSearcher
from irtoolkit.runs.order import TopDocuments


class WeightedSearcher(PostingsSearcher):
    """Searches postings by sums of weights; a `Searcher`.

    Args:
        settings, shards, counting: see `PostingsSearcher`.
        weighting: the formula.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        weighting: Weighting,
        shards: CountedShardSet,
        counting: Any = None,
    ) -> None:
        super().__init__(settings, shards, counting)
        self._weighting = weighting

    def reads_all_terms(self, apart: bool) -> bool:
        return apart and self._weighting.reads_all_terms

    def found(self, terms: CountedQueries, depth: int, *, fill: bool = False) -> TopDocuments:
        """The best documents of each query, among those that share a term with it.

        `fill` adds others, by descending id, which score what a document without a term of the
        query does.
        """
        queries = self._asked(terms)
        hits = valued(queries, self.shards.best(queries, depth))
        if not fill:
            return hits
        depth = min(depth, self.shards.size)
        if (np.diff(hits.offsets) >= depth).all() and hits.scores.min(initial=0) >= 0:
            return hits
        return filled(hits, depth, self.shards, self._without(queries))

    def feedback(self, terms: CountedQueries, depth: int) -> TopDocuments:
        """The best documents that score more than one without a term of the query."""
        queries = self._asked(terms)
        hits = valued(queries, self.shards.best(queries, depth))
        counts = np.diff(hits.offsets)
        better = hits.scores > np.repeat(self._without(queries), counts)
        owners = np.repeat(np.arange(terms.size), counts)[better]
        offsets = np.searchsorted(owners, np.arange(terms.size + 1))
        return TopDocuments(offsets, hits.documents[better], hits.scores[better])

    def _without(self, queries: Sequence[WeightedQueries]) -> Floats:
        """(q,) what a document without a term of each query scores."""
        return np.concatenate([np.empty(0), *(batch.everywhere for batch in queries)])

    def _asked(self, terms: CountedQueries) -> list[WeightedQueries]:
        return weighed(self.counting, terms, self._weighting)

"""The context-aware relevance model: a quote is as good as its known contexts are near the query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.retrievers._known_contexts import also_known, known_contexts
from irtoolkit.retrievers.base import Block, Matches, ScoreMatrix, Scorer
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.tfidf import TFIDF

# Similarities of queries and known contexts held at once.
_CELLS = 1 << 25


@dataclass(frozen=True)
class CRM(TFIDF):
    """Recommends the document whose known contexts are most similar to the query.

    QuoteR's first baseline (§6.1), after He et al. 2010. The known contexts of a document are the
    queries that a training dataset judges it relevant for; similarity is the cosine of TF-IDF
    vectors over them. A document without a known context scores 0.

    Attributes:
        statistics: stays "corpus": terms are weighed by the training contexts.
        train: id of the training dataset, or a split's name, which then takes the place of the
            split in the id of the dataset that is ranked.
        pooling: what a document makes of its contexts' similarities: "max" is QuoteR's wording,
            "square", the mean of their squares, is He et al.'s inner product of projections, and
            "mean" their plain mean.
    """

    name: ClassVar[str] = "crm"

    train: str = "train"
    pooling: Literal["square", "mean", "max"] = "max"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.statistics != "corpus":
            raise InputError(
                "crm weighs terms by its training contexts", remedy="leave out statistics"
            )

    def reads_corpus(self) -> bool:
        return False

    def also_reads(self, task: Task) -> Iterable[str]:
        return also_known(task, self.train)

    def scorer(self, task: Task) -> Scorer:
        contexts, golds = known_contexts(task, self.train)
        form = self.on(task.lang).postings_format()
        ids = [str(number) for number in range(len(contexts))]
        searcher = form.searcher(form.in_memory(contexts, ids))
        terms = searcher.terms(task.queries)

        def candidates(docs: Ints) -> Block:
            owned = golds[:, docs].tocsc()
            shares = np.maximum(np.diff(owned.indptr), 1)

            def score(query: Ints) -> Matches:
                step = max(1, _CELLS // max(1, len(contexts)))
                parts = (query[i : i + step] for i in range(0, len(query), step))
                similar = (searcher.every(terms.chosen(part)).scores for part in parts)
                scores = np.concatenate([self._pool(part, owned, shares) for part in similar])
                return Matches(scores, lambda: scores > 0)

            return score

        return candidates

    def _pool(self, similar: ScoreMatrix, owned: Any, shares: Ints) -> ScoreMatrix:
        """(q, docs) scores from the (q, contexts) similarities."""
        pooled: ScoreMatrix
        if self.pooling != "max":
            powered = similar**2 if self.pooling == "square" else similar
            pooled = (owned.T @ powered.T).T / shares
            return pooled
        pooled = np.zeros((len(similar), owned.shape[1]))
        nonempty = np.flatnonzero(np.diff(owned.indptr))
        if len(nonempty):
            starts = owned.indptr[nonempty]
            pooled[:, nonempty] = np.maximum.reduceat(similar[:, owned.indices], starts, axis=1)
        return pooled

"""The context-aware relevance model: a quote is as good as its known contexts are near the query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from irtoolkit.base.analysis import analyzer
from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.retrievers._counts import Collection
from irtoolkit.retrievers._terms import Vocabulary, widen
from irtoolkit.retrievers.base import Block, ScoreMatrix, Scorer
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import view
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
        contexts, golds = self._known(task)
        yield from (" ".join(segments) for segments in contexts)
        yield str(list(zip(*(part.tolist() for part in golds.nonzero()), strict=True)))

    def scorer(self, task: Task) -> Scorer:
        contexts, golds = self._known(task)
        vocabulary = Vocabulary(analyzer(*self.analysis(task.lang)))
        counts = vocabulary.count(contexts)
        asked = vocabulary.count(task.queries)
        collection = Collection.of(widen(counts, len(vocabulary)))
        match = self.matcher(counts, collection)

        def candidates(docs: Ints) -> Block:
            owned = golds[:, docs].tocsc()
            shares = np.maximum(np.diff(owned.indptr), 1)

            def score(query: Ints) -> ScoreMatrix:
                step = max(1, _CELLS // max(1, counts.shape[0]))
                parts = [match(asked[query[i : i + step]]) for i in range(0, len(query), step)]
                pooled = [self._pool(part, owned, shares) for part in parts]
                return np.concatenate(pooled)

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
        some = np.flatnonzero(np.diff(owned.indptr))
        if len(some):
            starts = owned.indptr[some]
            pooled[:, some] = np.maximum.reduceat(similar[:, owned.indices], starts, axis=1)
        return pooled

    def _known(self, task: Task) -> tuple[list[tuple[str, ...]], Any]:
        """The training contexts, and a (contexts, documents) matrix of whose they are."""
        name = self._training_id(task.dataset_id)
        dataset = Dataset.load(name)
        if not (dataset.has_queries() and dataset.has_qrels()):
            raise InputError(f"dataset {name} has no judged queries to learn from")
        place = {doc_id: i for i, doc_id in enumerate(task.doc_ids)}
        texts = {query.query_id: view(query, task.query_view) for query in dataset.queries_iter()}
        for query_id in task.query_ids:
            if query_id in texts:
                raise InputError(
                    f"query {query_id} of {task.dataset_id} is in the training set {name} too",
                    remedy="learn from another split",
                )
        number = {query_id: i for i, query_id in enumerate(texts)}
        pairs = [
            (number[row.query_id], place[row.doc_id])
            for row in dataset.qrels_iter()
            if row.relevance > 0 and row.doc_id in place and row.query_id in number
        ]
        if not pairs:
            raise InputError(
                f"no document of {task.dataset_id} has a known context in {name}",
                remedy="--set train= another dataset over the same documents",
            )
        rows, columns = np.array(pairs).T
        shape = (len(texts), len(task.doc_ids))
        return list(texts.values()), csr_array((np.ones(len(pairs)), (rows, columns)), shape=shape)

    def _training_id(self, dataset_id: str) -> str:
        if "/" in self.train:
            return self.train
        other = DatasetId.parse(dataset_id).with_split(self.train)
        if other is not None:
            return str(other)
        raise InputError(
            f"{dataset_id} has no split, so no training set can be told from its id",
            remedy="--set train=DATASET",
        )

"""Documents by the contexts that they are known to stand in: by words, and by vectors with their own text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints, Segments
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.retrievers.base import Block, Matches, ScoreMatrix, Scorer
from irtoolkit.retrievers.dense import VectorRetriever, encode_texts
from irtoolkit.retrievers.postings_index import PostingsIndex
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import view
from irtoolkit.retrievers.tfidf import TFIDF
from irtoolkit.retrievers.vectors import prepared


def known_contexts(task: Task, train: str) -> tuple[list[Segments], Any]:
    """The contexts of a training dataset, and a (contexts, documents) matrix of whose they are.

    Args:
        task: whose documents are looked for.
        train: id of the training dataset, or a split's name, which then takes the place of the split
            in the id of the task's dataset.

    Raises:
        InputError: no such dataset; one without judged queries, or without a document of the task;
            or one that has a query of the task.
    """
    name = training_id(task.dataset_id, train)
    dataset = Dataset.load(name)
    if not (dataset.has_queries() and dataset.has_qrels()):
        raise InputError(f"dataset {name} has no judged queries to learn from")
    positions = {doc_id: i for i, doc_id in enumerate(task.doc_ids)}
    texts = {query.query_id: view(query, task.query_view) for query in dataset.queries_iter()}
    for query_id in task.query_ids:
        if query_id in texts:
            raise InputError(
                f"query {query_id} of {task.dataset_id} is in the training set {name} too",
                remedy="learn from another split",
            )
    number = {query_id: i for i, query_id in enumerate(texts)}
    pairs = [
        (number[row.query_id], positions[row.doc_id])
        for row in dataset.qrels_iter()
        if row.relevance > 0 and row.doc_id in positions and row.query_id in number
    ]
    if not pairs:
        raise InputError(
            f"no document of {task.dataset_id} has a known context in {name}",
            remedy="--set train= another dataset over the same documents",
        )
    rows, columns = np.array(pairs).T
    shape = (len(texts), len(task.doc_ids))
    return list(texts.values()), csr_array((np.ones(len(pairs)), (rows, columns)), shape=shape)


def also_known(task: Task, train: str) -> Iterator[str]:
    """Yields what decides scores of the known contexts: their texts, and the documents they belong to."""
    contexts, golds = known_contexts(task, train)
    yield from (" ".join(segments) for segments in contexts)
    yield str(list(zip(*(part.tolist() for part in golds.nonzero()), strict=True)))


def training_id(dataset_id: str, train: str) -> str:
    """The id of the training dataset of a dataset.

    Raises:
        InputError: `train` names a split, and the dataset's id has none.
    """
    if "/" in train:
        return train
    training = DatasetId.parse(dataset_id).with_split(train)
    if training is not None:
        return str(training)
    raise InputError(
        f"{dataset_id} has no split, so no training set can be told from its id",
        remedy="--set train=DATASET",
    )


@dataclass(frozen=True)
class KnownContexts(VectorRetriever):
    """Similarity to the document, and to the known context of the document that is nearest.

    What the context-aware relevance model (QuoteR §6.1) does with words, done with the vectors of an
    encoder, and mixed with the document's own text. The known contexts of a document are the queries
    that a training dataset judges it relevant for. A document without any has the similarity of its
    text in place of theirs, so that it competes with others. Similarities are cosines.

    Attributes:
        train: id of the training dataset, or a split's name, which then takes the place of the split
            in the id of the dataset that is ranked.
        weight: of the known contexts, 0 to 1; the document's text has the rest.
    """

    name: ClassVar[str] = "known-contexts"
    ranges: ClassVar = {"weight": (0, 1)}

    train: str = "train"
    weight: float = 0.5

    def also_reads(self, task: Task) -> Iterable[str]:
        return also_known(task, self.train)

    def scorer(self, task: Task) -> Scorer:
        contexts, golds = known_contexts(task, self.train)
        query_encoder, document_encoder = self.encoder("query"), self.encoder("document")
        docs = encode_texts(document_encoder, task.docs, "documents")
        queries = encode_texts(query_encoder, self.asked(task), "queries").vectors()
        context_vectors = encode_texts(query_encoder, contexts, "contexts").vectors()
        near = prepared(context_vectors, "cosine", self.device)

        def candidates(doc: Ints) -> Block:
            compare = prepared(docs[doc].vectors(), "cosine", self.device, self.stored)
            owned = golds[:, doc].tocsc()
            owners = np.flatnonzero(np.diff(owned.indptr))

            def score(query: Ints) -> ScoreMatrix:
                text = compare(queries[query])
                if not len(owners):
                    return text
                best = text.copy()
                similar = near(queries[query])[:, owned.indices]
                best[:, owners] = np.maximum.reduceat(similar, owned.indptr[owners], axis=1)
                mixed: ScoreMatrix = (1 - self.weight) * text + self.weight * best
                return mixed

            return score

        return candidates


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
        retriever, ids = self.on(task.lang), [str(number) for number in range(len(contexts))]
        searcher = retriever.searcher(PostingsIndex(retriever).in_memory(contexts, ids))
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

"""A model in memory as a retriever, with which it is evaluated during training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from irtoolkit.base.ids import Ints
from irtoolkit.models.presets import COMPARED_AS, Kind
from irtoolkit.retrievers.base import Block, Retriever, ScoreMatrix, Scorer
from irtoolkit.retrievers.cross import single
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.vectors import prepared


@dataclass(frozen=True)
class ModelRetriever(Retriever):
    """A retriever with a model in memory; it stores nothing on disk.

    Attributes:
        model: a model of sentence-transformers.
        kind: kind of the model: "dense", "late", "sparse" or "cross".
        batch: number of texts, or of pairs of texts, that the model reads at once.
        join: separator of the segments of a text.
        precision: precision of the model; vectors are compared in fp32.
    """

    name: ClassVar[str] = "evaluating"

    model: Any = None
    kind: Kind = "dense"
    batch: int = 64
    join: str = " "
    precision: str = "fp32"

    def scorer(self, task: Task) -> Scorer:
        queries = [self.join.join(segments) for segments in task.queries]
        return _SCORERS[self.kind](self, queries, task)

    def in_precision(self) -> Any:
        """Returns a context in which the model computes in the given precision."""
        import torch

        return torch.autocast(
            self.model.device.type,
            enabled=self.precision != "fp32",
            dtype=torch.float16 if self.precision == "fp16" else torch.bfloat16,
        )

    def encode(self, texts: Sequence[str], query: bool) -> Any:
        """Returns the vectors of queries or of documents; equal texts are encoded once."""
        distinct = list(dict.fromkeys(texts))
        index_of = {text: i for i, text in enumerate(distinct)}
        encode = self.model.encode_query if query else self.model.encode_document
        with self.in_precision():
            encoded = encode(
                distinct,
                batch_size=self.batch,
                show_progress_bar=False,
                **_OUTPUT.get(self.kind, {}),
            )
        rows = [index_of[text] for text in texts]
        if isinstance(encoded, list):
            return [encoded[row].float() for row in rows]
        return encoded[rows] if isinstance(encoded, np.ndarray) else encoded[rows].float()

    def texts_of(self, task: Task, doc: Ints) -> list[str]:
        """Returns the texts of some documents, with their segments joined."""
        return [self.join.join(segments) for segments in task.docs[doc]]


# Form of the encoded texts; rows cannot be selected from torch's sparse tensors.
_OUTPUT: dict[Kind, dict[str, bool]] = {
    "dense": {"convert_to_numpy": True},
    "sparse": {"convert_to_sparse_tensor": False},
}


# Mean number of groups that a document is a candidate of, from which on all are encoded at once.
_SHARED = 4


def _dense(retriever: ModelRetriever, queries: list[str], task: Task) -> Scorer:
    vectors = retriever.encode(queries, query=True)
    theirs = retriever.model.similarity_fn_name
    similarity = next((ours for ours, name in COMPARED_AS.items() if name == theirs), theirs)

    shared = _shared_vectors(retriever, task)

    def candidates(doc: Ints) -> Block:
        docs = (
            retriever.encode(retriever.texts_of(task, doc), query=False)
            if shared is None
            else shared[doc]
        )
        compare = prepared(docs, similarity)
        return lambda query: compare(vectors[query])

    return candidates


def _shared_vectors(retriever: ModelRetriever, task: Task) -> Any:
    """Returns (D, d) vectors of all documents if most are candidates of several groups, or None."""
    if sum(len(group.docs) for group in task.groups) < _SHARED * len(task.doc_ids):
        return None
    return retriever.encode(retriever.texts_of(task, np.arange(len(task.doc_ids))), query=False)


def _by_model(retriever: ModelRetriever, queries: list[str], task: Task) -> Scorer:
    """Returns the scorer of late and sparse models, with the model's own similarity."""
    vectors = retriever.encode(queries, query=True)

    def candidates(doc: Ints) -> Block:
        docs = retriever.encode(retriever.texts_of(task, doc), query=False)

        def score(query: Ints) -> ScoreMatrix:
            query_vectors = (
                [vectors[i] for i in query] if isinstance(vectors, list) else vectors[query]
            )
            scores: ScoreMatrix = (
                retriever.model.similarity(query_vectors, docs).float().cpu().numpy()
            )
            return scores

        return score

    return candidates


def _cross(retriever: ModelRetriever, queries: list[str], task: Task) -> Scorer:
    """Returns the scorer of cross-encoders, which read queries and documents together."""
    import torch

    def candidates(doc: Ints) -> Block:
        docs = retriever.texts_of(task, doc)

        def score(query: Ints) -> ScoreMatrix:
            pairs = [(queries[i], text) for i in query for text in docs]
            with retriever.in_precision():
                logits: ScoreMatrix = retriever.model.predict(
                    pairs,
                    batch_size=retriever.batch,
                    show_progress_bar=False,
                    activation_fn=torch.nn.Identity(),
                    convert_to_numpy=True,
                )
            return single(logits.reshape(len(pairs), -1)).reshape(len(query), len(docs))

        return score

    return candidates


_SCORERS: dict[Kind, Callable[[ModelRetriever, list[str], Task], Scorer]] = {
    "dense": _dense,
    "late": _by_model,
    "sparse": _by_model,
    "cross": _cross,
}

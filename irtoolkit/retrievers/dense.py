"""Bi-encoders: one vector for a text, or one for each of its sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from irtoolkit.ids import Ints
from irtoolkit.retrievers.base import Block, Retriever, Scorer, Scores
from irtoolkit.retrievers.encoders import Encoder, fingerprint, missing
from irtoolkit.retrievers.task import Segments, Task
from irtoolkit.retrievers.vectors import Similarity, similarities, unit


@dataclass(frozen=True)
class _Encoded(Retriever):
    """Parameters of retrievers that use an encoder.

    `model` is a preset (models.toml), a folder, or a hub id.
    """

    model: str = "all-MiniLM-L6-v2"
    batch_size: int = 32
    device: str | None = None

    def missing(self) -> str | None:
        return missing(self.model)

    def fingerprint(self) -> str | None:
        return fingerprint(self.model)

    def _encoder(self) -> Encoder:
        return Encoder(self.model, self.batch_size, self.device)


@dataclass(frozen=True)
class Dense(_Encoded):
    """Similarity of one vector for the query and one for the document.

    CSFCube's abstract-level baselines (§5) are this with similarity "l2".
    """

    name: ClassVar[str] = "dense"

    similarity: Similarity = "cosine"

    def scorer(self, task: Task) -> Scorer:
        encoder = self._encoder()
        queries = encoder.encode(encoder.texts(task.queries))
        docs = encoder.encode(encoder.texts(task.docs))

        return lambda doc: lambda query: similarities(queries[query], docs[doc], self.similarity)


@dataclass(frozen=True)
class SentenceMax(_Encoded):
    """Greatest cosine between any sentence of the query and any sentence of the document.

    The form of CSFCube's sentence-level baselines (§5). Sentences are the segments of the task's
    views, so these must be fields that hold sentences.
    """

    name: ClassVar[str] = "sentence-max"

    def scorer(self, task: Task) -> Scorer:
        encoder = self._encoder()
        queries, query_starts = self._sentences(encoder, task.queries)
        docs, doc_starts = self._sentences(encoder, task.docs)

        def candidates(doc: Ints) -> Block:
            shown, columns = _gather(docs, doc_starts, doc)

            def score(query: Ints) -> Scores:
                asked, rows = _gather(queries, query_starts, query)
                best = np.maximum.reduceat(similarities(asked, shown, "dot"), columns, axis=1)
                result: Scores = np.maximum.reduceat(best, rows, axis=0)
                return result

            return score

        return candidates

    @staticmethod
    def _sentences(encoder: Encoder, texts: Iterable[Segments]) -> tuple[NDArray[np.float32], Ints]:
        """Unit vectors of all sentences, and where each text's begin; an empty text has one."""
        parts = [[s for s in segments if s.strip()] or [""] for segments in texts]
        starts = np.cumsum([0, *(len(part) for part in parts)])
        flat = [sentence for part in parts for sentence in part]
        return unit(encoder.encode(flat)).astype(np.float32), starts


def _gather(
    vectors: NDArray[np.float32], starts: Ints, chosen: Ints
) -> tuple[NDArray[np.float32], Ints]:
    """The sentence vectors of the chosen texts, and where each text's begin among them."""
    counts = starts[chosen + 1] - starts[chosen]
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rows = np.repeat(starts[chosen] - begins, counts) + np.arange(counts.sum())
    return vectors[rows], begins

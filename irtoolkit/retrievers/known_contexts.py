"""Documents by their own text and by the contexts that they are known to stand in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.retrievers._known_contexts import also_known, known_contexts
from irtoolkit.retrievers.base import Block, ScoreMatrix, Scorer
from irtoolkit.retrievers.dense import VectorRetriever, encode_texts
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.vectors import prepared


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

    train: str = "train"
    weight: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise InputError(f"weight={self.weight} is not between 0 and 1")

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

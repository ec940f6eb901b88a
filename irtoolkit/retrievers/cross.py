"""Cross-encoders: a model reads query and document together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.models.encoder import Encoder
from irtoolkit.models.presets import Kind, Side
from irtoolkit.retrievers.base import Block, Scorer
from irtoolkit.retrievers.neural import Neural
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.vectors import Vectors


@dataclass(frozen=True)
class CrossEncoder(Neural):
    """The score that a model gives to a query and a document that it reads together.

    Scores are logits, which no activation has flattened. Of a model with two classes the score is
    the log-odds of the second, as of BERT-Cls (QuoteR §6.2). Every pair is scored once and kept on
    disk. Over whole corpora this takes long: `irtoolkit rerank` takes the best of another run.

    Attributes:
        model: a sequence classifier with one output or two; see `Neural`.
        length: tokens after which a pair is cut, the longer text first; by default the preset's
            (doc_length), else the model's own.
    """

    name: ClassVar[str] = "cross-encoder"
    kind: ClassVar[Kind] = "cross"
    applies: ClassVar[Kind | None] = "cross"

    model: str = "cross-encoder-MiniLM"
    length: int | None = None

    def encoding(self, side: Side) -> dict[str, Any]:
        return {"length": self.length}

    def text_before(self, side: Side) -> str | None:
        # The encoder reads pairs, which begin with the query.
        return super().text_before("query")

    def scorer(self, task: Task) -> Scorer:
        encoder = Encoder(self.how("document"))
        before = self.prompt_settings().of_documents(self.preset()) or ""
        queries = [encoder.text(query) for query in self.asked(task)]
        sizes = np.zeros(len(queries), np.int64)
        for group in task.groups:
            sizes[group.queries] = len(group.docs)

        def pairs() -> Iterator[tuple[str, str]]:
            for group in task.groups:
                texts = [before + encoder.text(doc) for doc in task.docs[group.docs]]
                for query in group.queries:
                    for text in texts:
                        yield queries[query], text

        scores = score_pairs(encoder, pairs, int(sizes.sum()), f"the model {self.model}")
        # Pairs stand in the order of the groups' queries.
        order = np.concatenate([group.queries for group in task.groups])
        begins = np.empty(len(queries), np.int64)
        begins[order] = np.concatenate([[0], np.cumsum(sizes[order])[:-1]])

        def candidates(doc: Ints) -> Block:
            return lambda query: scores[begins[query][:, None] + np.arange(len(doc))]

        return candidates


def score_pairs(
    encoder: Encoder, pairs: Callable[[], Iterator[tuple[str, str]]], count: int, who: str
) -> Vectors:
    """(n,) the score that a cross-encoder gives to each pair: its logit, or of two the log-odds.

    Args:
        encoder: of a cross-encoder.
        pairs: gives all pairs from the first, each time it is called.
        count: how many they are.
        who: the model, for the message.

    Raises:
        InputError: it has more than two classes; told before it has read everything.
    """
    classes = encoder.encode(islice(pairs(), 1), what="a first pair").vectors().shape[1]
    if classes > 2:
        raise InputError(
            f"{who} has {classes} classes",
            remedy="a cross-encoder that ranks has one output, or two",
        )
    return single(encoder.encode(pairs(), what="pairs", count=count).vectors())


def single(logits: Vectors) -> Vectors:
    """(n,) scores of (n, 1) logits, or of (n, 2) the log-odds of the second class."""
    scores: Vectors = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
    return scores

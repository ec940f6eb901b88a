"""Small datasets in memory, and tables of what a retriever makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import ir_datasets
import numpy as np
from ir_datasets.formats import (
    BaseQueries,
    BaseScoredDocs,
    GenericDoc,
    GenericQuery,
    GenericScoredDoc,
)

from irtoolkit.datasets.handlers import DocsHandler
from irtoolkit.models.shards import Encodings, Output, Store, key_of, write_shard
from irtoolkit.retrievers.base import Hits, Retriever
from irtoolkit.retrievers.task import Task, load_task

_NUMBERS = count()

DOCS = {
    "d1": "the cat sat on the mat. a dog ran.",
    "d2": "the dog, ran on and on!",
    "d3": "cats; dogs; mats, and a cat (the sun)",
    "d4": "",
    "d5": "the rat sat.",
    "d6": "the cat sat on the mat. a dog ran.",
    "d7": "the sun ran on the sea and sat on the mat with the cat and the dog" * 3,
}
ASKED = {"q1": "a dog, the sea", "q2": "the cat sat on the mat.", "q3": "", "q4": "rat"}
POOLS = {"q1": ["d7", "d2", "d5", "d1"], "q2": list(DOCS), "q3": ["d1", "d4"], "q4": list(DOCS)}
TEXTS = (*DOCS.values(), *ASKED.values())

Scores = dict[tuple[str, str], float]


class _Queries(BaseQueries):  # type: ignore[misc]
    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def queries_iter(self) -> Iterator[GenericQuery]:
        return (GenericQuery(*item) for item in self._texts.items())


class _Candidates(BaseScoredDocs):  # type: ignore[misc]
    def __init__(self, pools: Mapping[str, list[str]]) -> None:
        self._pools = pools

    def scoreddocs_iter(self) -> Iterator[GenericScoredDoc]:
        return (GenericScoredDoc(q, d, 0.0) for q, docs in self._pools.items() for d in docs)


def register(
    docs: Mapping[str, str] = DOCS,
    queries: Mapping[str, str] = ASKED,
    pools: Mapping[str, list[str]] | None = None,
) -> str:
    """Makes texts a dataset, whose queries rank their pools or else everything; gives its id."""
    name = f"test-tiny-{next(_NUMBERS)}"
    records = {doc: GenericDoc(doc, text) for doc, text in docs.items()}
    parts: list[Any] = [DocsHandler(lambda: records, GenericDoc, name, "en"), _Queries(queries)]
    parts += [] if pools is None else [_Candidates(pools)]
    ir_datasets.registry.register(name, ir_datasets.Dataset(*parts))
    return name


def table(task: Task | str, retriever: Retriever) -> Scores:
    """The score of every query for each candidate, or for each hit."""
    task = load_task(task) if isinstance(task, str) else task
    scorer = retriever.scorer(task)
    found = {}
    for group in task.groups:
        if not len(group.docs):
            continue
        scores = scorer(group.docs)(group.queries)
        if isinstance(scores, Hits):
            places, scores = scores.places, scores.scores
        else:
            places = np.broadcast_to(np.arange(len(group.docs)), scores.shape)
        for query, here, row in zip(group.queries, places, scores, strict=True):
            for place, score in zip(here, row, strict=True):
                if place >= 0:
                    doc_id = task.doc_ids[group.docs[place]]
                    found[str(task.query_ids[query]), str(doc_id)] = float(score)
    return found


def paired(matrix: Any, pools: Mapping[str, list[str]] | None = None) -> Scores:
    """A (queries, documents) matrix over the texts above as a table; of the pools where given."""
    return {
        (query, doc): float(matrix[i][j])
        for i, query in enumerate(ASKED)
        for j, doc in enumerate(DOCS)
        if pools is None or doc in pools[query]
    }


class Known:
    """Stands for an encoder: what it makes of each text is given."""

    def __init__(self, folder: Path, outputs: Mapping[str, Output], similarity: str) -> None:
        self._store, self._outputs = Store(folder), outputs
        self.similarity = self.similarity_of_model = similarity

    def text(self, segments: tuple[str, ...]) -> str:
        return " ".join(segments)

    def encode(self, texts: Iterable[str], **_: Any) -> Encodings:
        keys = {text: key_of(text) for text in self._outputs}
        if not all(self._store.has([*keys.values()])):
            sizes = np.ones(len(keys), np.int64)
            made = write_shard(
                self._store.folder, [*keys.values()], sizes, [*self._outputs.values()]
            )
            self._store.add(made)
        return self._store.rows([keys[text] for text in texts])

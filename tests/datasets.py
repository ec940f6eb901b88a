"""Small datasets in memory, and tables of what a retriever makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import ir_datasets
import numpy as np
from ir_datasets.formats import (
    BaseDocs,
    BaseQrels,
    BaseQueries,
    BaseScoredDocs,
    GenericDoc,
    GenericQrel,
    GenericQuery,
    GenericScoredDoc,
)
from ir_datasets.indices import Docstore

from irtoolkit.datasets.handlers import DocsHandler
from irtoolkit.models.shards import Encodings, Output, key_of, write_shard
from irtoolkit.models.store import Store
from irtoolkit.retrievers.base import Hits, Retriever
from irtoolkit.retrievers.base import scores_of as bare
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


# -- parts of a dataset -----------------------------------------------------------------------


class Docs(BaseDocs):  # type: ignore[misc]
    """Documents as datasets of ir_datasets have them: id to text, or records."""

    def __init__(self, docs: Mapping[str, str] | Iterable[Any]) -> None:
        pairs = docs.items() if isinstance(docs, Mapping) else None
        self.docs = list(docs) if pairs is None else [GenericDoc(*pair) for pair in pairs]

    def docs_iter(self) -> Iterator[Any]:
        return iter(self.docs)

    def docs_count(self) -> int:
        return len(self.docs)

    def docs_store(self) -> Docstore:
        return _DocStore(self.docs)


class _DocStore(Docstore):  # type: ignore[misc]
    def __init__(self, docs: Sequence[Any]) -> None:
        super().__init__(type(docs[0]) if docs else GenericDoc)
        self._docs = docs

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[Any]:
        # A store may answer in its own order.
        wanted = set(doc_ids)
        return (doc for doc in self._docs if doc.doc_id in wanted)


class Queries(BaseQueries):  # type: ignore[misc]
    """Queries: id to text, which may be empty, or records."""

    def __init__(self, queries: Mapping[str, str] | Iterable[Any]) -> None:
        pairs = queries.items() if isinstance(queries, Mapping) else None
        self.queries = list(queries) if pairs is None else [GenericQuery(*pair) for pair in pairs]

    def queries_iter(self) -> Iterator[Any]:
        return iter(self.queries)


class Candidates(BaseScoredDocs):  # type: ignore[misc]
    """Candidates: query id to document ids, or pairs in any order."""

    def __init__(self, pools: Mapping[str, Iterable[str]] | Iterable[tuple[str, str]]) -> None:
        if isinstance(pools, Mapping):
            pools = [(query, doc) for query, docs in pools.items() for doc in docs]
        self.rows = list(pools)

    def scoreddocs_iter(self) -> Iterator[GenericScoredDoc]:
        return (GenericScoredDoc(query, doc, 0.0) for query, doc in self.rows)


class Grades(BaseQrels):  # type: ignore[misc]
    """Judgments: rows that begin with query id, document id and grade."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self.rows = [GenericQrel(*row[:3]) for row in rows]

    def qrels_iter(self) -> Iterator[GenericQrel]:
        return iter(self.rows)

    def qrels_cls(self) -> type:
        return GenericQrel

    def qrels_defs(self) -> dict[int, str]:
        return {1: "relevant"}


def register_parts(*parts: object, name: str | None = None) -> str:
    """Makes parts a dataset that ir_datasets knows; returns its id, a new one by default."""
    dataset_id = name or f"test-{next(_NUMBERS)}"
    ir_datasets.registry.register(dataset_id, ir_datasets.Dataset(*parts))
    return dataset_id


def register(
    docs: Mapping[str, Any] = DOCS,
    queries: Mapping[str, str] | Iterable[Any] = ASKED,
    pools: Mapping[str, Iterable[str]] | None = None,
    qrels: Iterable[tuple[Any, ...]] | None = None,
    *,
    name: str | None = None,
) -> str:
    """Makes texts a dataset, whose queries rank their pools or else everything; returns its id.

    `irtoolkit.datasets.memory.dataset_of_texts` refuses empty queries, and retrievers must not.

    Args:
        docs: id to text, or id to record.
        queries: id to text, or records.
        pools: query id to candidates.
        qrels: rows of query id, document id and grade.
        name: its id; by default a new one.
    """
    records = {
        doc: GenericDoc(doc, text) if isinstance(text, str) else text for doc, text in docs.items()
    }
    kind = type(next(iter(records.values()))) if records else GenericDoc
    parts: list[Any] = [DocsHandler(lambda: records, kind, "test", "en"), Queries(queries)]
    parts += [] if pools is None else [Candidates(pools)]
    parts += [] if qrels is None else [Grades(qrels)]
    return register_parts(*parts, name=name)


# -- what retrievers make of one --------------------------------------------------------------


def scores_of(task: Task | str, retriever: Retriever, **views: Any) -> dict[str, dict[str, float]]:
    """Query id to the score of each candidate, or of each hit, in their order.

    Args:
        task: a task, or a dataset's id.
        retriever: what scores.
        views: of a dataset, as `query` and `doc`.
    """
    task = load_task(task, **views) if isinstance(task, str) else task
    scorer = retriever.scorer(task)
    found: dict[str, dict[str, float]] = {}
    for group in task.groups:
        if not len(group.docs):
            continue
        scores = bare(scorer(group.docs)(group.queries))
        if isinstance(scores, Hits):
            places, scores = scores.places, scores.scores
        else:
            places = np.broadcast_to(np.arange(len(group.docs)), scores.shape)
        for query, here, row in zip(group.queries, places, scores, strict=True):
            names = task.doc_ids[group.docs[here]].tolist()
            pairs = zip(names, here, row.tolist(), strict=True)
            # Where there are fewer hits than asked for, their place is -1.
            found[str(task.query_ids[query])] = {doc: s for doc, place, s in pairs if place >= 0}
    return found


def table(task: Task | str, retriever: Retriever) -> Scores:
    """(query id, document id) to score, for each candidate or hit."""
    rows = scores_of(task, retriever)
    return {(query, doc): score for query, row in rows.items() for doc, score in row.items()}


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

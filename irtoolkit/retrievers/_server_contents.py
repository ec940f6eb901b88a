"""Data exchanged with search servers: the contents of an index, candidates, and hits."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ids, Ints
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers.base import Hits
from irtoolkit.retrievers.dense import VectorRetriever
from irtoolkit.retrievers.neural import encoder_of
from irtoolkit.retrievers.task import Task
from irtoolkit.runs.order import tie_order

# Part of what an index is known by: goes up when what is written of a document changes.
_FORMAT = 1
# Documents whose vectors are made at once.
_ENCODED = 10_000
# A server's index names have lower-case letters, digits and hyphens.
_UNUSABLE = re.compile(r"[^a-z0-9]+")
_SHOWN = 40
T = TypeVar("T")


class ServerSettings(Protocol):
    """The settings that a search on any server has."""

    @property
    def model(self) -> str: ...
    @property
    def hits(self) -> int: ...
    @property
    def exact(self) -> bool: ...
    @property
    def similarity(self) -> str | None: ...
    @property
    def id_field(self) -> str: ...


class ServerDocument(NamedTuple):
    """A document as it is sent to a server; its vector is None if the retriever has no model."""

    doc_id: str
    text: str
    vector: list[float] | None


@dataclass(frozen=True)
class Contents:
    """The contents of an index of a dataset, by which it is found again.

    Attributes:
        documents: the number of documents.
        hash: of their ids and texts.
        settings: what was done to them.
    """

    documents: int
    hash: str
    settings: Mapping[str, Any]

    def note(self, complete: bool) -> dict[str, Any]:
        """Returns the note that the server keeps with the index."""
        return {
            "format": _FORMAT,
            "documents": self.documents,
            "hash": self.hash,
            "settings": json.dumps(dict(self.settings), sort_keys=True),
            "complete": complete,
        }

    def name(self, dataset_id: str) -> str:
        """A name for the index, which differs from that of any other contents."""
        note = json.dumps(self.note(True), sort_keys=True)
        digest = hashlib.sha256(note.encode()).hexdigest()[:12]
        words = _UNUSABLE.sub("-", dataset_id.lower()).strip("-")[:_SHOWN].strip("-")
        return f"irtoolkit-{words or 'documents'}-{digest}"

    def check_same(self, note: Mapping[str, Any], name: str, usual: Collection[str] = ()) -> None:
        """Raises InputError for an index that another dataset or other settings have made.

        Args:
            note: what was noted with it.
            name: the index, for messages.
            usual: settings that were not given, so that those of the index are taken.
        """
        expected = self.note(True)
        if note.get("format") != _FORMAT:
            raise InputError(f"{name} was made by another version of irtoolkit", remedy=_OTHER)
        if (note.get("hash"), note.get("documents")) != (expected["hash"], expected["documents"]):
            raise InputError(
                f"{name} was made of other documents: {note.get('documents')}, not the"
                f" {self.documents} of this dataset",
                remedy=_OTHER,
            )
        actual = json.loads(note["settings"])
        for key, value in self.settings.items():
            if key not in usual and actual.get(key) != value:
                raise InputError(
                    f"{name} was made with {key}={actual.get(key)}, not {value}", remedy=_OTHER
                )


_OTHER = "index=OTHER build=true makes another, or leave index out"


def contents_of(task: Task, settings: Mapping[str, Any]) -> Contents:
    """Returns the contents of an index of a task's collection."""
    digest, count = hashlib.sha256(), 0
    for doc_id, segments in task.collection():
        digest.update(f"\x1e{doc_id}\x1f{' '.join(segments)}".encode())
        count += 1
    return Contents(count, digest.hexdigest()[:32], settings)


def documents_of(retriever: VectorRetriever, task: Task, skip: int) -> Iterator[ServerDocument]:
    """The documents of a collection from the one numbered `skip`, as they are sent."""
    for part in in_chunks(islice(task.collection(), skip, None), _ENCODED):
        vectors: list[Any] = [None] * len(part)
        if retriever.model:
            encoder = encoder_of(retriever, "document")
            texts = (encoder.text(segments) for _, segments in part)
            vectors = encoder.encode(texts, what="documents", count=len(part)).vectors().tolist()
        for (doc_id, segments), vector in zip(part, vectors, strict=True):
            yield ServerDocument(doc_id, " ".join(segments), vector)


def in_chunks(items: Iterator[T], size: int) -> Iterator[list[T]]:
    """Lists of so many items; the last one may be shorter."""
    while part := list(islice(items, size)):
        yield part


# Ids in one filter.
CHUNK = 10_000
# Id and score of the documents that a query finds, best first.
ServerHits = list[tuple[str, float]]


@dataclass(frozen=True, eq=False)
class ServerCandidates:
    """Candidates as a request to a server names them.

    Attributes:
        ids: (c,) the ids.
        order: (c,) places of the ids in ascending order.
        only: whether a request names these ids; else it names the few that are left out.
        without: the ids of these few.
    """

    ids: Ids
    order: Ints
    only: bool
    without: list[str]

    @classmethod
    def of(cls, task: Task, docs: Ints) -> ServerCandidates:
        """Returns a task's documents at some positions as candidates."""
        ids = task.doc_ids[docs]
        is_rest = np.ones(len(task.doc_ids), bool)
        is_rest[docs] = False
        only = task.pooled or task.picked or is_rest.sum() > len(docs)
        without = [] if only else task.doc_ids[is_rest].tolist()
        return cls(ids, np.argsort(ids), only, without)

    def places(self, doc_ids: Sequence[str], where: str) -> Ints:
        """Returns the positions of the ids of hits.

        Raises:
            InputError: an id that is none of the candidates'.
        """
        ids = np.array(doc_ids, dtype=object)
        ranks = np.searchsorted(self.ids, ids, sorter=self.order)
        places = self.order[np.minimum(ranks, len(self.ids) - 1)]
        strange = self.ids[places] != ids
        if strange.any():
            raise InputError(
                f"document {ids[np.argmax(strange)]} of {where} is not in the dataset",
                remedy="name an index of this dataset's documents, or another field of ids",
            )
        return places

    def hits(
        self, results: Sequence[ServerHits], most: int, where: str, rest: float | None
    ) -> Hits:
        """Hits of queries.

        Args:
            results: the hits of each query.
            most: number of documents to rank, at most.
            where: the index, for messages.
            rest: the score of candidates without a hit; None if they are not ranked.

        Raises:
            InputError: a document is found twice, or is none of the candidates.
        """
        rows = []
        for pairs in results:
            places = self.places([doc_id for doc_id, _ in pairs], where)
            if len(set(places.tolist())) < len(places):
                [(twice, times)] = Counter(doc_id for doc_id, _ in pairs).most_common(1)
                raise _repeated(twice, times, where)
            scores = np.array([score for _, score in pairs], np.float64)
            if rest is not None and len(places) < min(most, len(self.ids)):
                is_rest = np.ones(len(self.ids), bool)
                is_rest[places] = False
                equals = tie_order(self.order)
                more = equals[is_rest[equals]]
                places = np.concatenate([places, more])
                scores = np.concatenate([scores, np.full(len(more), rest)])
            rows.append((places, scores))
        width = max((len(places) for places, _ in rows), default=0)
        arrays = np.full((len(rows), width), -1, np.int64), np.zeros((len(rows), width))
        for row, (places, scores) in enumerate(rows):
            arrays[0][row, : len(places)], arrays[1][row, : len(places)] = places, scores
        return Hits(*arrays)


def _repeated(doc_id: str, times: int, where: str) -> InputError:
    return InputError(
        f"id {doc_id} is there {times:,} times in {where}",
        remedy="name an index with one row for each document, or another field of ids",
    )


def check_present(
    task: Task,
    where: str,
    present: Callable[[list[str], int], list[str]],
    *,
    blank_too: bool,
    step: int = CHUNK,
) -> None:
    """Raises InputError for an index that lacks a candidate, or has one more than once.

    Args:
        task: whose candidates.
        where: the index, for messages.
        present: the ids of the rows that some ids have in the index, of at most so many rows.
        blank_too: whether it has to hold documents without text, too.
        step: one less than the most rows that `present` gives.
    """
    with tqdm(
        total=len(task.doc_ids), desc="checking ids", unit="document", disable=None, leave=None
    ) as bar:
        for start in range(0, len(task.doc_ids), step):
            ids = task.doc_ids[start : start + step].tolist()
            rows = present(ids, len(ids) + 1)  # one more shows that an id is there twice
            counts = Counter(rows)
            if len(counts) < len(rows):
                [(twice, _)] = counts.most_common(1)
                raise _repeated(twice, len(present([twice], step + 1)), where)
            bar.update(len(ids))
            absent = [start + number for number, doc_id in enumerate(ids) if doc_id not in counts]
            for number in absent:
                if blank_too or any(text.strip() for text in task.docs[np.array([number])][0]):
                    raise InputError(
                        f"document {task.doc_ids[number]} of {task.dataset_id} is not in {where}"
                        f" ({len(absent):,} of the first {start + len(ids):,} are not)",
                        remedy="name an index of this dataset's documents, or another field of ids",
                    )

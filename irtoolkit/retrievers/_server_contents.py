"""The contents of an index on a search server, and the documents that are sent there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers.dense import VectorRetriever
from irtoolkit.retrievers.neural import encoder_of
from irtoolkit.retrievers.task import Task

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

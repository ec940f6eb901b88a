"""The base class of retrievers whose index is on a search server."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar, Protocol
from urllib.parse import urlsplit

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Ints
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers._server_contents import (
    Contents,
    ServerCandidates,
    ServerDocument,
    ServerHits,
    contents_of,
    documents_of,
)
from irtoolkit.retrievers.base import Ask, Block, Hits, Scorer, Stores, keep_last
from irtoolkit.retrievers.dense import VectorRetriever, encode_texts
from irtoolkit.retrievers.neural import encoder_of
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.vectors import Similarity


class ServerIndex(Protocol):
    """One index on a search server, which may not exist yet."""

    @property
    def name(self) -> str: ...

    @property
    def where(self) -> str:
        """Name and server, for messages."""
        ...

    def note(self) -> dict[str, Any] | None:
        """Returns irtoolkit's note on it, empty for an index of others; None if it does not exist."""
        ...

    def set_note(self, note: dict[str, Any]) -> None:
        """Keeps a note with the index."""
        ...

    def absent(self) -> InputError:
        """Returns the error for an index that does not exist."""
        ...

    def describe(self) -> dict[str, Any]:
        """Returns the server, its address and version, for the record of a run."""
        ...

    def describe_documents(self) -> dict[str, Any]:
        """Returns the number of documents of an index of others, and what identifies it."""
        ...

    def create(self, contents: Contents, width: int | None) -> None:
        """Makes the index, for vectors of so many numbers if there are any."""
        ...

    def count(self) -> int:
        """Returns the number of documents."""
        ...

    def add(self, rows: Iterator[ServerDocument]) -> Iterator[int]:
        """Sends documents; yields how many were sent, again and again."""
        ...

    def check(self, task: Task, is_ours: bool) -> None:
        """Raises InputError if the index cannot be searched, or is another dataset's."""
        ...

    def check_width(self, width: int) -> None:
        """Raises InputError if its vectors have another width, or are compared otherwise."""
        ...

    def search(self, queries: list[Any], pool: ServerCandidates) -> list[ServerHits]:
        """Returns the hits of each query, a text or a vector, among some candidates."""
        ...


@dataclass(frozen=True)
class ServerRetriever(VectorRetriever):
    """A retriever whose index is on a search server.

    Attributes:
        url: the server's address. Credentials are read from the environment only.
        index: the name of an index on the server; by default one that is made of the dataset, and
            named after it.
        build: whether the dataset is indexed under the name `index` where there is no such index.
        hits: documents found for each query, at most.
        exact: whether every vector of a corpus is compared; pools always are.
        similarity: "cosine", "dot" or "l2" of the vectors in an index that is made; by default the
            model's. That of an existing index is as it is.
        timeout: seconds that a request may take.
        retries: how often a request is repeated that got no answer, or that an overloaded server
            has rejected.
    """

    # And the index, on the server's disk.
    stores: ClassVar[Stores] = "vectors"
    # The module of the client, and the most documents that one request sends.
    client: ClassVar[str] = ""
    sent: ClassVar[int] = 500

    url: str | None = None
    index: str | None = None
    build: bool = False
    hits: int = 1000
    exact: bool = False
    similarity: Similarity | None = None
    timeout: float = 60.0
    retries: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = {
            "hits": 1 <= self.hits < 1 << 31,
            "timeout": 0 < self.timeout < np.inf,
            "retries": 0 <= self.retries < 100,
        }
        for name, fine in allowed.items():
            if not fine:
                raise InputError(f"setting {name}={getattr(self, name)} is out of range")
        if self.build and self.index is None:
            raise InputError("build=true needs a name for the index", remedy="--set index=NAME")
        if self.url is not None:
            checked_url(self.url)

    @abstractmethod
    def on_server(self, name: str, *, is_ours: bool) -> ServerIndex:
        """Returns the index of a name, made by irtoolkit or by others."""

    @abstractmethod
    def made_with(self) -> dict[str, Any]:
        """Returns the settings that decide the contents of an index."""

    def chosen(self) -> dict[str, Any]:
        """Returns the settings of an index that the server or the model decides where they are None."""
        return {"similarity": self.similarity}

    def check_foreign(self, index: ServerIndex) -> None:
        """Raises InputError for a setting that an index of others has itself."""

    def missing(self) -> str | None:
        if find_spec(self.client) is None:
            return str(needs_extra(self.client.replace("_", "-"), "backends"))
        return super().missing() if self.model else None

    def fingerprint(self) -> str | None:
        return super().fingerprint() if self.model else None

    def computed(self) -> dict[str, Any]:
        return super().computed() if self.model else {}

    def most(self) -> int | None:
        return self.hits

    def server(self, task: Task) -> dict[str, Any]:
        contents, index = self._look(task)
        documents = (
            index.describe_documents()
            if contents is None
            else {"documents": contents.documents, "hash": contents.hash}
        )
        return {**index.describe(), "index": index.name, **documents}

    def prepare(self, task: Task) -> Ask:
        contents, index = self._look(task)
        note = index.note()
        if contents is not None and not (note or {}).get("complete"):
            self._build(task, contents, index)
            index = self.on_server(index.name, is_ours=True)
        index.check(task, contents is not None)

        def ask(query_task: Task) -> Scorer:
            queries = self._queries(query_task, index)
            candidates = keep_last(partial(ServerCandidates.of, query_task))

            def prepared(docs: Ints) -> Block:
                pool = candidates(docs)
                rest = 0.0 if pool.only and not self.model else None

                def score(query: Ints) -> Hits:
                    results = index.search(queries[query].tolist(), pool)
                    return pool.hits(results, self.hits, index.where, rest)

                return score

            return prepared

        return ask

    def _queries(self, task: Task, index: ServerIndex) -> Any:
        """Returns the queries as the index takes them: (q,) texts or (q, dimensions) vectors."""
        if not self.model:
            return np.array([" ".join(segments) for segments in task.queries], dtype=object)
        vectors = encode_texts(encoder_of(self, "query"), self.asked(task), "queries").vectors()
        index.check_width(vectors.shape[1])
        return vectors

    def _look(self, task: Task) -> tuple[Contents | None, ServerIndex]:
        """Returns the index, and its contents if irtoolkit makes it."""
        if self.index is not None:
            index = self.on_server(self.index, is_ours=False)
            note = index.note()
            if note == {}:
                self.check_foreign(index)
                return None, index
            if note is None and not self.build:
                raise index.absent()
        contents = contents_of(task, self.made_with())
        name = self.index or contents.name(task.dataset_id)
        index = self.on_server(name, is_ours=True)
        note = index.note()
        if note:
            usual = {key for key, value in self.chosen().items() if value is None}
            contents.check_same(note, index.where, usual)
        return contents, index

    def _build(self, task: Task, contents: Contents, index: ServerIndex) -> None:
        """Makes the index of a dataset, or completes it."""
        done = 0
        if index.note() is None:
            width = None
            if self.model:
                encoder = encoder_of(self, "document")
                width = encoder.encode(["text"], what="texts", count=1).vectors().shape[1]
            index.create(contents, width)
        else:
            # What was sent last may be there in part.
            done = max(0, index.count() - self.sent)
        with tqdm(
            total=contents.documents,
            initial=done,
            desc=f"indexing on {self.name}",
            unit="doc",
            disable=None,
            leave=None,
        ) as bar:
            for count in index.add(documents_of(self, task, done)):
                bar.update(count)
        count = index.count()
        if count != contents.documents:
            raise InputError(
                f"{index.where} has {count:,} documents, not {contents.documents:,}",
                remedy="somebody else writes to it, or an id is there twice; delete it",
            )
        index.set_note({**(index.note() or {}), "complete": True})

    def settings(self) -> dict[str, Any]:
        """Every parameter with its value; without a model, none that concerns one."""
        unused = {"exact", "similarity", *(item.name for item in fields(VectorRetriever))}
        return {
            key: value
            for key, value in super().settings().items()
            if self.model or key not in unused
        }


def checked_url(url: str) -> str:
    """An address of a server.

    Raises:
        InputError: it is none, or has a password in it, which would be recorded.
    """
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        raise InputError("setting url is not an address", remedy="url=http://HOST:PORT") from None
    if parts.username is not None or parts.password is not None:
        raise InputError(
            f"the address of {parts.hostname} has a user name in it, which would be recorded",
            remedy="give user name and password as environment variables",
        )
    if not fine:
        raise InputError(f"setting url={url} is not an address", remedy="url=http://HOST:PORT")
    return url

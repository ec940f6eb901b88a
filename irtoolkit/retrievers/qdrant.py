"""Search in Qdrant: the nearest vectors, on a server or in this process."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers._qdrant import QdrantCollection
from irtoolkit.retrievers._qdrant_points import IdFilter
from irtoolkit.retrievers._search_client import no_such_index, secret
from irtoolkit.retrievers._server_contents import (
    CHUNK,
    Contents,
    ServerCandidates,
    ServerDocument,
    ServerHits,
    check_present,
    in_chunks,
)
from irtoolkit.retrievers._servers import ServerIndex, ServerRetriever
from irtoolkit.retrievers.neural import encoder_of
from irtoolkit.retrievers.task import Task

# Queries in one request.
_AT_ONCE = 32
# Equal vectors may be found with scores that differ by rounding.
_NEAR = 1e-6


@dataclass(frozen=True)
class Qdrant(ServerRetriever):
    """Search in a collection of Qdrant.

    Vectors are searched approximately over a corpus, exactly in a pool. Scores are Qdrant's cosine
    or dot product, or its distance, negated. QDRANT_API_KEY of the environment gives a key.

    Attributes:
        url: the server's address; by default http://localhost:6333.
        path: in place of a server, a folder that Qdrant's client keeps in this process, or
            ":memory:". It compares every vector.
        index: the name of a collection; by default one that is made of the dataset.
        id_field: the field of the payload with the documents' ids, or `_id` for the points' own.
        vector: the name of the vectors in a collection that names them.
        ef: neighbours that are kept in mind while the graph is searched; by default the server's.
    """

    name: ClassVar[str] = "qdrant"
    client: ClassVar[str] = "qdrant_client"
    sent: ClassVar[int] = 256

    path: str | None = None
    model: str = "all-MiniLM-L6-v2"
    id_field: str = "id"
    vector: str | None = None
    ef: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.url is not None and self.path is not None:
            raise InputError("url and path both name a place", remedy="give one of them")

    def missing(self) -> str | None:
        if find_spec(self.client) is None:
            return str(needs_extra("qdrant-client", "backends"))
        return super().missing()

    def stays_here(self) -> bool:
        return self.path is not None

    def on_server(self, name: str, *, is_ours: bool) -> QdrantIndex:
        location = self.path or self.url or "http://localhost:6333"
        client = _client(location, self.path is not None, self.timeout)
        vector = None if is_ours else self.vector
        collection = QdrantCollection(client, location, name, vector, self.retries)
        return QdrantIndex(self, collection, is_ours)

    def made_with(self) -> dict[str, Any]:
        similarity = self.similarity or encoder_of(self, "document").similarity
        return {"similarity": similarity, **self.index_settings()}

    def _build(self, task: Task, contents: Contents, index: ServerIndex) -> None:
        super()._build(task, contents, index)
        if self.path not in (None, ":memory:"):
            # Qdrant rounds vectors again when it opens a folder; scores must not change by that.
            _close(str(self.path))


class QdrantIndex:
    """A collection of Qdrant, of irtoolkit or of others; a `ServerIndex`."""

    def __init__(self, settings: Qdrant, collection: QdrantCollection, is_ours: bool) -> None:
        self._settings, self._collection, self._is_ours = settings, collection, is_ours
        self.name, self.where = collection.name, collection.where

    @cached_property
    def _filter(self) -> IdFilter:
        """How documents are selected by their ids.

        Raises:
            InputError: the collection does not have the field of ids.
        """
        field = "id" if self._is_ours else self._settings.id_field
        number = self._collection.has_numbers(field)
        return IdFilter(field, ours=self._is_ours, number=number)

    def note(self) -> dict[str, Any] | None:
        return self._collection.note() if self._collection.exists() else None

    def set_note(self, note: dict[str, Any]) -> None:
        self._collection.set_note(note)

    def absent(self) -> InputError:
        collection = self._collection
        return no_such_index("collection", self.name, collection.place, collection.names())

    def describe(self) -> dict[str, Any]:
        collection = self._collection
        return {"server": "Qdrant", "url": collection.place, "version": collection.version()}

    def describe_documents(self) -> dict[str, Any]:
        return {"documents": self.count()}

    def create(self, contents: Contents, width: int | None) -> None:
        assert width is not None
        self._collection.create(width, contents.settings["similarity"], contents.note(False))

    def count(self) -> int:
        return self._collection.count()

    def add(self, rows: Iterator[ServerDocument]) -> Iterator[int]:
        for chunk in in_chunks(rows, self._settings.sent):
            self._collection.add([(row.doc_id, row.vector or []) for row in chunk])
            yield len(chunk)

    def check(self, task: Task, is_ours: bool) -> None:
        present = partial(self._collection.present, self._filter)
        if not is_ours:
            check_present(task, self.where, present, blank_too=True)

    def check_width(self, width: int) -> None:
        self._collection.check_width(width, self._settings.model, self._settings.similarity)

    def search(self, queries: list[Any], pool: ServerCandidates) -> list[ServerHits]:
        rows: list[ServerHits] = []
        few = len(queries) <= _AT_ONCE or None
        with tqdm(
            total=len(queries), desc="asking qdrant", unit="query", leave=None, disable=few
        ) as bar:
            for part in in_chunks(iter(queries), _AT_ONCE):
                rows += self._pool(part, pool) if pool.only else self._corpus(part, pool)
                bar.update(len(part))
        return rows

    def _pool(self, vectors: list[list[float]], pool: ServerCandidates) -> list[ServerHits]:
        rows: list[ServerHits] = [[] for _ in vectors]
        for ids in in_chunks(iter(pool.ids.tolist()), CHUNK):
            only = self._filter.of(ids)
            results = self._collection.search(vectors, len(ids), only, self._filter, exact=True)
            for row, more in zip(rows, results, strict=True):
                if len(more) < len(ids):
                    raise InputError(
                        f"{len(ids) - len(more):,} candidates have no vector in {self.where}"
                    )
                row.extend(more)
        return rows

    def _corpus(self, vectors: list[list[float]], pool: ServerCandidates) -> list[ServerHits]:
        s = self._settings
        without = self._filter.of(pool.without, but=True) if pool.without else None
        most = min(s.hits, len(pool.ids))
        limit, waiting = most + 1, list(range(len(vectors)))
        rows: list[ServerHits] = [[] for _ in vectors]
        while waiting:
            batch = [vectors[query] for query in waiting]
            results = self._collection.search(
                batch, limit, without, self._filter, exact=s.exact, ef=s.ef
            )
            for query, row in zip(waiting, results, strict=True):
                rows[query] = row
            # Documents that score like the last one are asked for, until all are known.
            waiting = [
                query
                for query in waiting
                if len(rows[query]) == limit
                and rows[query][-1][1] > rows[query][most - 1][1] - _NEAR
            ]
            limit *= 2
        return rows


# Clients of servers and of ":memory:" by their places, until the process ends.
_CLIENTS: dict[tuple[str, float], Any] = {}
# Those of folders, of which each locks its own: once no search needs one any more, it is closed.
_FOLDERS: WeakValueDictionary[str, Any] = WeakValueDictionary()


def _client(location: str, local: bool, timeout: float) -> Any:
    """Returns the client of a place."""
    if local and location != ":memory:":
        client = _FOLDERS.get(location)
        if client is None:
            client = _FOLDERS[location] = _opened(location, local, timeout)
        return client
    key = (location, 0.0 if local else timeout)
    if key not in _CLIENTS:
        _CLIENTS[key] = _opened(location, local, timeout)
    return _CLIENTS[key]


def _close(location: str) -> None:
    """Closes a folder."""
    client = _FOLDERS.pop(location, None)
    if client is not None:
        client.close()


@atexit.register
def _close_all() -> None:
    # Before Python unloads what closing needs.
    for client in [*_FOLDERS.values(), *_CLIENTS.values()]:
        client.close()


def _opened(location: str, local: bool, timeout: float) -> Any:
    from qdrant_client import QdrantClient

    try:
        if local:
            inside = location == ":memory:"
            return QdrantClient(**({"location": location} if inside else {"path": location}))
        return QdrantClient(
            url=location,
            api_key=secret("QDRANT_API_KEY"),
            timeout=max(1, int(timeout)),
            check_compatibility=False,
        )
    except (OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        if "already accessed" in reason:
            raise InputError(
                f"another process uses the folder {location}", remedy="wait for it, or run a server"
            ) from None
        raise InputError(f"Qdrant cannot open {location}: {reason[:200]}") from None

"""Search in Qdrant: the nearest vectors, on a server or in this process."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.ids import Ints
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers._qdrant import QdrantCollection
from irtoolkit.retrievers._qdrant_points import IdFilter
from irtoolkit.retrievers._server_candidates import (
    CHUNK,
    ServerCandidates,
    ServerHits,
    refuse_absent,
)
from irtoolkit.retrievers._server_contents import Contents, contents_of, in_chunks, vectors_of
from irtoolkit.retrievers._servers import ServerRetriever, no_such_index, secret
from irtoolkit.retrievers.base import Ask, Block, Hits, Scorer, keep_last
from irtoolkit.retrievers.dense import encoded
from irtoolkit.retrievers.neural import encoder_of
from irtoolkit.retrievers.task import Task

# Queries in one request, and points in one request.
_AT_ONCE, _SENT = 32, 256
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
    noun: ClassVar[str] = "collection"

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

    def server(self, task: Task) -> dict[str, Any]:
        contents, collection = self._look(task)
        documents = collection.count() if contents is None else contents.documents
        identity = {} if contents is None else {"hash": contents.note(True)["hash"]}
        return {
            "server": "Qdrant",
            "url": collection.place,
            "version": collection.version(),
            "index": collection.name,
            "documents": documents,
            **identity,
        }

    def scorer(self, task: Task) -> Scorer:
        return self.prepare(task)(task)

    def prepare(self, task: Task) -> Ask:
        contents, collection = self._look(task)
        built = contents is not None and self._build(task, contents, collection)
        if built and self.path not in (None, ":memory:"):
            # Qdrant rounds vectors again when it opens a folder; scores must not change by that.
            _close(str(self.path))
            _, collection = self._look(task)
        field = "id" if contents is not None else self.id_field
        id_filter = IdFilter(field, ours=contents is not None, number=collection.has_numbers(field))
        if contents is None:
            present = partial(collection.present, id_filter)
            refuse_absent(task, collection.where, present, blank_too=True)
        search = _Search(self, collection, id_filter)

        def ask(query_task: Task) -> Scorer:
            texts = self.asked(query_task)
            queries = encoded(encoder_of(self, "query"), texts, "queries").vectors()
            collection.refuse_width(queries.shape[1], self.model, self.similarity)
            candidates = keep_last(lambda docs: ServerCandidates.of(query_task, docs))

            def prepared(docs: Ints) -> Block:
                pool = candidates(docs)

                def score(query: Ints) -> Hits:
                    results = search(queries[query].tolist(), pool)
                    return pool.hits(results, self.hits, collection.where, None)

                return score

            return prepared

        return ask

    # -- the collection ------------------------------------------------------------------------------

    def _look(self, task: Task) -> tuple[Contents | None, QdrantCollection]:
        """Returns the contents of the collection if irtoolkit makes it, and the collection."""
        location = self.path or self.url or "http://localhost:6333"
        client = _client(location, self.path is not None, self.timeout)
        contents = None
        if self.index is not None:
            named = QdrantCollection(client, location, self.index, self.vector, self.retries)
            exists = named.exists()
            if exists and not named.note():
                return None, named
            if not exists and not self.build:
                raise no_such_index(self.noun, self.index, location, named.names())
        similarity = self.similarity or encoder_of(self, "document").similarity
        contents = contents_of(task, {"similarity": similarity, **self.index_settings()})
        name = self.index or contents.name(task.dataset_id)
        collection = QdrantCollection(client, location, name, None, self.retries)
        if collection.exists() and collection.note():
            usual = ["similarity"] if self.similarity is None else []
            contents.refuse_other(collection.note(), collection.where, usual)
        return contents, collection

    def _build(self, task: Task, contents: Contents, collection: QdrantCollection) -> bool:
        """Makes the collection of a dataset, or completes it; whether there was something to do."""
        done = 0
        if not collection.exists():
            probe = encoder_of(self, "document").encode(["text"], what="texts", count=1).vectors()
            note = contents.note(False)
            collection.create(probe.shape[1], contents.settings["similarity"], note)
        elif collection.note().get("complete"):
            return False
        else:
            # What was sent last may be there in part.
            done = max(0, collection.count() - _SENT)
        points = self._points(task, done)
        with tqdm(
            total=contents.documents,
            initial=done,
            desc="indexing on qdrant",
            unit="doc",
            disable=None,
            leave=None,
        ) as bar:
            for part in in_chunks(points, _SENT):
                collection.add(part)
                bar.update(len(part))
        count = collection.count()
        if count != contents.documents:
            raise InputError(
                f"{collection.where} has {count:,} documents, not {contents.documents:,}",
                remedy="somebody else writes to it, or an id is there twice; delete it",
            )
        collection.set_note({**collection.note(), "complete": True})
        return True

    def _points(self, task: Task, done: int) -> Iterator[tuple[str, list[float]]]:
        for doc_id, _, vector in vectors_of(self, task, done):
            yield doc_id, vector or []


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


class _Search:
    """Searches a collection with a retriever's settings."""

    def __init__(self, settings: Qdrant, collection: QdrantCollection, id_filter: IdFilter) -> None:
        self._settings, self._collection, self._known = settings, collection, id_filter

    def __call__(self, vectors: list[list[float]], pool: ServerCandidates) -> list[ServerHits]:
        """Returns the hits of each query among some candidates."""
        rows: list[ServerHits] = []
        few = len(vectors) <= _AT_ONCE or None
        with tqdm(
            total=len(vectors), desc="asking qdrant", unit="query", leave=None, disable=few
        ) as bar:
            for part in in_chunks(iter(vectors), _AT_ONCE):
                rows += self._pool(part, pool) if pool.only else self._corpus(part, pool)
                bar.update(len(part))
        return rows

    def _pool(self, vectors: list[list[float]], pool: ServerCandidates) -> list[ServerHits]:
        rows: list[ServerHits] = [[] for _ in vectors]
        for ids in in_chunks(iter(pool.ids.tolist()), CHUNK):
            only = self._known.of(ids)
            results = self._collection.search(vectors, len(ids), only, self._known, exact=True)
            for row, more in zip(rows, results, strict=True):
                if len(more) < len(ids):
                    raise InputError(
                        f"{len(ids) - len(more):,} candidates have no vector in"
                        f" {self._collection.where}"
                    )
                row.extend(more)
        return rows

    def _corpus(self, vectors: list[list[float]], pool: ServerCandidates) -> list[ServerHits]:
        s = self._settings
        without = self._known.of(pool.without, but=True) if pool.without else None
        most = min(s.hits, len(pool.ids))
        limit, waiting = most + 1, list(range(len(vectors)))
        rows: list[ServerHits] = [[] for _ in vectors]
        while waiting:
            batch = [vectors[query] for query in waiting]
            results = self._collection.search(
                batch, limit, without, self._known, exact=s.exact, ef=s.ef
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

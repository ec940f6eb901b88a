"""Search in Qdrant: the nearest vectors, on a server or in this process."""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.retrievers._qdrant import QdrantCollection
from irtoolkit.retrievers._qdrant_index import QdrantIndex
from irtoolkit.retrievers._search_client import secret
from irtoolkit.retrievers._server_contents import Contents
from irtoolkit.retrievers._servers import ServerIndex, ServerRetriever
from irtoolkit.retrievers.neural import encoder_of
from irtoolkit.retrievers.task import Task


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

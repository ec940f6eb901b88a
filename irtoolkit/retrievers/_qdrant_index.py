"""A collection of Qdrant as the index of a dataset: made, checked, and searched."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol

from irtoolkit.base.errors import InputError
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers._qdrant import QdrantCollection
from irtoolkit.retrievers._qdrant_points import IdFilter
from irtoolkit.retrievers._search_client import no_such_index
from irtoolkit.retrievers._server_contents import (
    CHUNK,
    Contents,
    ServerCandidates,
    ServerDocument,
    ServerHits,
    ServerSettings,
    check_present,
    in_chunks,
)
from irtoolkit.retrievers.task import Task

# Queries in one request.
_AT_ONCE = 32
# Equal vectors may be found with scores that differ by rounding.
_NEAR = 1e-6


class _Settings(ServerSettings, Protocol):
    """The settings of a search; see `irtoolkit.retrievers.qdrant.Qdrant`."""

    sent: ClassVar[int]

    @property
    def ef(self) -> int | None: ...


class QdrantIndex:
    """A collection of Qdrant, of irtoolkit or of others; a `ServerIndex`."""

    def __init__(self, settings: _Settings, collection: QdrantCollection, is_ours: bool) -> None:
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

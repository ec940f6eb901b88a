"""An index on Elasticsearch or OpenSearch: made, checked, and searched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers._search_api import AT_ONCE, Described, SearchApi, pairs_of
from irtoolkit.retrievers._server_contents import (
    CHUNK,
    Contents,
    ServerCandidates,
    ServerDocument,
    ServerHits,
    ServerSettings,
    check_present,
)
from irtoolkit.retrievers.task import Task

_TEXTS = ("text", "keyword", "match_only_text", "search_as_you_type", "wildcard", "alias")
_IDS = ("keyword", "integer", "long", "short", "unsigned_long", "constant_keyword", "alias")
# Rows that are wanted of a search, and a filter of documents.
WeightedClause = tuple[int, dict[str, Any] | None]


class Dialect(ServerSettings, Protocol):
    """The settings of a search, and how one server differs from another; see `SearchServer`."""

    vector_type: ClassVar[str]

    @property
    def name(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def vector_field(self) -> str: ...
    def nearest(
        self, vector: list[float], k: int, only: dict[str, Any] | None
    ) -> dict[str, Any]: ...
    def script(self, mapping: dict[str, Any]) -> str: ...
    def vector_settings(self) -> dict[str, Any]: ...
    def vector_mapping(self, width: int, similarity: str) -> dict[str, Any]: ...
    def vector_field_of(self, mapping: dict[str, Any]) -> tuple[int | None, str | None]: ...


class SearchIndex:
    """An index on Elasticsearch or OpenSearch; a `ServerIndex`."""

    def __init__(self, settings: Dialect, api: SearchApi) -> None:
        self._settings, self._api = settings, api
        self._described = api.describe()
        self.name, self.where = api.index, api.where

    @property
    def _index(self) -> Described:
        """The server's description.

        Raises:
            InputError: there is no index.
        """
        if self._described is None:
            raise self.absent()
        return self._described

    @property
    def _window(self) -> int:
        return min(self._index.window, CHUNK)

    def note(self) -> dict[str, Any] | None:
        return None if self._described is None else self._described.note

    def set_note(self, note: dict[str, Any]) -> None:
        self._api.set_note(note)

    def absent(self) -> InputError:
        return self._api.absent()

    def describe(self) -> dict[str, Any]:
        client = self._api.client
        return {"server": client.product, "url": client.url, "version": self._api.version()}

    def describe_documents(self) -> dict[str, Any]:
        return {"documents": self._api.documents(), "uuid": self._index.uuid}

    def create(self, contents: Contents, width: int | None) -> None:
        s, made = self._settings, contents.settings
        properties: dict[str, Any] = {s.field: {"type": "text", "analyzer": made["analyzer"]}}
        settings: dict[str, Any] = {}
        if width is not None:
            properties[s.vector_field] = s.vector_mapping(width, made["similarity"])
            settings |= s.vector_settings()
        bm25 = {key: made[key] for key in ("k1", "b") if made[key] is not None}
        if bm25:
            settings["similarity"] = {"default": {"type": "BM25", **bm25}}
        meta = {"irtoolkit": contents.note(False)}
        self._api.create({"_meta": meta, "properties": properties}, {"index": settings})
        self._described = self._api.describe()

    def count(self) -> int:
        return self._api.count()

    def add(self, rows: Iterator[ServerDocument]) -> Iterator[int]:
        s = self._settings
        sources = (
            (doc_id, {s.field: text, **({s.vector_field: vector} if vector else {})})
            for doc_id, text, vector in rows
        )
        for _ in self._api.add(sources):
            yield 1

    def check(self, task: Task, is_ours: bool) -> None:
        self._check_fields()
        if not is_ours:
            check_present(
                task,
                self.where,
                self._present,
                blank_too=bool(self._settings.model),
                step=max(1, min(self._index.window - 1, CHUNK)),
            )

    def _present(self, ids: list[str], most: int) -> list[str]:
        """The ids of the rows that some documents have in the index, of at most so many rows."""
        query = {"bool": {"filter": [self._filter(ids)]}}
        hits = self._api.search([{**self._request(most), "query": query}])[0]
        return [doc_id for doc_id, _ in pairs_of(hits, self._settings.id_field)]

    def _check_fields(self) -> None:
        s, fields = self._settings, self._index.fields
        needed: list[tuple[str, tuple[str, ...], str]] = [
            (s.vector_field, (s.vector_type,), "vector_field")
        ]
        if not s.model:
            needed = [(s.field, _TEXTS, "field")]
        if s.id_field != "_id":
            needed.append((s.id_field, _IDS, "id_field"))
        for name, kinds, setting in needed:
            fit = [key for key, mapping in fields.items() if mapping.get("type") in kinds]
            if name not in fit:
                lacks = "has no field" if name not in fields else f"has no {kinds[0]} in"
                listed = (
                    f"its fields of this kind are {', '.join(fit[:10])}" if fit else "it has none"
                )
                raise InputError(
                    f"{self.where} {lacks} {name}",
                    remedy=f"{did_you_mean(name, fit)}{listed}; --set {setting}=FIELD",
                )

    def check_width(self, width: int) -> None:
        s = self._settings
        index_width, similarity = s.vector_field_of(self._index.fields[s.vector_field])
        if index_width is not None and index_width != width:
            raise InputError(
                f"vectors of {s.model} have {width} numbers, those in {s.vector_field} of"
                f" {self.where} have {index_width}",
                remedy="take the model that the index was made with",
            )
        if s.similarity is not None and similarity not in (None, s.similarity):
            raise InputError(
                f"{self.where} compares by {similarity}, not {s.similarity}",
                remedy="leave similarity out, the index has its own",
            )

    def search(self, queries: list[Any], pool: ServerCandidates) -> list[ServerHits]:
        if pool.only:
            ids = pool.ids.tolist()
            chunks = [ids[i : i + self._window] for i in range(0, len(ids), self._window)]
            parts: list[WeightedClause] = [(len(chunk), self._filter(chunk)) for chunk in chunks]
        else:
            without = {"bool": {"must_not": [self._filter(pool.without)]}}
            parts = [(self._settings.hits, without if pool.without else None)]
        return [row for rows in self._batches(queries, pool, parts) for row in rows]

    def _filter(self, ids: list[str]) -> dict[str, Any]:
        """The documents with some ids."""
        if self._settings.id_field == "_id":
            return {"ids": {"values": ids}}
        return {"terms": {self._settings.id_field: ids}}

    def _request(self, size: int) -> dict[str, Any]:
        """Returns the part of a request that every search has."""
        id_field = self._settings.id_field
        fields = {} if id_field == "_id" else {"docvalue_fields": [id_field]}
        return {"size": size, "_source": False, "track_total_hits": False, **fields}

    def _batches(
        self, queries: list[Any], candidates: ServerCandidates, parts: list[WeightedClause]
    ) -> Iterator[list[ServerHits]]:
        few = len(queries) <= AT_ONCE
        name = f"asking {self._settings.name}"
        with tqdm(
            total=len(queries), desc=name, unit="query", leave=None, disable=few or None
        ) as bar:
            for start in range(0, len(queries), AT_ONCE):
                batch = queries[start : start + AT_ONCE]
                rows: list[ServerHits] = [[] for _ in batch]
                for size, only in parts:
                    for row, more in zip(
                        rows, self._part(batch, size, only, candidates), strict=True
                    ):
                        row.extend(more)
                yield rows
                bar.update(len(batch))

    def _part(
        self,
        queries: list[Any],
        most: int,
        only: dict[str, Any] | None,
        candidates: ServerCandidates,
    ) -> list[ServerHits]:
        s = self._settings
        nearest = bool(s.model) and not candidates.only and not s.exact
        if nearest:
            if most > CHUNK:
                raise InputError(
                    f"{s.name} finds {CHUNK:,} vectors at most, not {most:,}",
                    remedy=f"hits={CHUNK}, or exact=true compares all",
                )
            bodies = [
                {**self._request(most), **s.nearest(vector, most, only)} for vector in queries
            ]
            return [pairs_of(hits, s.id_field) for hits in self._api.search(bodies)]
        # One more than is wanted says whether the last one is tied.
        size = most if candidates.only else min(most + 1, self._window)
        bodies = [{**self._request(size), "query": self._query(query, only)} for query in queries]
        results = [pairs_of(hits, s.id_field) for hits in self._api.search(bodies)]
        if candidates.only:
            self._check_vectors(results, most)
            return results
        return [
            row if len(row) < size or _is_settled(row, most) else self._deep(body, most)
            for row, body in zip(results, bodies, strict=True)
        ]

    def _query(self, query: Any, only: dict[str, Any] | None) -> dict[str, Any]:
        s = self._settings
        if not s.model:
            scored: dict[str, Any] = {"match": {s.field: {"query": query}}}
            return {"bool": {"must": [scored], **({"filter": [only]} if only else {})}}
        filters = [{"exists": {"field": s.vector_field}}, *([only] if only else [])]
        script = {
            "source": s.script(self._index.fields.get(s.vector_field, {})),
            "params": {"vector": query, "field": s.vector_field},
        }
        return {"script_score": {"query": {"bool": {"filter": filters}}, "script": script}}

    def _check_vectors(self, results: list[ServerHits], most: int) -> None:
        missing = [most - len(row) for row in results if len(row) < most]
        if self._settings.model and missing:
            raise InputError(
                f"{missing[0]:,} candidates have no {self._settings.vector_field} in {self.where}",
                remedy="index them with their vectors",
            )

    def _deep(self, body: dict[str, Any], most: int) -> ServerHits:
        """The best documents of a query, and all that score like the last one of them."""
        pairs: ServerHits = []
        for hits in self._api.pages(body, self._window):
            pairs += pairs_of(hits, self._settings.id_field)
            if _is_settled(pairs, most):
                break
        return pairs


def _is_settled(row: ServerHits, most: int) -> bool:
    """Whether no document that comes later can be among the best."""
    return len(row) > most and row[-1][1] < row[most - 1][1]

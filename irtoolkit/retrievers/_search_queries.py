"""Searches of an index on Elasticsearch or OpenSearch: pools exactly, a corpus to a depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from irtoolkit.base.errors import InputError
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers._search_api import AT_ONCE, Described, SearchApi, pairs_of
from irtoolkit.retrievers._server_candidates import CHUNK, ServerCandidates, ServerHits

# Rows that are wanted of a search, and a filter of documents.
WeightedClause = tuple[int, dict[str, Any] | None]


class Dialect(Protocol):
    """How a server is asked; see `SearchServer`, whose settings these are."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def hits(self) -> int: ...
    @property
    def exact(self) -> bool: ...
    @property
    def field(self) -> str: ...
    @property
    def id_field(self) -> str: ...
    @property
    def vector_field(self) -> str: ...
    def filter(self, ids: list[str]) -> dict[str, Any]: ...
    def asking(self, size: int) -> dict[str, Any]: ...
    def nearest(
        self, vector: list[float], k: int, only: dict[str, Any] | None
    ) -> dict[str, Any]: ...
    def compared(self, mapping: dict[str, Any]) -> str: ...


class ServerSearch:
    """Searches an index with a retriever's settings."""

    def __init__(self, settings: Dialect, api: SearchApi, index: Described) -> None:
        self._settings, self._api, self._window = settings, api, min(index.window, CHUNK)
        self._mapping = index.fields.get(settings.vector_field, {})

    def __call__(self, queries: list[Any], candidates: ServerCandidates) -> list[ServerHits]:
        """Returns the hits of each query among some candidates."""
        if candidates.only:
            ids = candidates.ids.tolist()
            filters = [ids[i : i + self._window] for i in range(0, len(ids), self._window)]
            parts: list[WeightedClause] = [
                (len(part), self._settings.filter(part)) for part in filters
            ]
        else:
            without = {"bool": {"must_not": [self._settings.filter(candidates.without)]}}
            parts = [(self._settings.hits, without if candidates.without else None)]
        return [row for rows in self._batches(queries, candidates, parts) for row in rows]

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
            bodies = [{**s.asking(most), **s.nearest(vector, most, only)} for vector in queries]
            return [pairs_of(hits, s.id_field) for hits in self._api.search(bodies)]
        # One more than is wanted says whether the last one is tied.
        size = most if candidates.only else min(most + 1, self._window)
        bodies = [{**s.asking(size), "query": self._query(query, only)} for query in queries]
        results = [pairs_of(hits, s.id_field) for hits in self._api.search(bodies)]
        if candidates.only:
            self._refuse_vectorless(results, most)
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
            "source": s.compared(self._mapping),
            "params": {"vector": query, "field": s.vector_field},
        }
        return {"script_score": {"query": {"bool": {"filter": filters}}, "script": script}}

    def _refuse_vectorless(self, results: list[ServerHits], most: int) -> None:
        missing = [most - len(row) for row in results if len(row) < most]
        if self._settings.model and missing:
            raise InputError(
                f"{missing[0]:,} candidates have no {self._settings.vector_field} in"
                f" {self._api.where}",
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

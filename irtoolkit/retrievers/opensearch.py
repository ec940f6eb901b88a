"""Search in OpenSearch: BM25 over a text field, or the nearest vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers._search_client import (
    Client,
    ClientSettings,
    RefusedError,
    secret,
    unanswered,
)
from irtoolkit.retrievers._search_server import SearchServer

# OpenSearch's names of similarities, and the scripts that compute their scores.
_SIMILARITIES = {"cosine": "cosinesimil", "dot": "innerproduct", "l2": "l2"}
_NAMES = {name: key for key, name in _SIMILARITIES.items()}
_SCRIPTS = {
    "cosine": "(1.0 + cosineSimilarity(params.vector, doc[params.field])) / 2.0",
    "dot": "double dot = innerProduct(params.vector, doc[params.field]);"
    " return dot < 0 ? 1.0 / (1.0 - dot) : dot + 1.0",
    "l2": "1.0 / (1.0 + l2Squared(params.vector, doc[params.field]))",
}
_LINES = {"content-type": "application/x-ndjson"}


@dataclass(frozen=True)
class OpenSearch(SearchServer):
    """Search in an index of an OpenSearch server.

    As [elasticsearch](#elasticsearch), with the k-NN plugin's vectors. The environment has the
    credentials: OPENSEARCH_USERNAME and OPENSEARCH_PASSWORD.
    """

    name: ClassVar[str] = "opensearch"
    client: ClassVar[str] = "opensearchpy"
    vector_type: ClassVar[str] = "knn_vector"

    def connect(self) -> Client:
        return _Client(self)

    def vector_settings(self) -> dict[str, Any]:
        return {"knn": True}

    def vector_mapping(self, width: int, similarity: str) -> dict[str, Any]:
        method = {"name": "hnsw", "engine": "lucene", "space_type": _SIMILARITIES[similarity]}
        return {"type": "knn_vector", "dimension": width, "method": method}

    def vector_field_of(self, mapping: dict[str, Any]) -> tuple[int | None, str | None]:
        named = mapping.get("method", {}).get("space_type", mapping.get("space_type", "l2"))
        return mapping.get("dimension"), _NAMES.get(named)

    def script(self, mapping: dict[str, Any]) -> str:
        similarity = self.vector_field_of(mapping)[1]
        if similarity is None:
            raise InputError(
                f"{self.vector_field} has a space type that is not compared exactly",
                remedy=f"space types are {', '.join(_NAMES)}",
            )
        return _SCRIPTS[similarity]

    def nearest(self, vector: list[float], k: int, only: dict[str, Any] | None) -> dict[str, Any]:
        filtered = {} if only is None else {"filter": only}
        return {"query": {"knn": {self.vector_field: {"vector": vector, "k": k, **filtered}}}}


class _Client(Client):
    package = "opensearchpy"
    product = "OpenSearch"
    pit = ("/_search/point_in_time", "/_search/point_in_time")
    pit_id = "pit_id"
    tie = "_id"
    credentials = "OPENSEARCH_USERNAME and OPENSEARCH_PASSWORD"

    def __init__(self, settings: ClientSettings) -> None:
        super().__init__(settings)
        self._is_checked = False

    def connect(self, timeout: float, **options: Any) -> Any:
        import opensearchpy

        if secret("OPENSEARCH_USERNAME"):
            password = secret("OPENSEARCH_PASSWORD") or ""
            options["http_auth"] = (secret("OPENSEARCH_USERNAME"), password)
        return opensearchpy.OpenSearch(self.url, timeout=timeout, **options)

    @contextmanager
    def errors(self) -> Iterator[None]:
        import opensearchpy

        try:
            yield
        except opensearchpy.exceptions.ConnectionError as error:
            raise unanswered(self.product, self.url, error) from None
        except opensearchpy.exceptions.TransportError as error:
            raise RefusedError(int(error.status_code), error.info, self) from None

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        lines: bool = False,
    ) -> Any:
        self._check_product()
        return self._ask(method, path, body, params, lines)

    def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        lines: bool = False,
    ) -> Any:
        if lines:
            dumps = self._client.transport.serializer.dumps
            body = "".join(f"{dumps(line)}\n" for line in body)
        with self.errors():
            return self._client.transport.perform_request(
                method,
                path,
                params=dict(params or {}),
                body=body,
                headers=_LINES if lines else None,
            )

    def _check_product(self) -> None:
        """Raises InputError for a server that is not OpenSearch: Elasticsearch answers this client in part."""
        if self._is_checked:
            return
        version = self._ask("GET", "/").get("version", {})
        if version.get("distribution") != "opensearch":
            raise InputError(
                f"{self.url} is not OpenSearch",
                remedy="the system elasticsearch searches Elasticsearch",
            )
        self._is_checked = True

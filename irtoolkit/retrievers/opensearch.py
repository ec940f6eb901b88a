"""Search in OpenSearch: BM25 over a text field, or the nearest vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers._search_client import Client, RefusedError, secret, unanswered
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
# Rejected, or the server behind a gateway is not ready.
_AGAIN = (429, 502, 503, 504)


@dataclass(frozen=True)
class OpenSearch(SearchServer):
    """Search in an index of an OpenSearch server.

    As [elasticsearch](#elasticsearch), with the k-NN plugin's vectors. The environment has the
    credentials: OPENSEARCH_USERNAME and OPENSEARCH_PASSWORD.

    Attributes:
        ca_certs: a file of certificates by which the server's is checked.
    """

    name: ClassVar[str] = "opensearch"
    client: ClassVar[str] = "opensearchpy"
    vector_type: ClassVar[str] = "knn_vector"

    ca_certs: str | None = None

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


class _Client:
    """The official client."""

    product = "OpenSearch"
    pit = ("/_search/point_in_time", "/_search/point_in_time")
    pit_id = "pit_id"
    tie = "_id"
    credentials = "OPENSEARCH_USERNAME and OPENSEARCH_PASSWORD"

    def __init__(self, settings: OpenSearch) -> None:
        import opensearchpy

        self.url = settings.url or settings.usual_url
        self._retries = settings.retries
        more: dict[str, Any] = {}
        if secret("OPENSEARCH_USERNAME"):
            more["http_auth"] = (secret("OPENSEARCH_USERNAME"), secret("OPENSEARCH_PASSWORD") or "")
        if settings.ca_certs is not None:
            more["ca_certs"] = settings.ca_certs
        self._client = opensearchpy.OpenSearch(
            self.url,
            timeout=settings.timeout,
            max_retries=settings.retries,
            retry_on_timeout=True,
            retry_on_status=_AGAIN,
            **more,
        )
        self._known = False

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
        import opensearchpy

        if lines:
            dumps = self._client.transport.serializer.dumps
            body = "".join(f"{dumps(line)}\n" for line in body)
        try:
            return self._client.transport.perform_request(
                method,
                path,
                params=dict(params or {}),
                body=body,
                headers=_LINES if lines else None,
            )
        except opensearchpy.exceptions.ConnectionError as error:
            raise unanswered(self.product, self.url, error) from None
        except opensearchpy.exceptions.TransportError as error:
            raise RefusedError(int(error.status_code), error.info, self) from None

    def _check_product(self) -> None:
        """Raises InputError for a server that is not OpenSearch: Elasticsearch answers this client in part."""
        if self._known:
            return
        version = self._ask("GET", "/").get("version", {})
        if version.get("distribution") != "opensearch":
            raise InputError(
                f"{self.url} is not OpenSearch",
                remedy="the system elasticsearch searches Elasticsearch",
            )
        self._known = True

    def bulk(self, actions: Iterator[dict[str, Any]]) -> Iterator[tuple[bool, dict[str, Any]]]:
        import opensearchpy
        from opensearchpy.helpers import streaming_bulk

        try:
            yield from streaming_bulk(
                self._client,
                actions,
                chunk_size=SearchServer.sent,
                raise_on_error=False,
                max_retries=self._retries,
                initial_backoff=0.5,
                max_backoff=30,
            )
        except opensearchpy.exceptions.ConnectionError as error:
            raise unanswered(self.product, self.url, error) from None
        except opensearchpy.exceptions.TransportError as error:
            raise RefusedError(int(error.status_code), error.info, self) from None

"""Search in Elasticsearch: BM25 over a text field, or the nearest vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlencode

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers._search_client import Client, RefusedError, secret, unanswered
from irtoolkit.retrievers._search_server import SearchServer

# Elasticsearch's names of similarities, and the scripts that compute their scores.
_SIMILARITIES = {"cosine": "cosine", "dot": "max_inner_product", "l2": "l2_norm"}
_NAMES = {**{name: key for key, name in _SIMILARITIES.items()}, "dot_product": "dot"}
_SCRIPTS = {
    "cosine": "(1.0 + cosineSimilarity(params.vector, params.field)) / 2.0",
    "dot": "double dot = dotProduct(params.vector, params.field);"
    " return dot < 0 ? 1.0 / (1.0 - dot) : dot + 1.0",
    "l2": "double d = l2norm(params.vector, params.field); return 1.0 / (1.0 + d * d)",
    "dot_product": "(1.0 + dotProduct(params.vector, params.field)) / 2.0",
}
_JSON = "application/json"
_LINES = "application/x-ndjson"


@dataclass(frozen=True)
class Elasticsearch(SearchServer):
    """Search in an index of an Elasticsearch server.

    Without a `model`, texts are searched by the server's BM25 and analyzer; with one, vectors are
    by kNN: approximately over a corpus, exactly in a pool. Scores are the server's own. Document
    frequencies are those of the whole index, whatever its shards. In a pool, candidates without a
    term of the query score 0; of a corpus, what the server finds is ranked.
    The environment has the credentials: ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USERNAME and
    ELASTICSEARCH_PASSWORD.

    Attributes:
        candidates: vectors that each shard looks at for each query; by default twice `hits`.
    """

    name: ClassVar[str] = "elasticsearch"
    client: ClassVar[str] = "elasticsearch"
    vector_type: ClassVar[str] = "dense_vector"

    read_with: ClassVar = {"candidates": ("model",)}

    candidates: int | None = None

    def connect(self) -> Client:
        return _Client(self)

    def vector_settings(self) -> dict[str, Any]:
        return {}

    def vector_mapping(self, width: int, similarity: str) -> dict[str, Any]:
        # By default vectors are quantised, which moves scores.
        return {
            "type": "dense_vector",
            "dims": width,
            "index": True,
            "similarity": _SIMILARITIES[similarity],
            "index_options": {"type": "hnsw"},
        }

    def vector_field_of(self, mapping: dict[str, Any]) -> tuple[int | None, str | None]:
        named = str(mapping.get("similarity", "cosine"))
        return mapping.get("dims"), _NAMES.get(named)

    def script(self, mapping: dict[str, Any]) -> str:
        named = str(mapping.get("similarity", "cosine"))
        return _SCRIPTS[named if named in _SCRIPTS else _NAMES[named]]

    def nearest(self, vector: list[float], k: int, only: dict[str, Any] | None) -> dict[str, Any]:
        looked_at = min(10_000, max(k, self.candidates or 2 * k))
        filtered = {} if only is None else {"filter": only}
        return {
            "knn": {
                "field": self.vector_field,
                "query_vector": vector,
                "k": k,
                "num_candidates": looked_at,
                **filtered,
            }
        }


class _Client(Client):
    package = "elasticsearch"
    product = "Elasticsearch"
    pit = ("/_pit", "/_pit")
    pit_id = "id"
    tie = "_shard_doc"
    credentials = "ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD,"

    def connect(self, timeout: float, **options: Any) -> Any:
        import elasticsearch

        if secret("ELASTICSEARCH_API_KEY"):
            options["api_key"] = secret("ELASTICSEARCH_API_KEY")
        elif secret("ELASTICSEARCH_USERNAME"):
            password = secret("ELASTICSEARCH_PASSWORD") or ""
            options["basic_auth"] = (secret("ELASTICSEARCH_USERNAME"), password)
        return elasticsearch.Elasticsearch(self.url, request_timeout=timeout, **options)

    @contextmanager
    def errors(self) -> Iterator[None]:
        import elasticsearch

        try:
            yield
        except elasticsearch.UnsupportedProductError:
            raise InputError(
                f"{self.url} is not Elasticsearch",
                remedy="the system opensearch searches OpenSearch",
            ) from None
        except elasticsearch.ApiError as error:
            raise RefusedError(error.meta.status, error.body, self) from None
        except elasticsearch.TransportError as error:
            raise unanswered(self.product, self.url, error) from None

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        lines: bool = False,
    ) -> Any:
        headers = {"accept": _JSON}
        if body is not None:
            headers["content-type"] = _LINES if lines else _JSON
        target = f"{path}?{urlencode(params)}" if params else path
        with self.errors():
            response = self._client.perform_request(method, target, headers=headers, body=body)
        return response.body

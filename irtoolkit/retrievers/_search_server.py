"""The base class of the retrievers over Elasticsearch and OpenSearch."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers._search_api import SearchApi
from irtoolkit.retrievers._search_client import Client
from irtoolkit.retrievers._search_index import SearchIndex
from irtoolkit.retrievers._servers import ServerIndex, ServerRetriever
from irtoolkit.retrievers.neural import encoder_of


@dataclass(frozen=True)
class SearchServer(ServerRetriever):
    """A retriever over Elasticsearch or OpenSearch.

    Attributes:
        url: the server's address; by default http://localhost:9200. Credentials are read from the
            environment only.
        model: a model whose vectors are searched, as for `dense`; by default texts are, by BM25.
        field: the field with the documents' text.
        id_field: the field with the documents' ids: `_id`, or one of keywords or numbers.
        vector_field: the field with the documents' vectors.
        analyzer: the server's analyzer for an index that is made; by default "standard". That of
            an existing index is as it is.
        k1, b: of BM25 in an index that is made; by default the server's, 1.2 and 0.75.
        ca_certs: a file of certificates by which the server's is checked.
    """

    read_with: ClassVar = dict.fromkeys(
        (
            "weights",
            "query_weights",
            "precision",
            "device",
            "batch_tokens",
            "backend",
            "pooling",
            "query_length",
            "doc_length",
            "query_cut",
            "similarity",
            "exact",
            "vector_field",
        ),
        ("model",),
    )

    model: str = ""
    field: str = "text"
    id_field: str = "_id"
    vector_field: str = "vector"
    analyzer: str | None = None
    k1: float | None = None
    b: float | None = None
    ca_certs: str | None = None

    usual_url: ClassVar[str] = "http://localhost:9200"
    vector_type: ClassVar[str] = ""

    @abstractmethod
    def connect(self) -> Client:
        """A client of the server."""

    @abstractmethod
    def vector_mapping(self, width: int, similarity: str) -> dict[str, Any]:
        """The mapping of a field of vectors."""

    @abstractmethod
    def vector_field_of(self, mapping: dict[str, Any]) -> tuple[int | None, str | None]:
        """The width of a field of vectors, and its similarity; None where it is not said."""

    @abstractmethod
    def nearest(self, vector: list[float], k: int, only: dict[str, Any] | None) -> dict[str, Any]:
        """The search for the vectors that are nearest to one, among some documents."""

    @abstractmethod
    def script(self, mapping: dict[str, Any]) -> str:
        """The script that compares a vector with all, on the scale of `nearest`."""

    @abstractmethod
    def vector_settings(self) -> dict[str, Any]:
        """Settings of an index with vectors."""

    def on_server(self, name: str, *, is_ours: bool) -> SearchIndex:
        return SearchIndex(self, SearchApi(self.connect(), name, self.retries))

    def chosen(self) -> dict[str, Any]:
        return {**super().chosen(), "analyzer": self.analyzer, "k1": self.k1, "b": self.b}

    def check_foreign(self, index: ServerIndex) -> None:
        for key in ("analyzer", "k1", "b"):
            value = getattr(self, key)
            if value is not None:
                raise InputError(
                    f"setting {key}={value}: {index.where} is there already, and not irtoolkit's",
                    remedy=f"leave {key} out, the index has its own",
                )

    def made_with(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"field": self.field, "analyzer": self.analyzer or "standard"}
        settings |= {"k1": self.k1, "b": self.b}
        if self.model:
            similarity = self.similarity or encoder_of(self, "document").similarity
            settings |= {"vector_field": self.vector_field, "similarity": similarity}
            settings |= {**self.index_settings(), **self.vector_settings()}
        return settings

"""The base class of the retrievers over Elasticsearch and OpenSearch."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Ints
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.progress import tqdm
from irtoolkit.retrievers._search_api import Described, SearchApi, pairs_of
from irtoolkit.retrievers._search_client import Client
from irtoolkit.retrievers._search_queries import ServerSearch
from irtoolkit.retrievers._server_candidates import CHUNK, ServerCandidates, refuse_absent
from irtoolkit.retrievers._server_contents import Contents, contents_of, vectors_of
from irtoolkit.retrievers._servers import ServerRetriever
from irtoolkit.retrievers.base import Ask, Block, Hits, Scorer, keep_last
from irtoolkit.retrievers.dense import encoded
from irtoolkit.retrievers.neural import encoder_of
from irtoolkit.retrievers.task import Task

# Documents in one request, and so what an interrupted build may have sent in part.
SENT = 500
_TEXTS = ("text", "keyword", "match_only_text", "search_as_you_type", "wildcard", "alias")
_IDS = ("keyword", "integer", "long", "short", "unsigned_long", "constant_keyword", "alias")


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
    def compared(self, mapping: dict[str, Any]) -> str:
        """The script that compares a vector with all, on the scale of `nearest`."""

    @abstractmethod
    def index_settings(self) -> dict[str, Any]:
        """Settings of an index with vectors."""

    def server(self, task: Task) -> dict[str, Any]:
        client, contents, api, index = self._look(task)
        ours = contents.note(True) if contents is not None else {}
        documents = ours.get("documents") if contents is not None else api.documents()
        identity = {"hash": ours["hash"]} if ours else {"uuid": index.uuid if index else ""}
        return {
            "server": client.product,
            "url": client.url,
            "version": api.version(),
            "index": api.index,
            "documents": documents,
            **identity,
        }

    def scorer(self, task: Task) -> Scorer:
        return self.prepare(task)(task)

    def prepare(self, task: Task) -> Ask:
        _, contents, api, index = self._look(task)
        if contents is not None:
            index = self._built(task, contents, api, index)
        elif index is None:
            raise api.absent()
        self._refuse_fields(index, api)
        if contents is None:
            refuse_absent(
                task,
                api.where,
                partial(self._present, api),
                blank_too=bool(self.model),
                step=max(1, min(index.window - 1, CHUNK)),
            )
        search = ServerSearch(self, api, index)

        def ask(query_task: Task) -> Scorer:
            vectors = None
            if self.model:
                texts = self.asked(query_task)
                vectors = encoded(encoder_of(self, "query"), texts, "queries").vectors()
                self._refuse_width(vectors.shape[1], index, api)
            candidates = keep_last(lambda docs: ServerCandidates.of(query_task, docs))

            def prepared(docs: Ints) -> Block:
                pool = candidates(docs)

                def score(query: Ints) -> Hits:
                    batch = [
                        " ".join(query_task.queries[q]) if vectors is None else vectors[q].tolist()
                        for q in query
                    ]
                    results = search(batch, pool)
                    rest = 0.0 if pool.only and vectors is None else None
                    return pool.hits(results, self.hits, api.where, rest)

                return score

            return prepared

        return ask

    # -- the index -----------------------------------------------------------------------------------

    def _look(self, task: Task) -> tuple[Client, Contents | None, SearchApi, Described | None]:
        """The server, what the index holds where irtoolkit makes it, and the index if it is there."""
        client = self.connect()
        api, index = None, None
        if self.index is not None:
            api = SearchApi(client, self.index, self.retries)
            index = api.describe()
            chosen = {"analyzer": self.analyzer, "k1": self.k1, "b": self.b}
            chosen = {key: value for key, value in chosen.items() if value is not None}
            if index is not None and not index.note:
                for key, value in chosen.items():
                    raise InputError(
                        f"setting {key}={value}: {api.where} is there already, and not irtoolkit's",
                        remedy=f"leave {key} out, the index has its own",
                    )
                return client, None, api, index
            if index is None and not self.build:
                raise api.absent()
        contents = contents_of(task, self._made_with())
        if api is None:
            api = SearchApi(client, contents.name(task.dataset_id), self.retries)
            index = api.describe()
        if index is not None and index.note:
            usual = {key for key in ("analyzer", "k1", "b") if getattr(self, key) is None}
            contents.refuse_other(index.note, api.where, usual)
        return client, contents, api, index

    def _made_with(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"field": self.field, "analyzer": self.analyzer or "standard"}
        settings |= {"k1": self.k1, "b": self.b}
        if self.model:
            similarity = self.similarity or encoder_of(self, "document").similarity
            settings |= {"vector_field": self.vector_field, "similarity": similarity}
            settings |= self.index_settings()
        return settings

    def _built(
        self, task: Task, contents: Contents, api: SearchApi, index: Described | None
    ) -> Described:
        """The index of a dataset, made or completed where it has to be."""
        if index is not None and index.note.get("complete"):
            return index
        done = 0
        if index is None:
            width = None
            if self.model:
                [vector] = (
                    encoder_of(self, "document").encode(["text"], what="texts", count=1).vectors()
                )
                width = len(vector)
            api.create(*self._mappings(contents, width))
        else:
            # What was sent last may be there in part.
            done = max(0, api.count() - SENT)
        documents = (
            (doc_id, {self.field: text, **({self.vector_field: vector} if vector else {})})
            for doc_id, text, vector in vectors_of(self, task, done)
        )
        with tqdm(
            total=contents.documents,
            initial=done,
            desc=f"indexing on {self.name}",
            unit="doc",
            disable=None,
            leave=None,
        ) as bar:
            for _ in api.add(documents):
                bar.update(1)
        count = api.count()
        if count != contents.documents:
            raise InputError(
                f"{api.where} has {count:,} documents, not {contents.documents:,}",
                remedy="somebody else writes to it, or an id is there twice; delete it",
            )
        api.note({**(index.note if index is not None else contents.note(True)), "complete": True})
        described = api.describe()
        if described is None:
            raise api.absent()
        return described

    def _mappings(
        self, contents: Contents, width: int | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        properties: dict[str, Any] = {
            self.field: {"type": "text", "analyzer": contents.settings["analyzer"]}
        }
        if width is not None:
            mapping = self.vector_mapping(width, contents.settings["similarity"])
            properties[self.vector_field] = mapping
        settings: dict[str, Any] = self.index_settings() if width is not None else {}
        bm25 = {
            key: contents.settings[key] for key in ("k1", "b") if contents.settings[key] is not None
        }
        if bm25:
            settings["similarity"] = {"default": {"type": "BM25", **bm25}}
        note = {"_meta": {"irtoolkit": contents.note(False)}}
        return {**note, "properties": properties}, {"index": settings}

    def _present(self, api: SearchApi, ids: list[str], most: int) -> list[str]:
        """The ids of the rows that some documents have in the index, of at most so many rows."""
        query = {"bool": {"filter": [self.filter(ids)]}}
        hits = api.search([{**self.asking(most), "query": query}])[0]
        return [doc_id for doc_id, _ in pairs_of(hits, self.id_field)]

    def filter(self, ids: list[str]) -> dict[str, Any]:
        """The documents with some ids."""
        if self.id_field == "_id":
            return {"ids": {"values": ids}}
        return {"terms": {self.id_field: ids}}

    def asking(self, size: int) -> dict[str, Any]:
        """Returns the part of a request that every search has."""
        fields = {} if self.id_field == "_id" else {"docvalue_fields": [self.id_field]}
        return {"size": size, "_source": False, "track_total_hits": False, **fields}

    def _refuse_fields(self, index: Described, api: SearchApi) -> None:
        needed: list[tuple[str, tuple[str, ...], str]] = [
            (self.vector_field, (self.vector_type,), "vector_field")
        ]
        if not self.model:
            needed = [(self.field, _TEXTS, "field")]
        if self.id_field != "_id":
            needed.append((self.id_field, _IDS, "id_field"))
        for name, kinds, setting in needed:
            fit = [key for key, mapping in index.fields.items() if mapping.get("type") in kinds]
            if name not in fit:
                lacks = "has no field" if name not in index.fields else f"has no {kinds[0]} in"
                listed = (
                    f"its fields of this kind are {', '.join(fit[:10])}" if fit else "it has none"
                )
                raise InputError(
                    f"{api.where} {lacks} {name}",
                    remedy=f"{did_you_mean(name, fit)}{listed}; --set {setting}=FIELD",
                )

    def _refuse_width(self, width: int, index: Described, api: SearchApi) -> None:
        index_width, similarity = self.vector_field_of(index.fields[self.vector_field])
        if index_width is not None and index_width != width:
            raise InputError(
                f"vectors of {self.model} have {width} numbers, those in {self.vector_field} of"
                f" {api.where} have {index_width}",
                remedy="take the model that the index was made with",
            )
        if self.similarity is not None and similarity not in (None, self.similarity):
            raise InputError(
                f"{api.where} compares by {similarity}, not {self.similarity}",
                remedy="leave similarity out, the index has its own",
            )

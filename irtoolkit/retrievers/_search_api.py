"""The requests that Elasticsearch and OpenSearch have in common, and what their answers mean."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from irtoolkit.base.errors import InputError
from irtoolkit.retrievers._search_client import Client, RefusedError, no_such_index, reason_of
from irtoolkit.retrievers._server_contents import ServerHits

# Queries in one request.
AT_ONCE = 32
# Rows that a server gives at once, unless the index says otherwise.
_WINDOW = 10_000
# A server asks the same copy of each shard for the same text, so that scores do not change.
_COPY = "irtoolkit"
_PAUSE = 0.25
_REJECTED = 429


@dataclass(frozen=True)
class Described:
    """An index as its server describes it.

    Attributes:
        name: its own name, where it was asked for by an alias.
        fields: field name to its mapping, with the fields inside others.
        note: what irtoolkit has noted with it; empty for an index of others.
        window: rows that it gives at once.
        uuid: what the server knows it by.
    """

    name: str
    fields: dict[str, dict[str, Any]]
    note: dict[str, Any]
    window: int
    uuid: str


class SearchApi:
    """One index on a server.

    Args:
        client: of the server.
        index: the name of the index.
        retries: how often searches are repeated that an overloaded server has rejected.
    """

    def __init__(self, client: Client, index: str, retries: int) -> None:
        self.client, self.index, self._retries = client, index, retries
        self.where = f"the index {index} on {client.url}"
        self._path = f"/{quote(index, safe='')}"

    def describe(self) -> Described | None:
        """Returns the server's description of the index; None if there is no index.

        Raises:
            InputError: the name stands for several indexes.
        """
        try:
            indexes = self.client.ask("GET", self._path)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise
        if len(indexes) != 1:
            raise InputError(
                f"{self.index} is the name of {len(indexes)} indexes on {self.client.url}",
                remedy="name one of them",
            )
        [(name, description)] = indexes.items()
        mappings = description.get("mappings", {})
        settings = description.get("settings", {}).get("index", {})
        return Described(
            name,
            dict(_fields(mappings.get("properties", {}))),
            mappings.get("_meta", {}).get("irtoolkit", {}),
            int(settings.get("max_result_window", _WINDOW)),
            str(settings.get("uuid", "")),
        )

    def absent(self) -> InputError:
        """Returns the error for an index that does not exist."""
        names: list[str] = []
        with suppress(InputError):
            params = {"format": "json", "h": "index"}
            names = [row["index"] for row in self.client.ask("GET", "/_cat/indices", params=params)]
        return no_such_index("index", self.index, self.client.url, sorted(names))

    def create(self, mappings: dict[str, Any], settings: dict[str, Any]) -> None:
        """Makes the index; one that another process has made meanwhile is left as it is."""
        try:
            self.client.ask("PUT", self._path, {"settings": settings, "mappings": mappings})
        except RefusedError as error:
            if error.kind != "resource_already_exists_exception":
                raise

    def set_note(self, note: dict[str, Any]) -> None:
        """Notes something with the index."""
        self.client.ask("PUT", f"{self._path}/_mapping", {"_meta": {"irtoolkit": note}})

    def count(self) -> int:
        """The number of documents that can be found."""
        self.client.ask("POST", f"{self._path}/_refresh")
        return self.documents()

    def version(self) -> str | None:
        """The server's version; None where the credentials do not suffice to ask for it."""
        try:
            return str(self.client.ask("GET", "/")["version"]["number"])
        except RefusedError as error:
            if error.status == 403:
                return None
            raise

    def documents(self) -> int:
        """The number of documents that can be found by now."""
        answer = self.client.ask("GET", f"{self._path}/_count")
        self._check_whole(answer)
        return int(answer["count"])

    def add(self, documents: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[None]:
        """Sends documents that are not there yet; yields after each.

        Raises:
            InputError: the server refuses one.
        """
        actions = (
            {"_op_type": "create", "_index": self.index, "_id": doc_id, "_source": source}
            for doc_id, source in documents
        )
        for accepted, response in self.client.bulk(actions):
            [result] = response.values()
            # 409: an earlier build that was interrupted has sent it.
            if not accepted and result.get("status") != 409:
                raise InputError(
                    f"{self.where} refuses document {result.get('_id')}: {reason_of(result)[1]}",
                    remedy="the build goes on from there when the command is run again",
                )
            yield

    def search(self, bodies: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        """Returns the hits of several searches."""
        head = {"index": self.index, "search_type": "dfs_query_then_fetch", "preference": _COPY}
        waiting, hits = list(range(len(bodies))), [[] for _ in bodies]  # type: list[int], list[Any]
        for attempt in range(self._retries + 1):
            lines = [line for number in waiting for line in (head, bodies[number])]
            answers = self.client.ask("POST", "/_msearch", lines, lines=True)["responses"]
            rejected = []
            for number, answer in zip(waiting, answers, strict=True):
                if answer.get("status") == _REJECTED and attempt < self._retries:
                    rejected.append(number)
                else:
                    hits[number] = self._hits(answer)
            waiting = rejected
            if not waiting:
                break
            time.sleep(_PAUSE * 2**attempt)
        return hits

    def pages(self, body: dict[str, Any], size: int) -> Iterator[list[dict[str, Any]]]:
        """All hits of a search, best first, in pages of one state of the index."""
        client = self.client
        opened = client.ask(
            "POST", f"{self._path}{client.pit[0]}", params={"keep_alive": "5m", "preference": _COPY}
        )
        pit = opened[client.pit_id]
        request: dict[str, Any] = {
            **body,
            "size": size,
            "pit": {"id": pit, "keep_alive": "5m"},
            "sort": [{"_score": "desc"}, {client.tie: "asc"}],
        }
        try:
            while True:
                params = {"search_type": "dfs_query_then_fetch"}
                hits = self._hits(client.ask("POST", "/_search", request, params=params))
                yield hits
                if len(hits) < size:
                    return
                request["search_after"] = hits[-1]["sort"]
        finally:
            with suppress(InputError):
                value = [pit] if client.pit_id == "pit_id" else pit
                client.ask("DELETE", client.pit[1], {client.pit_id: value})

    def _hits(self, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns the hits of an answer, which must be complete."""
        if "error" in answer:
            raise RefusedError(int(answer.get("status", 500)), answer, self.client)
        self._check_whole(answer)
        hits: list[dict[str, Any]] = answer["hits"]["hits"]
        return hits

    def _check_whole(self, answer: Mapping[str, Any]) -> None:
        shards = answer.get("_shards", {})
        if shards.get("failed"):
            failures = shards.get("failures") or [{}]
            reason = reason_of(failures[0].get("reason", {}))[1]
            raise InputError(
                f"{shards['failed']} of {shards.get('total')} shards of {self.where} gave no"
                f" answer: {reason}",
                remedy="a part of the index would be no run; ask again when all shards are there",
            )
        if answer.get("timed_out"):
            raise InputError(
                f"{self.where} has answered in part, for lack of time",
                remedy="raise search.default_search_timeout of the server",
            )


def pairs_of(hits: Sequence[Mapping[str, Any]], id_field: str) -> ServerHits:
    """Returns the ids and scores of hits."""
    pairs = []
    for hit in hits:
        score = hit.get("_score")
        if score is None:
            score = hit["sort"][0]
        if id_field == "_id":
            pairs.append((str(hit["_id"]), float(score)))
            continue
        values = hit.get("fields", {}).get(id_field, [])
        if len(values) != 1:
            raise InputError(
                f"the field {id_field} of {hit['_id']} has {len(values)} values, so it is no id",
                remedy="id_field=FIELD names the field of document ids",
            )
        pairs.append((str(values[0]), float(score)))
    return pairs


def _fields(
    properties: Mapping[str, Any], inside: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, mapping in properties.items():
        path = f"{inside}{name}"
        yield path, mapping
        for more in ("properties", "fields"):
            yield from _fields(mapping.get(more, {}), f"{path}.")

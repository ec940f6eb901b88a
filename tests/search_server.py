"""A small HTTP server that speaks the part of Elasticsearch's and OpenSearch's protocol in use.

Neither server installs from PyPI, so the real clients run against this one. Its requests, answers
and errors are written after the public API documentation; it holds documents in memory, searches
them by BM25 or cosine, enforces the limits of a server, and fails as it is asked to.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

WINDOW = 10_000
SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}


@dataclass
class Index:
    mappings: dict[str, Any]
    settings: dict[str, Any]
    docs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def window(self) -> int:
        return int(self.settings.get("index", {}).get("max_result_window", WINDOW))


# Answers a request in place of the server where it returns a status and a body.
Fault = Callable[[str, str, Any], "tuple[int, Any] | None"]


class SearchServer:
    """What one server holds, and what it was asked."""

    def __init__(self, product: str, version: str) -> None:
        self.product, self.version = product, version
        self.indexes: dict[str, Index] = {}
        self.aliases: dict[str, list[str]] = {}
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: list[Fault] = []
        self.pits: set[str] = set()
        self.url = ""

    def add(
        self, name: str, docs: dict[str, dict[str, Any]], properties: dict[str, Any],
        **settings: Any,
    ) -> None:  # fmt: skip
        """An index that somebody else has made."""
        self.indexes[name] = Index({"properties": properties}, {"index": settings}, dict(docs))

    # -- requests --------------------------------------------------------------------------------

    def answer(self, method: str, target: str, body: Any, accept: str) -> tuple[int, Any]:
        path = urlsplit(target).path
        self.asked.append((method, path, body))
        for fault in self.faults:
            made = fault(method, path, body)
            if made is not None:
                return made
        wanted = re.search(r"compatible-with=(\d+)", accept)
        if self.product == "elasticsearch" and wanted and int(wanted[1]) > self._major:
            return _error(
                400, "media_type_header_exception", "Invalid media-type value on [Accept]"
            )
        parts = [unquote(part) for part in path.strip("/").split("/") if part]
        return self._routed(method, parts, body)

    @property
    def _major(self) -> int:
        return int(self.version.partition(".")[0])

    def _routed(self, method: str, parts: list[str], body: Any) -> tuple[int, Any]:
        match method, parts:
            case "GET", []:
                distribution = (
                    {"distribution": "opensearch"} if self.product == "opensearch" else {}
                )
                return 200, {"name": "node", "version": {"number": self.version, **distribution}}
            case "GET", ["_cat", "indices"]:
                return 200, [{"index": name} for name in self.indexes]
            case "POST", ["_msearch"]:
                return 200, {"took": 1, "responses": self._searches(body)}
            case "POST", ["_search"]:
                name, asked = body["pit"]["id"].partition("!")[0], dict(body)
                if body["pit"]["id"] not in self.pits:
                    return _error(404, "search_context_missing_exception", "No search context")
                return self._search(name, asked)
            case (("POST" | "PUT"), ["_bulk"]):
                return self._bulk(body)
            case "DELETE", ["_pit"]:
                self.pits.discard(body["id"])
                return 200, {"succeeded": True, "num_freed": 1}
            case "DELETE", ["_search", "point_in_time"]:
                self.pits.difference_update(body["pit_id"])
                return 200, {"pits": [{"successful": True}]}
            case _, [name, *rest]:
                return self._of_index(method, name, rest, body)
        return _error(400, "illegal_argument_exception", "no handler found")

    def _of_index(self, method: str, name: str, rest: list[str], body: Any) -> tuple[int, Any]:
        if method == "PUT" and not rest:
            return self._create(name, body)
        names = self.aliases.get(name, [name])
        if any(one not in self.indexes for one in names):
            return _error(404, "index_not_found_exception", f"no such index [{name}]")
        index = self.indexes[names[0]]
        match method, rest:
            case "GET", []:
                return 200, {one: self._described(one) for one in names}
            case "PUT", ["_mapping"]:
                index.mappings["_meta"] = body["_meta"]
                return 200, {"acknowledged": True}
            case "POST", ["_refresh"]:
                return 200, {"_shards": SHARDS}
            case "GET", ["_count"]:
                return 200, {"count": len(index.docs), "_shards": SHARDS}
            case "POST", ["_pit"] | ["_search", "point_in_time"]:
                pit = f"{name}!{len(self.pits)}"
                self.pits.add(pit)
                return 200, {"id" if rest == ["_pit"] else "pit_id": pit, "_shards": SHARDS}
        return _error(405, "illegal_argument_exception", "Incorrect HTTP method")

    def _described(self, name: str) -> dict[str, Any]:
        index = self.indexes[name]
        settings = {"uuid": f"uuid-{name}", **index.settings.get("index", {})}
        return {"aliases": {}, "mappings": index.mappings, "settings": {"index": settings}}

    def _create(self, name: str, body: Any) -> tuple[int, Any]:
        if name in self.indexes:
            kind = "resource_already_exists_exception"
            return _error(400, kind, f"index [{name}] already exists")
        for mapping in body["mappings"]["properties"].values():
            if mapping.get("analyzer") not in (None, "standard", "english"):
                reason = f"analyzer [{mapping['analyzer']}] has not been configured in mappings"
                return _error(400, "mapper_parsing_exception", reason)
        self.indexes[name] = Index(body["mappings"], body.get("settings", {}))
        return 200, {"acknowledged": True, "index": name}

    def _bulk(self, lines: list[Any]) -> tuple[int, Any]:
        items = []
        for head, source in zip(lines[::2], lines[1::2], strict=True):
            [(op, said)] = head.items()
            docs, doc_id = self.indexes[said["_index"]].docs, said["_id"]
            status = 409 if op == "create" and doc_id in docs else 201
            item = {"_index": said["_index"], "_id": doc_id, "status": status}
            if status == 409:
                reason = "document already exists"
                item["error"] = {"type": "version_conflict_engine_exception", "reason": reason}
            else:
                docs[doc_id] = source
            items.append({op: item})
        return 200, {"errors": any("error" in i["create"] for i in items), "items": items}

    # -- searches --------------------------------------------------------------------------------

    def _searches(self, lines: list[Any]) -> list[Any]:
        found = []
        for head, body in zip(lines[::2], lines[1::2], strict=True):
            status, answer = self._search(head["index"], body)
            found.append({**answer, "status": status})
        return found

    def _search(self, name: str, body: dict[str, Any]) -> tuple[int, Any]:
        index = self.indexes.get(self.aliases.get(name, [name])[0])
        if index is None:
            return _error(404, "index_not_found_exception", f"no such index [{name}]")
        size = body["size"]
        if size > index.window:
            reason = f"Result window is too large, must be less than: [{index.window}]"
            return _error(400, "illegal_argument_exception", reason)
        try:
            scores = _matched(index, body)
        except ValueError as error:
            return _error(400, "query_shard_exception", str(error))
        # Equal scores are in the order of Lucene's numbers, here that of insertion.
        order = sorted(scores, key=lambda doc_id: -scores[doc_id])
        numbers = {doc_id: number for number, doc_id in enumerate(index.docs)}
        if "search_after" in body:
            score, number = body["search_after"]
            order = [d for d in order if (-scores[d], numbers[d]) > (-score, number)]
        hits = []
        for doc_id in order[:size]:
            hit = {"_index": name, "_id": doc_id, "_score": scores[doc_id]}
            if "sort" in body:
                hit["sort"] = [scores[doc_id], numbers[doc_id]]
            for key in body.get("docvalue_fields", ()):
                hit.setdefault("fields", {})[key] = [index.docs[doc_id][key]]
            hits.append(hit)
        found = {"max_score": hits[0]["_score"] if hits else None, "hits": hits}
        return 200, {"took": 1, "timed_out": False, "_shards": SHARDS, "hits": found}


def _matched(index: Index, body: dict[str, Any]) -> dict[str, float]:
    """The score of each document that a search finds, in single precision."""
    found: dict[str, float] = {}
    query = body.get("query")
    if "knn" in body:  # Elasticsearch
        asked = body["knn"]
        if asked["k"] > asked["num_candidates"]:
            raise ValueError("[num_candidates] cannot be less than [k]")
        only = _eval(index, asked["filter"]) if "filter" in asked else index.docs
        found = _nearest(index, asked["field"], asked["query_vector"], only)
    elif "knn" in query:
        [(name, asked)] = query["knn"].items()
        only = _eval(index, asked["filter"]) if "filter" in asked else index.docs
        found = _nearest(index, name, asked["vector"], only)
    else:
        found = _eval(index, query)
    return {doc_id: float(np.float32(score)) for doc_id, score in found.items()}


def _eval(index: Index, query: dict[str, Any]) -> dict[str, float]:
    [(kind, asked)] = query.items()
    docs = index.docs
    if kind == "bool":
        found = dict.fromkeys(docs, 0.0)
        for one in asked.get("must", ()):
            scored = _eval(index, one)
            found = {d: found[d] + scored[d] for d in docs if d in found and d in scored}
        for one in asked.get("filter", ()):
            kept = _eval(index, one)
            found = {d: s for d, s in found.items() if d in kept}
        for one in asked.get("must_not", ()):
            left = _eval(index, one)
            found = {d: s for d, s in found.items() if d not in left}
        return found
    if kind == "ids":
        return {d: 1.0 for d in asked["values"] if d in docs}
    if kind == "terms":
        [(name, values)] = asked.items()
        return {d: 1.0 for d, source in docs.items() if str(source[name]) in set(values)}
    if kind == "exists":
        return {d: 1.0 for d, source in docs.items() if asked["field"] in source}
    if kind == "match":
        [(name, said)] = asked.items()
        return _bm25(index, name, said["query"])
    if kind == "script_score":
        params = asked["script"]["params"]
        assert "cosineSimilarity(params.vector" in asked["script"]["source"]
        return _nearest(index, params["field"], params["vector"], _eval(index, asked["query"]))
    raise ValueError(f"unknown query [{kind}]")


def _nearest(index: Index, name: str, vector: list[float], only: Any) -> dict[str, float]:
    mapping = index.mappings["properties"][name]
    if len(vector) != mapping.get("dims", mapping.get("dimension")):
        raise ValueError("the query vector has a different number of dimensions")
    asked = np.array(vector)
    found = {}
    for doc_id, source in index.docs.items():
        if doc_id in only and name in source:
            shown = np.array(source[name])
            cosine = asked @ shown / (np.linalg.norm(asked) * np.linalg.norm(shown))
            found[doc_id] = (1 + cosine) / 2
    return found


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _bm25(index: Index, name: str, query: str) -> dict[str, float]:
    k1, b = 1.2, 0.75
    texts = {doc_id: Counter(words(source.get(name, ""))) for doc_id, source in index.docs.items()}
    mean = sum(sum(c.values()) for c in texts.values()) / len(texts)
    found: dict[str, float] = {}
    for term, times in Counter(words(query)).items():
        frequency = sum(term in c for c in texts.values())
        idf = math.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))
        for doc_id, counts in texts.items():
            if term in counts:
                norm = k1 * (1 - b + b * sum(counts.values()) / mean)
                score = times * idf * counts[term] / (counts[term] + norm)
                found[doc_id] = found.get(doc_id, 0.0) + score
    return found


def _error(status: int, kind: str, reason: str) -> tuple[int, Any]:
    cause = {"type": kind, "reason": reason}
    return status, {"error": {"root_cause": [cause], **cause}, "status": status}


# -- HTTP ----------------------------------------------------------------------------------------


@contextmanager
def serving(product: str = "elasticsearch", version: str | None = None) -> Iterator[SearchServer]:
    """A server at a free port."""
    held = SearchServer(product, version or {"elasticsearch": "9.1.0"}.get(product, "3.2.0"))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            body: Any = None
            if raw:
                lined = self.path.split("?")[0] in ("/_msearch", "/_bulk")
                body = [json.loads(line) for line in raw.splitlines()] if lined else json.loads(raw)
            held.headers.append(dict(self.headers))
            status, answer = held.answer(
                self.command, self.path, body, self.headers.get("accept", "")
            )
            data = json.dumps(answer).encode()
            self.send_response(status)
            if held.product == "elasticsearch":
                self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    held.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield held
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""Requests to the server of `irtoolkit serve`, from the first line to the body."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any

from irtoolkit.apps.serve.app import application
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.serve.limits import Limits
from irtoolkit.apps.web.guard import Access
from irtoolkit.base.errors import InputError
from tests.fuzz.target import Target, scratch

_HOST = "127.0.0.1:8801"
_BOOK = b"# Title: The Lamp\n\nOld Marit kept the lamp. She climbed a hundred steps.\n\nThe oil ran out. She burned the chairs."
# What a server may answer that is asked for nothing that it has to fail at.
_ANSWERS = {200, 201, 202, 204, 307, 400, 403, 404, 405, 409, 411, 413, 415, 421, 422, 429, 503}


class _Server:
    """An application with one book, asked without a network."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        folder = scratch() / "library"
        folder.mkdir()
        book = folder / "lamp.txt"
        book.write_bytes(_BOOK)
        # No books of readers: what is uploaded is parsed by a target of its own.
        self._library = Library(folder, None, Limits(books=0, judgments=500))
        self.app = application(self._library, Access(hosts=frozenset({_HOST})))
        self.name = self._library.shelf.add_file(book).collection.name
        self.loop.run_until_complete(self._begin())

    async def _begin(self) -> None:
        await self._library.open()
        while self._library.shelf.get(self.name).progress.stage not in ("ready", "failed"):
            await asyncio.sleep(0.01)

    async def answer(self, method: str, target: bytes, headers: Any, body: bytes) -> tuple[int, bytes]:  # fmt: skip
        """The status and the body of an answer."""
        path, _, query = target.partition(b"?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path.decode("utf-8", "replace"), "raw_path": path, "query_string": query, "root_path": "",
            "headers": [(b"host", _HOST.encode()), *headers], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8801),
        }  # fmt: skip
        sent: list[Any] = []
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return given.pop() if given else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        content = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], content


@cache
def _server() -> _Server:
    return _Server()


def _request(data: bytes) -> None:
    """Refused with words, or answered with what can be read; never a failure of the server."""
    server = _server()
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, target = first.partition(b" ")
    pairs = (line.partition(b":") for line in lines)
    headers = [(name.strip().lower(), value.strip()) for name, _, value in pairs]
    # Streams last as long as their collection is prepared; files of the page are no API.
    if b"page" in target:
        raise InputError("not of the API")
    body = body.replace(b"BOOK", server.name.encode())
    target = target.replace(b"BOOK", server.name.encode())
    word = method.decode("latin-1").strip().upper() or "GET"
    status, content = server.loop.run_until_complete(server.answer(word, target, headers, body))
    assert status in _ANSWERS, f"status {status}: {content[:200]!r}"
    if status >= 400:
        said = json.loads(content)["detail"] if content and word != "HEAD" else "-"
        assert said, "refused without a word"
        raise InputError(" ".join(str(said).split())[:200])
    if word == "POST" and target == b"/search":
        _check_found(json.loads(body), content)


def _check_found(asked: Any, content: bytes) -> None:
    """As many passages as were asked for, at most, best first, each from the book."""
    if asked.get("format", "json") != "json":
        assert content.decode() or not content
        return
    answer = json.loads(content)
    assert answer["answers"]
    for found in answer["answers"]:
        hits = found["hits"]
        assert len(hits) <= int(asked.get("depth", 20))
        assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)


def _post(path: str, **body: Any) -> bytes:
    head = f"POST {path}\ncontent-type: application/json\n\n"
    return (head + json.dumps(body)).encode()


TARGETS = (
    Target(
        "api", _request,
        (
            _post("/search", collection="BOOK", query="the lamp and its oil", systems=["words"], length=1, depth=3),
            _post("/search", collection="BOOK", query="chairs [quote] steps", format="csv", context=1),
            _post("/search", collection="BOOK", query="oil", format="trec", length=2),
            _post("/near", collection="BOOK", query="oil", passages=["BOOK:0+1"]),
            _post("/judgments", collection="BOOK", query="oil", passage="BOOK:0+1", grade=1),
            b"GET /collections\n\n", b"GET /collections/BOOK\n\n", b"GET /judgments/qrels?collection=BOOK\n\n",
            b"GET /passages/BOOK/BOOK:1+2?before=1&after=2\n\n", b"GET /judgments/topics\n\n", b"GET /health\n\n",
            b"POST /collections?filename=a.txt\n\nA book. It is short.", b"DELETE /collections/BOOK\n\n",
            b"GET /openapi.json\nSec-Fetch-Site: same-origin\n\n",
        ),
        (b"BOOK", b"BOOK:0+1", b"0+99", b'"words"', b'"meaning"', b'"fused"', b"[quote]", b"%00", b"%2e%2e", b"..", b"null", b"text/plain", b"content-type", b"content-length", b"origin", b"host", b"PUT", b"HEAD", b"OPTIONS", b"/search", b"/near", b"/judgments", b"99999999999999999999"),
        True,
    ),
)  # fmt: skip

"""What stands before an application: a request that ends early."""

from __future__ import annotations

import asyncio
from typing import Any

from irtoolkit.apps.web.guard import Access, Guard, Message, Receive, Rules, Scope, Send


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads all of a body and answers, as frameworks do that are told of no more than an error."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def answered(*messages: Message) -> list[str]:
    """The kinds of what is sent after these messages."""
    coming, sent = iter(messages), []

    async def receive() -> Message:
        return next(coming)

    async def send(message: Message) -> None:
        sent.append(message["type"])

    scope: dict[str, Any] = {
        "type": "http", "method": "POST", "path": "/search", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8801")],
    }  # fmt: skip
    guard = Guard(app, Access.local(8801), Rules())
    asyncio.run(guard(scope, receive, send))
    return sent


PART = {"type": "http.request", "body": b"{", "more_body": True}
LAST = {"type": "http.request", "body": b"}", "more_body": False}


def test_a_whole_body_is_answered() -> None:
    assert answered(PART, LAST) == ["http.response.start", "http.response.body"]


def test_nobody_is_answered_where_a_body_ends_early() -> None:
    assert answered(PART, {"type": "http.disconnect"}) == []

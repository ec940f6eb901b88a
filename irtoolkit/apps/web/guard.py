"""Access control and limits of requests: the first code that sees a request."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SAFE = ("GET", "HEAD")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {embed};"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
_LARGE = "the body is larger than this server takes"
_LATE = "the body did not arrive in time"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# Bytes of a body that is no file.
SMALL_BODY = 1 << 16


@dataclass(frozen=True)
class Access:
    """The permission to make requests.

    Attributes:
        token: required in requests; None if everyone on this machine may make them, or
            `public`.
        hosts: accepted values of Host, because another may be a rebound name of another
            site's page; empty if any is accepted, as with a token, which such a page lacks.
        public: whether everyone may make the requests that the application's rules allow.
    """

    token: str | None = None
    hosts: frozenset[str] = frozenset()
    public: bool = False

    @classmethod
    def local(cls, port: int) -> Access:
        """Returns the access of this machine alone."""
        names = {f"{name}:{port}" for name in _LOOPBACK}
        return cls(hosts=frozenset(names | (set(_LOOPBACK) if port == 80 else set())))


def _small(method: str, path: str) -> int:
    return SMALL_BODY


def _nothing(method: str, path: str) -> str | None:
    return None


@dataclass(frozen=True)
class Rules:
    """The limits of an application's requests.

    Attributes:
        body_seconds: time in which a body has to arrive.
        most: largest body of a request in bytes, by its method and path.
        refused: why a public server refuses a request, by method and path; None if
            everyone may make it.
    """

    body_seconds: float = 120
    most: Callable[[str, str], int] = _small
    refused: Callable[[str, str], str | None] = _nothing


class Guard:
    """Middleware that refuses bad requests to the application, and adds headers to its responses.

    Requests of other sites are refused by Sec-Fetch-Site and Origin, and by Host if the access names
    the accepted ones. Bodies are counted while they arrive. There is no CORS.
    """

    def __init__(self, app: App, access: Access, rules: Rules) -> None:
        self._app, self._access, self._rules = app, access, rules
        embed = "*" if access.public else "'none'"
        self._headers = [
            (b"content-security-policy", _POLICY.format(embed=embed).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        body = _Body(receive, self._most(scope), self._rules.body_seconds)

        async def sending(message: Message) -> None:
            if body.lost:
                return  # nobody is there to be answered, and the server logs a traceback of it
            if message["type"] == "http.response.start":
                names = {name for name, _ in message.get("headers", [])}
                more = [pair for pair in self._headers if pair[0] not in names]
                message["headers"] = [*message.get("headers", []), *more]
            await send(message)

        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refusal(scope, headers)
        if refused is not None:
            await _answer(sending, *refused)
            return
        await self._app(scope, body.receive, sending)

    def _most(self, scope: Scope) -> int:
        """Returns the largest body of a request in bytes."""
        return self._rules.most(scope["method"], scope["path"])

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str] | None:
        access, path = self._access, scope["path"]
        host = headers.get(b"host", "").lower()
        if access.hosts and host not in access.hosts:
            return 421, "this name is not the server's"
        changes = scope["method"] not in SAFE
        is_page = path == "/" or path.startswith("/page/")
        site = headers.get(b"sec-fetch-site")
        # A link to the page may come from anywhere; the page itself asks from here.
        if site not in (None, "same-origin", "none") and not (is_page and not changes):
            return 403, "requests of other sites are not answered"
        origin = headers.get(b"origin")
        if (
            origin is not None
            and (changes or not is_page)
            and urlsplit(origin).netloc.lower() != host
        ):
            return 403, "requests of other sites are not answered"
        if access.public and (reason := self._rules.refused(scope["method"], path)) is not None:
            return 403, reason
        if access.token is not None and not is_page and path != "/health":
            header = headers.get(b"authorization", "")
            expected = f"Bearer {access.token}"
            if not hmac.compare_digest(header.encode(), expected.encode()):
                return 401, "a token is needed: Authorization: Bearer TOKEN"
        # The framework decodes the query, and fails where it is not UTF-8.
        if not scope["query_string"].isascii():
            return 400, "the query of the address is not percent-encoded"
        length = headers.get(b"content-length", "0")
        if not re.fullmatch("[0-9]+", length):
            return 400, "Content-Length is no number of bytes"
        # A server in front of this one may take the other for the length.
        if b"content-length" in headers and b"transfer-encoding" in headers:
            return 400, "a body has Content-Length or Transfer-Encoding, not both"
        if int(length[:20]) > self._most(scope):
            return 413, _LARGE
        return None


class _Body:
    """A body that is counted and timed while it arrives.

    Attributes:
        lost: whether the connection ended, or was no longer HTTP, before the body was complete.
    """

    def __init__(self, receive: Receive, most: int, seconds: float) -> None:
        self._receive, self._most, self._size = receive, most, 0
        self._until = asyncio.get_running_loop().time() + seconds
        self._done = False
        self.lost = False

    async def receive(self) -> Message:
        if self._done:
            # What comes now is that the reader went away, whenever that is.
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, _LATE) from None
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            self._done = not message.get("more_body", False)
            if self._size > self._most:
                raise HTTPException(413, _LARGE)
        self.lost = message["type"] == "http.disconnect"
        return message


async def _answer(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        # The rest of a body that is refused is not waited for.
        (b"connection", b"close"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

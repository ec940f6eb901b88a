"""The client of Elasticsearch and OpenSearch, and the errors that servers answer with."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, ClassVar, Protocol

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.models.llm.redaction import SHOWN, without_key

# Rejected, or the server behind a gateway is not ready.
_AGAIN = (429, 502, 503, 504)


class ClientSettings(Protocol):
    """The settings of a client; see `irtoolkit.retrievers._search_server.SearchServer`."""

    sent: ClassVar[int]
    usual_url: ClassVar[str]

    @property
    def url(self) -> str | None: ...
    @property
    def timeout(self) -> float: ...
    @property
    def retries(self) -> int: ...
    @property
    def ca_certs(self) -> str | None: ...


class Client(ABC):
    """The official client of a server, with its exceptions translated.

    Args:
        settings: the address, and how long it is waited for.

    Attributes:
        url: the server's address.
        product: the server's name, for messages.
        pit: where a point in time is opened, after the index's name, and where it is closed.
        pit_id: what the answer calls it.
        tie: the field by which equal scores are ordered when a server gives them in pages.
        credentials: the environment variables of user name and password.
        package: the client's module.
    """

    product: ClassVar[str]
    pit: ClassVar[tuple[str, str]]
    pit_id: ClassVar[str]
    tie: ClassVar[str]
    credentials: ClassVar[str]
    package: ClassVar[str]

    def __init__(self, settings: ClientSettings) -> None:
        self.url = settings.url or settings.usual_url
        self._retries, self._sent = settings.retries, settings.sent
        certificates = {} if settings.ca_certs is None else {"ca_certs": settings.ca_certs}
        self._client: Any = self.connect(
            settings.timeout,
            max_retries=settings.retries,
            retry_on_timeout=True,
            retry_on_status=_AGAIN,
            **certificates,
        )

    @abstractmethod
    def connect(self, timeout: float, **options: Any) -> Any:
        """Returns the official client, with the credentials of the environment."""

    @abstractmethod
    def errors(self) -> AbstractContextManager[None]:
        """Translates the exceptions of the official client; see `ask`."""

    @abstractmethod
    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        lines: bool = False,
    ) -> Any:
        """The answer to a request; `lines` sends the parts of the body as lines of JSON.

        Raises:
            RefusedError: the server answers with an error.
            InputError: it does not answer.
        """

    def bulk(self, actions: Iterator[dict[str, Any]]) -> Iterator[tuple[bool, dict[str, Any]]]:
        """Sends documents; whether each was taken, and what the server says of it."""
        helpers = import_module(f"{self.package}.helpers")
        with self.errors():
            yield from helpers.streaming_bulk(
                self._client,
                actions,
                chunk_size=self._sent,
                raise_on_error=False,
                max_retries=self._retries,
                initial_backoff=0.5,
                max_backoff=30,
            )


class RefusedError(InputError):
    """An error that a server has answered with.

    Args:
        status: the HTTP status.
        answer: the body of the answer.
        client: who was asked.
    """

    def __init__(self, status: int, answer: Any, client: Client) -> None:
        self.status = status
        self.kind, reason = reason_of(answer)
        remedy = None
        if status in (401, 403):
            reason = reason if self.kind else "the credentials are missing or wrong"
            remedy = f"{client.credentials} give credentials that may do this"
        elif self.kind == "media_type_header_exception":
            remedy = "install the client of the server's own major version"
        super().__init__(f"{client.product} on {client.url} says {status}: {reason}", remedy=remedy)


def reason_of(answer: Any) -> tuple[str, str]:
    """The kind of an error and its cause in one line, out of a server's answer."""
    error = answer.get("error", answer) if isinstance(answer, Mapping) else answer
    if not isinstance(error, Mapping):
        return "", without_secrets(" ".join(str(error or "no reason").split()))[:200]
    causes = [error, *error.get("root_cause", ()), error.get("caused_by", {})]
    causes += [failed.get("reason", {}) for failed in error.get("failed_shards", ())]
    deepest = [
        cause["reason"] for cause in causes if isinstance(cause, Mapping) and cause.get("reason")
    ]
    reason = " ".join(str(deepest[-1] if deepest else error.get("type", "no reason")).split())
    return str(error.get("type", "")), without_secrets(reason)[:200]


def secret(name: str) -> str | None:
    """A credential of the environment."""
    return os.environ.get(name) or None


# Environment variables whose values no message repeats, and those that are sent together.
_SECRETS = (
    "ELASTICSEARCH_API_KEY",
    "ELASTICSEARCH_PASSWORD",
    "OPENSEARCH_PASSWORD",
    "QDRANT_API_KEY",
)
_ACCOUNTS = ("ELASTICSEARCH", "OPENSEARCH")


def without_secrets(text: str) -> str:
    """A text without credentials: a server, or what is before it, may repeat what it was sent."""
    for account in _ACCOUNTS:
        pair = f"{secret(f'{account}_USERNAME')}:{secret(f'{account}_PASSWORD')}"
        text = text.replace(b64encode(pair.encode()).decode(), SHOWN)
    for name in _SECRETS:
        text = without_key(text, secret(name))
    return text


# -- errors ----------------------------------------------------------------------------------------


def no_such_index(noun: str, name: str, url: str, names: Sequence[str]) -> InputError:
    """The error for an index that is not on the server."""
    visible = [candidate for candidate in names if not candidate.startswith(".")]
    listed = f"there are {', '.join(visible[:10])}; " if visible and len(visible) <= 10 else ""
    return InputError(
        f"there is no {noun} {name} on {url}",
        remedy=f"{did_you_mean(name, visible) or listed}build=true indexes the dataset into it",
    )


def unanswered(product: str, url: str, error: Exception) -> InputError:
    """The error for a server that gives no answer."""
    message = without_secrets(" ".join(str(getattr(error, "message", "") or error).split()))
    slow = "timeout" in type(error).__name__.lower() or "timed out" in message.lower()
    if slow:
        return InputError(f"{product} on {url} takes too long", remedy="raise timeout=SECONDS")
    secure = "ssl" in message.lower() or "tls" in type(error).__name__.lower()
    return InputError(
        f"no {product} answers on {url}: {_cause(message)}",
        remedy="ca_certs=FILE checks its certificate"
        if secure
        else "start it, or give url=http[s]://HOST:PORT",
    )


def _cause(message: str) -> str:
    """The last part of a chain of errors, which is the cause."""
    match = re.search(r"\[Errno -?\d+\] ([^\])'\"]+)", message)
    return (match[1] if match else message)[:160]

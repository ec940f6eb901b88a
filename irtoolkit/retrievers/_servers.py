"""Settings, credentials and errors of retrievers over search servers."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np

from irtoolkit.base.errors import InputError, needs_extra
from irtoolkit.base.near import did_you_mean
from irtoolkit.models.llm.redaction import SHOWN, without_key
from irtoolkit.retrievers.base import Stores
from irtoolkit.retrievers.dense import VectorRetriever
from irtoolkit.retrievers.vectors import Similarity


@dataclass(frozen=True)
class ServerRetriever(VectorRetriever):
    """A retriever whose index is on a search server.

    Attributes:
        url: the server's address. Credentials are read from the environment only.
        index: the name of an index on the server; by default one that is made of the dataset, and
            named after it.
        build: whether the dataset is indexed under the name `index` where there is no such index.
        hits: documents found for each query, at most.
        exact: whether every vector of a corpus is compared; pools always are.
        similarity: "cosine", "dot" or "l2" of the vectors in an index that is made; by default the
            model's. That of an existing index is as it is.
        timeout: seconds that a request may take.
        retries: how often a request is repeated that got no answer, or that an overloaded server
            has rejected.
    """

    # The module of the client, and what the server calls an index.
    client: ClassVar[str] = ""
    noun: ClassVar[str] = "index"

    url: str | None = None
    index: str | None = None
    build: bool = False
    hits: int = 1000
    exact: bool = False
    similarity: Similarity | None = None
    timeout: float = 60.0
    retries: int = 3

    def __post_init__(self) -> None:
        allowed = {
            "hits": 1 <= self.hits < 1 << 31,
            "timeout": 0 < self.timeout < np.inf,
            "retries": 0 <= self.retries < 100,
        }
        for name, fine in allowed.items():
            if not fine:
                raise InputError(f"setting {name}={getattr(self, name)} is out of range")
        if self.build and self.index is None:
            raise InputError("build=true needs a name for the index", remedy="--set index=NAME")
        if self.url is not None:
            checked_url(self.url)

    def missing(self) -> str | None:
        if find_spec(self.client) is None:
            return str(needs_extra(self.client.replace("_", "-"), "backends"))
        return super().missing() if self.model else None

    def fingerprint(self) -> str | None:
        return super().fingerprint() if self.model else None

    def stores(self) -> Stores:
        return "vectors"  # and the index, on the server's disk

    def computed(self) -> dict[str, Any]:
        return super().computed() if self.model else {}

    def most(self) -> int | None:
        return self.hits

    def settings(self) -> dict[str, Any]:
        """Every parameter with its value; without a model, none that concerns one."""
        unused = {"exact", "similarity", *(item.name for item in fields(VectorRetriever))}
        return {
            key: value
            for key, value in super().settings().items()
            if self.model or key not in unused
        }


def checked_url(url: str) -> str:
    """An address of a server.

    Raises:
        InputError: it is none, or has a password in it, which would be recorded.
    """
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        raise InputError("setting url is not an address", remedy="url=http://HOST:PORT") from None
    if parts.username is not None or parts.password is not None:
        raise InputError(
            f"the address of {parts.hostname} has a user name in it, which would be recorded",
            remedy="give user name and password as environment variables",
        )
    if not fine:
        raise InputError(f"setting url={url} is not an address", remedy="url=http://HOST:PORT")
    return url


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

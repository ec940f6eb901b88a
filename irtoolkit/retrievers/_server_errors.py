"""Credentials of search servers, and the errors that these cause."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Sequence

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.models.llm.redaction import SHOWN, without_key


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

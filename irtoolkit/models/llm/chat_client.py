"""Requests to a server that speaks OpenAI's chat completions protocol."""

from __future__ import annotations

import http.client
import json
import logging
import random
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from itertools import count
from threading import Event
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.jsons import load_json
from irtoolkit.base.plurals import number_of
from irtoolkit.models.llm.generator import FILTERED, Completion, PromptTooLongError
from irtoolkit.models.llm.redaction import without_key
from irtoolkit.models.llm.replies import (
    Failure,
    completion_in,
    failure_in,
    failure_of,
    message_of,
)

_log = logging.getLogger(__name__)
# Seconds between two attempts at most, and how long a server may ask to be left alone.
LONGEST_PAUSE, PATIENCE = 60.0, 300.0
# Statuses that say: later. Any of the server's own faults (5xx) does too.
_LATER = (408, 409, 425, 429)
# A completion has some kB; what has more is no answer, and may have no end.
_MOST_BYTES = 64 << 20


class _PassingError(Exception):
    """A request failed for a reason that may pass."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected request would lose its body, and take the key elsewhere."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@dataclass(frozen=True)
class Server:
    """A server, and how patiently requests are made.

    Attributes:
        address: the whole address of chat completions.
        key: the API key that is sent, or None.
        key_variable: the environment variable that holds the key, for messages.
        local: whether the server is on this machine, so that no proxy is used.
        timeout: seconds of silence after which a request is given up.
        attempts: how often a request with a transient failure is made.
        pause: seconds before the second attempt; it doubles with each further one.
    """

    address: str
    key: str | None = field(repr=False)
    key_variable: str | None
    local: bool
    timeout: float
    attempts: int
    pause: float

    @property
    def is_azure(self) -> bool:
        """Whether it takes a key as Azure does."""
        return "api-version=" in self.address


class ChatClient:
    """Asks one server for completions, from several threads."""

    def __init__(self, server: Server, body: Callable[[str], dict[str, Any]]) -> None:
        """`body` makes the body of the request for a prompt."""
        self._server, self._body = server, body
        self._url = server.address
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if server.local:  # a proxy does not know this machine by that name
            handlers.append(urllib.request.ProxyHandler({}))
        self._open = urllib.request.build_opener(*handlers).open
        # Set when no request is to be repeated.
        self.halted = Event()
        # The most attempts that a request has needed so far, of which was told.
        self._told = 0

    def complete(self, prompt: str) -> Completion:
        """Returns the completion of one prompt, after as many attempts as it takes and may."""
        for attempt in count(1):
            try:
                return self._attempt(prompt)
            except _PassingError as later:
                pause = self._pause_after(attempt, later)
            if self.halted.wait(pause):
                break
        raise InputError(f"{self._url} was not asked again")

    def _pause_after(self, attempt: int, error: _PassingError) -> float:
        """Returns the seconds to wait before the next attempt.

        Raises:
            InputError: there has been one attempt too many, or the server requests too long a wait.
        """
        if attempt >= self._server.attempts:
            raise InputError(
                f"{self._url} failed {number_of(attempt, 'times')}, the last time with: {error}",
                remedy="try again later: the answers that came are kept",
            ) from None
        pause = error.pause
        if pause is None:
            # Requests that failed together should not come again together.
            longest = min(LONGEST_PAUSE, self._server.pause * 2.0 ** (attempt - 1))
            pause = longest * random.uniform(0.5, 1.0)
        if pause > PATIENCE:
            raise InputError(
                f"{self._url} wants to be left alone for {pause:.0f} seconds: {error}",
                remedy="try again then: the answers that came are kept",
            ) from None
        self._tell(attempt, error, pause)
        return pause

    def _tell(self, attempt: int, error: _PassingError, pause: float) -> None:
        """Logs that a request is repeated, once for each number of attempts."""
        if attempt > self._told:
            self._told = attempt
            _log.warning(
                "%s: %s; it is asked again in %.0f seconds, attempt %d of %d",
                self._url,
                error,
                pause,
                attempt + 1,
                self._server.attempts,
            )

    def _attempt(self, prompt: str) -> Completion:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._server.key is not None:
            headers |= (
                {"api-key": self._server.key}
                if self._server.is_azure
                else {"Authorization": f"Bearer {self._server.key}"}
            )
        data = json.dumps(self._body(prompt)).encode()
        request = urllib.request.Request(self._url, data, headers, method="POST")
        try:
            with self._open(request, timeout=self._server.timeout) as answer:
                pause = _retry_after(answer.headers.get("Retry-After"))
                return self._read(self._whole(answer), pause)
        except urllib.error.HTTPError as error:
            with error:
                return self._failed(error)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            reason = reason if isinstance(reason, Exception) else error
            said = self._shown(str(reason) or type(reason).__name__)
            if isinstance(reason, _PASSING):
                raise _PassingError(said) from None
            raise InputError(
                f"{self._url} cannot be reached: {said}", remedy="is the endpoint right, and up?"
            ) from None

    def _whole(self, answer: Any) -> bytes:
        """Returns the bytes of an answer, which may have no end."""
        data: bytes = answer.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise InputError(f"{self._url} answers with more than {_MOST_BYTES >> 20} MiB")
        if answer.length:  # what is still to come, when only some bytes are asked for
            raise http.client.IncompleteRead(data, answer.length)
        return data

    def _read(self, data: bytes, pause: float | None) -> Completion:
        """Returns the completion in a response with status 200, which may still hold an error."""
        try:
            answer = load_json(data)
        except ValueError:
            start = self._shown(data[:1000].decode("utf-8", "replace"))[:80]
            raise InputError(
                f"{self._url} answers with what is no JSON: {start!r}",
                remedy="is it an OpenAI-compatible endpoint?",
            ) from None
        failure = failure_in(answer)
        if failure is not None:
            return self._refused(failure, data, pause)
        completion = completion_in(answer)
        if completion is None:
            raise InputError(
                f"{self._url} answers without choices that have text: {self._message(answer, data)}",
                remedy="is it an OpenAI-compatible endpoint?",
            )
        return completion

    def _failed(self, error: urllib.error.HTTPError) -> Completion:
        """Handles a response with an error status; see `_refused`."""
        data = b""
        try:
            data = error.read(_MOST_BYTES)
            answer = load_json(data)
        except (OSError, http.client.HTTPException, ValueError):
            answer = None
        pause = _retry_after(error.headers.get("Retry-After"))
        if 300 <= error.code < 400:
            place = self._shown(str(error.headers.get("Location")))
            raise InputError(f"{self._url} has moved to {place}", remedy="give that as endpoint")
        return self._refused(failure_of(answer, error.code), data, pause)

    def _refused(self, failure: Failure, data: bytes, pause: float | None) -> Completion:
        """Handles an error that the server reports, whatever the status it was sent with.

        Raises:
            InputError: the error is final; the message has the server's words.
            _PassingError: try again.
        """
        status, kinds, answer = failure
        if failure.is_withheld:
            # A provider that reads the prompt before its model does (Azure) has no completion.
            return Completion("", FILTERED)
        said = self._message(answer, data) or http.client.responses.get(status, "no reason given")
        # No waiting brings money.
        spent = "insufficient_quota" in kinds
        if (status in _LATER or status >= 500) and not spent:
            raise _PassingError(f"{status} {said}", pause)
        if status in (200, 400, 413, 422) and _says_too_long(kinds, said):
            raise PromptTooLongError(f"{self._url} does not take so long a prompt: {said}")
        variable = self._server.key_variable
        remedy = {
            401: f"it comes from the environment variable {variable}"
            if self._server.key
            else f"set the environment variable {variable or 'that key_variable names'}",
            404: "llm is a model's name at the endpoint, endpoint what precedes /chat/completions",
        }.get(status)
        what = {
            200: "answers with an error",
            401: "does not take the API key" if self._server.key else "wants an API key",
        }
        raise InputError(
            f"{self._url} {what.get(status, f'answers with status {status}')}: {said}",
            remedy=remedy,
        )

    def _message(self, answer: Any, data: bytes) -> str:
        """Returns the server's words on an error, cut."""
        return self._shown(message_of(answer, data))[:300]

    def _shown(self, text: str) -> str:
        """Returns a text without the API key, which some servers repeat."""
        return without_key(text, self._server.key)


def _says_too_long(kinds: list[Any], said: str) -> bool:
    """Returns whether an error of OpenAI, vLLM or llama.cpp means a prompt beyond the context."""
    codes = " ".join(kind for kind in kinds if isinstance(kind, str))
    named = re.search(r"context_(length|size)_exceeded|exceed_context_size", codes)
    return bool(named or re.search(r"maximum context|context (length|size|window)", said, re.I))


# Faults of a connection that was there. One that cannot be made at all is the user's to mend.
_PASSING = (
    TimeoutError,
    ConnectionResetError,
    ConnectionAbortedError,
    BrokenPipeError,
    http.client.HTTPException,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)


def _retry_after(value: str | None) -> float | None:
    """Returns the seconds to wait, from a header with seconds or a date; None for anything else."""
    if value is None:
        return None
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None

"""Chat models behind an address that speaks OpenAI's chat completions protocol."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from irtoolkit.base.ending import delay_ending
from irtoolkit.base.errors import InputError
from irtoolkit.models.llm.chat_client import ChatClient, Server
from irtoolkit.models.llm.generator import Completion, TextGenerator

# What a name of an environment variable looks like; few keys do.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_PATH = "/chat/completions"


@dataclass(frozen=True)
class Endpoint(TextGenerator):
    """A chat model behind an address that speaks OpenAI's chat completions protocol.

    A setting that is None is not sent, as some models take no temperature or max_tokens.

    Attributes:
        url: the address before /chat/completions, or with it. An address of Azure's has
            `?api-version=...`, and its key is sent in the header `api-key`.
        key_variable: the environment variable with the API key; None sends none. A server on this
            machine may be used without a key, and any other needs one. It is sent in the header
            of requests and goes nowhere else.
        timeout: seconds of silence after which a request is given up.
        attempts: how often a request with a transient failure is made.
        pause: seconds before the second attempt; twice that before the third, and so on. A
            server's Retry-After takes precedence.
    """

    url: str = "https://api.openai.com/v1"
    key_variable: str | None = "OPENAI_API_KEY"
    timeout: float = 120.0
    attempts: int = 8
    pause: float = 1.0

    def missing(self) -> str | None:
        lacking = super().missing()
        if lacking is None and not 0 < self.timeout < float("inf"):
            lacking = f"timeout={self.timeout} is not a number of seconds"
        return lacking or self._unfit_url() or self._unfit_key()

    def _unfit_url(self) -> str | None:
        try:
            parts = urlsplit(self.url)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            return "the endpoint is no address, such as https://api.openai.com/v1"
        # The address is recorded with every run.
        if parts.username is not None or parts.password is not None:
            return "the endpoint's address holds a user name: give the key by key_variable"
        if parts.query and not re.fullmatch(r"api-version=[\w.-]+", parts.query):
            return (
                "the endpoint's address holds parameters, of which only Azure's api-version is sent:"
                " remove them, and give the key by key_variable"
            )
        if not fits or parts.fragment or re.search(r"[^!-~]", self.url):
            return f"the endpoint {self.url!r} is no address, such as https://api.openai.com/v1"
        return None

    def _unfit_key(self) -> str | None:
        if self.key_variable is None:
            return None
        if not _VARIABLE.fullmatch(self.key_variable):
            # What stands there may be a key, and is not repeated.
            return "key_variable is not the name of an environment variable, in capitals"
        key = self._key()
        if key is None:
            return (
                None
                if self._is_local()
                else (
                    f"there is no API key for {self.url}: set the environment variable"
                    f" {self.key_variable}, or key_variable=none for a server that wants none"
                )
            )
        if not re.fullmatch(r"[!-~]+", key):
            return f"the environment variable {self.key_variable} holds no API key"
        if urlsplit(self.url).scheme == "http" and not self._is_local():
            return (
                f"the API key would go to {self.url} unencrypted: use https, or key_variable=none"
            )
        return None

    def _key(self) -> str | None:
        return os.environ.get(self.key_variable or "", "").strip() or None

    def is_remote(self) -> bool:
        return not self._is_local()

    def _is_local(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        return host in ("localhost", "::1") or re.fullmatch(r"127(\.\d+){3}", host) is not None

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "endpoint": self._address()}

    def _address(self) -> str:
        """Returns the address without /chat/completions, with which answers are cached."""
        before, mark, query = self.url.partition("?")
        return before.rstrip("/").removesuffix(_PATH).rstrip("/") + mark + query

    def _chat_address(self) -> str:
        before, mark, query = self._address().partition("?")
        return before + _PATH + mark + query

    def _body(self, prompt: str) -> dict[str, Any]:
        """Returns the body of the request for a prompt; a setting that is None is left out."""
        messages = [] if self.system is None else [{"role": "system", "content": self.system}]
        messages.append({"role": "user", "content": prompt})
        body: dict[str, Any] = {"model": self.model, "messages": messages, "n": 1}
        for name in ("temperature", "max_tokens", "seed"):
            if getattr(self, name) is not None:
                body[name] = getattr(self, name)
        if self.alternatives:
            body |= {"logprobs": True, "top_logprobs": self.alternatives}
        return body

    def generate(self, prompts: Sequence[str]) -> Iterator[list[tuple[str, Completion]]]:
        lacking = self.missing()
        if lacking is not None:
            raise InputError(lacking)
        waiting = iter(prompts)
        failure: BaseException | None = None
        running: dict[Future[Completion], str] = {}
        server = Server(
            self._chat_address(),
            self._key(),
            self.key_variable,
            self._is_local(),
            self.timeout,
            self.attempts,
            self.pause,
        )
        client = ChatClient(server, self._body)
        # Answers on their way will be paid for: Ctrl-C awaits them.
        with delay_ending(client.halted.set), ThreadPoolExecutor(self.parallel) as pool:
            try:
                while True:
                    if not client.halted.is_set():
                        for prompt in islice(waiting, self.parallel - len(running)):
                            running[pool.submit(client.complete, prompt)] = prompt
                    if not running:
                        break
                    come = []
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        prompt, error = running.pop(future), future.exception()
                        if error is None:
                            come.append((prompt, future.result()))
                        else:
                            failure = failure or error
                            client.halted.set()
                    if come:
                        yield come
            finally:
                client.halted.set()
        if failure is not None:
            raise failure

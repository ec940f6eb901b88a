"""Language models that write: behind an OpenAI-compatible address, or loaded here."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import re
import ssl
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import count, islice
from threading import Event
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from irtoolkit.base.errors import InputError
from irtoolkit.models import loading, presets

# Why a completion ends where it does, as the protocol has it.
STOP, LENGTH, FILTERED = "stop", "length", "content_filter"
# Seconds between two attempts at most, and how long a server may ask to be left alone.
LONGEST_PAUSE, PATIENCE = 60.0, 300.0
# What a name of an environment variable looks like; few keys do.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
# Statuses that say: later. Any of the server's own faults (5xx) does too.
_LATER = (408, 409, 425, 429)


class Completion(NamedTuple):
    """What a model has written after a prompt.

    Attributes:
        text: may be empty.
        finish: why it ends: "stop", "length" when it was cut at max_tokens, "content_filter" when
            its provider withholds it, or another word of the server's.
        model: the very model that wrote it, as a server names it.
    """

    text: str
    finish: str = STOP
    model: str | None = None


@dataclass(frozen=True)
class Writer(ABC):
    """A language model and how it is to write.

    Attributes:
        model: its name.
        system: a message that precedes every prompt.
        temperature: 0 takes the likeliest token; None leaves sampling to the model's publisher.
        max_tokens: length of a completion at most.
        seed: of the sampling.
        parallel: prompts that are answered at once.
    """

    model: str
    system: str | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = 256
    seed: int | None = 0
    parallel: int = 8

    def is_remote(self) -> bool:
        """Whether prompts leave this machine."""
        return False

    def missing(self) -> str | None:
        """What keeps it from writing here, or None. Asks nobody."""
        if not self.model.strip():
            return "no language model is named: give llm=NAME"
        if self.parallel < 1:
            return f"parallel={self.parallel} is not at least 1"
        if self.max_tokens is not None and self.max_tokens < 1:
            return f"max_tokens={self.max_tokens} is not at least 1"
        if self.temperature is not None and not 0 <= self.temperature < float("inf"):
            return f"temperature={self.temperature} is not 0 or more"
        return None

    def identity(self) -> dict[str, Any]:
        """Everything beside the prompt that decides a completion; it holds no secret."""
        names = ("model", "system", "temperature", "max_tokens", "seed")
        return {name: getattr(self, name) for name in names}

    @abstractmethod
    def write(self, prompts: Sequence[str]) -> Iterator[list[tuple[str, Completion]]]:
        """Yields (prompt, completion) for each prompt, in any order, in portions as they come.

        Raises:
            InputError: something is missing, or the model fails; what it has written until then
                is yielded before.
        """


@dataclass(frozen=True)
class Endpoint(Writer):
    """A chat model behind an address that speaks OpenAI's chat completions protocol.

    A setting that is None is not sent, as some models take no temperature or max_tokens.

    Attributes:
        url: the address before /chat/completions.
        key_variable: the environment variable with the API key; None sends none. A server on this
            machine may be asked without a key, and any other needs one. It is sent in the header
            of requests and goes nowhere else.
        timeout: seconds of silence after which a request is given up.
        attempts: how often a request is made that fails for a reason that passes.
        pause: seconds before the second attempt; twice that before the third, and so on. A
            server's Retry-After goes before.
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
        if parts.username is not None or parts.password is not None or parts.query:
            # The address is recorded with every run.
            return "the endpoint's address holds a user name or parameters: give the key by key_variable"
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
            return None if self._is_local() else (
                f"there is no API key for {self.url}: set the environment variable"
                f" {self.key_variable}, or key_variable=none for a server that wants none"
            )  # fmt: skip
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
        return self.url.rstrip("/")

    def write(self, prompts: Sequence[str]) -> Iterator[list[tuple[str, Completion]]]:
        lacking = self.missing()
        if lacking is not None:
            raise InputError(lacking)
        waiting = iter(prompts)
        failure: BaseException | None = None
        running: dict[Future[Completion], str] = {}
        client = _Client(self, self._key(), self._is_local())
        with ThreadPoolExecutor(self.parallel) as pool:
            try:
                while True:
                    if failure is None:
                        for prompt in islice(waiting, self.parallel - len(running)):
                            running[pool.submit(client.complete, prompt)] = prompt
                    if not running:
                        break
                    try:
                        done = wait(running, return_when=FIRST_COMPLETED).done
                    except KeyboardInterrupt as interrupt:
                        if failure is not None:
                            raise
                        # Answers on their way will be paid for: they are awaited.
                        failure = interrupt
                        client.halted.set()
                        continue
                    come = []
                    for future in done:
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


class _PassingError(Exception):
    """A request failed for a reason that may pass."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected request would lose its body, and take the key elsewhere."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class _Client:
    """Makes the requests of one `Endpoint.write`, from several threads."""

    def __init__(self, endpoint: Endpoint, key: str | None, local: bool) -> None:
        self._endpoint, self._key = endpoint, key
        self._url = f"{endpoint._address()}/chat/completions"
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if local:  # a proxy does not know this machine by that name
            handlers.append(urllib.request.ProxyHandler({}))
        self._open = urllib.request.build_opener(*handlers).open
        # Set when nothing is to be asked again.
        self.halted = Event()

    def complete(self, prompt: str) -> Completion:
        """The completion of one prompt, after as many attempts as it takes and may."""
        endpoint = self._endpoint
        for attempt in count(1):
            try:
                return self._attempt(prompt)
            except _PassingError as later:
                if attempt >= endpoint.attempts:
                    raise InputError(
                        f"{self._url} failed {attempt} times, the last time with: {later}",
                        remedy="try again later: the answers that came are kept",
                    ) from None
                pause = later.pause
                if pause is None:
                    # Requests that failed together should not come again together.
                    longest = min(LONGEST_PAUSE, endpoint.pause * 2.0 ** (attempt - 1))
                    pause = longest * random.uniform(0.5, 1.0)
                if pause > PATIENCE:
                    raise InputError(
                        f"{self._url} wants to be left alone for {pause:.0f} seconds: {later}",
                        remedy="try again then: the answers that came are kept",
                    ) from None
            if self.halted.wait(pause):
                break
        raise InputError(f"{self._url} was not asked again")

    def _attempt(self, prompt: str) -> Completion:
        endpoint = self._endpoint
        messages = [] if endpoint.system is None else [("system", endpoint.system)]
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": [
                {"role": role, "content": text} for role, text in [*messages, ("user", prompt)]
            ],
            "n": 1,
        }
        for name in ("temperature", "max_tokens", "seed"):
            if getattr(endpoint, name) is not None:
                body[name] = getattr(endpoint, name)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(
            self._url, json.dumps(body).encode(), headers, method="POST"
        )
        try:
            with self._open(request, timeout=endpoint.timeout) as answer:
                return self._read(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(error)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            reason = reason if isinstance(reason, Exception) else error
            said = self._shown(str(reason) or type(reason).__name__)
            if isinstance(reason, _PASSING):
                raise _PassingError(said) from None
            raise InputError(
                f"{self._url} cannot be reached: {said}", remedy="is the endpoint right, and up?"
            ) from None

    def _read(self, data: bytes) -> Completion:
        try:
            answer = json.loads(data)
        except ValueError:
            start = self._shown(data[:80].decode("utf-8", "replace"))
            raise InputError(
                f"{self._url} answers with what is no JSON: {start!r}",
                remedy="is it an OpenAI-compatible endpoint?",
            ) from None
        choices = answer.get("choices") if isinstance(answer, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise InputError(
                f"{self._url} answers without choices: {self._message(answer, data)}",
                remedy="is it an OpenAI-compatible endpoint?",
            )
        text = message.get("content")
        text = "" if text is None else text
        if not isinstance(text, str):
            raise InputError(f"{self._url} answers with content that is no text")
        finish, model = choice.get("finish_reason"), answer.get("model")
        if message.get("refusal"):
            finish = FILTERED
        return Completion(
            _encodable(text),
            _encodable(finish) if isinstance(finish, str) else STOP,
            _encodable(model) if isinstance(model, str) else None,
        )

    def _refused(self, error: urllib.error.HTTPError) -> Completion:
        """What to do about an answer that is no success.

        Raises:
            InputError: nothing but telling what the server says.
            _PassingError: ask again.
        """
        status, data = error.code, b""
        try:
            data = error.read()
            answer = json.loads(data)
        except (OSError, http.client.HTTPException, ValueError):
            answer = None
        said = self._message(answer, data) or http.client.responses.get(status, "no reason given")
        found = answer.get("error") if isinstance(answer, dict) else None
        kinds = [found.get("code"), found.get("type")] if isinstance(found, dict) else []
        # A provider that reads the prompt before its model does (Azure) has no completion.
        if status == 400 and "content_filter" in kinds:
            return Completion("", FILTERED)
        # No waiting brings money.
        spent = "insufficient_quota" in kinds
        if (status in _LATER or status >= 500) and not spent:
            raise _PassingError(f"{status} {said}", _retry_after(error.headers.get("Retry-After")))
        if 300 <= status < 400:
            place = self._shown(str(error.headers.get("Location")))
            raise InputError(f"{self._url} has moved to {place}", remedy="give that as endpoint")
        variable = self._endpoint.key_variable
        remedy = {
            401: f"it comes from the environment variable {variable}" if self._key
            else f"set the environment variable {variable or 'that key_variable names'}",
            404: "llm is a model's name at the endpoint, endpoint what precedes /chat/completions",
        }.get(status)  # fmt: skip
        what = {401: "does not take the API key" if self._key else "wants an API key"}
        raise InputError(
            f"{self._url} {what.get(status, f'answers with status {status}')}: {said}",
            remedy=remedy,
        )

    def _message(self, answer: Any, data: bytes) -> str:
        """What a server says of an error: in OpenAI's form, another of JSON, or plain text."""
        found = answer
        for key in ("error", "message", "detail"):
            if isinstance(found, dict) and found.get(key):
                found = found[key]
        if not isinstance(found, str):
            found = data.decode("utf-8", "replace")
        return self._shown(" ".join(found.split())[:300])

    def _shown(self, text: str) -> str:
        """Text that may be shown: some servers repeat the key they were given."""
        return text if self._key is None else text.replace(self._key, "[API key]")


# Faults of a connection that was there. One that cannot be made at all is the user's to mend.
_PASSING = (
    TimeoutError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError,
    http.client.HTTPException, ssl.SSLEOFError, ssl.SSLZeroReturnError,
)  # fmt: skip


def _encodable(text: str) -> str:
    """Text that files can hold: JSON may spell half of a character outside the basic plane."""
    return text.encode("utf-8", "replace").decode()


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, of a header that gives them or a date; None of anything else."""
    if value is None:
        return None
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class Local(Writer):
    """A transformers model that is loaded here, by preset, folder or hub id.

    Prompts go through the tokenizer's chat template where it has one, and else follow the system
    message as they are. `temperature` 0 is greedy, a higher one samples from the whole vocabulary,
    and None does as the model's generation config says. What is drawn for a prompt depends on the
    prompts of its batch.

    Attributes:
        device: a torch device; by default a GPU when there is one.
    """

    device: str | None = None

    def missing(self) -> str | None:
        lacking = super().missing()
        if lacking is None and self.max_tokens is None:
            lacking = "a local language model needs max_tokens"
        if lacking is None:
            lacking = presets.missing_weights(presets.find_preset(self.model))
            lacking = lacking and lacking.replace("model=PATH", "llm=PATH")
        return lacking

    def identity(self) -> dict[str, Any]:
        # The weights decide, wherever they are; and the batch, as padding moves last digits.
        found = {
            "model": presets.weights_hash(presets.find_preset(self.model)) or self.model,
            "parallel": self.parallel,
        }
        return {**super().identity(), **found}

    def write(self, prompts: Sequence[str]) -> Iterator[list[tuple[str, Completion]]]:
        lacking = self.missing()
        if lacking is not None:
            raise InputError(lacking)
        loaded = _load(self.model, self.device)
        for start in range(0, len(prompts), self.parallel):
            batch = list(prompts[start : start + self.parallel])
            yield list(zip(batch, self._complete(*loaded, batch), strict=True))

    def _complete(self, tokenizer: Any, model: Any, prompts: list[str]) -> list[Completion]:
        import torch

        chat = tokenizer.chat_template is not None
        batch = tokenizer(
            [self._whole(tokenizer, prompt) for prompt in prompts],
            return_tensors="pt", padding=True, add_special_tokens=not chat,
        ).to(model.device)  # fmt: skip
        encoder_decoder = model.config.is_encoder_decoder
        width, limit = batch["input_ids"].shape[1], _positions(model)
        needed = width if encoder_decoder else width + (self.max_tokens or 0)
        if limit is not None and needed > limit:
            also = "" if encoder_decoder else f" and max_tokens={self.max_tokens}"
            raise InputError(
                f"a prompt of {width} tokens{also} exceed the {limit} positions of {self.model}"
            )
        # The batch decides the draw: answers that are here already are never drawn again.
        seed = int(hashlib.sha256(f"{self.seed} {prompts}".encode()).hexdigest()[:15], 16)
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(seed)
            written = model.generate(
                input_ids=batch["input_ids"], attention_mask=batch["attention_mask"],
                pad_token_id=tokenizer.pad_token_id, **self._how(),
            )  # fmt: skip
        # A decoder of its own begins with a token that is nobody's.
        new = written[:, 1:] if encoder_decoder else written[:, width:]
        texts = tokenizer.batch_decode(new, skip_special_tokens=True)
        ends = _ends(model)
        return [
            Completion(text, STOP if not ends.isdisjoint(row) else LENGTH)
            for text, row in zip(texts, new.tolist(), strict=True)
        ]

    def _whole(self, tokenizer: Any, prompt: str) -> str:
        """All that the model reads."""
        if tokenizer.chat_template is None:
            return prompt if self.system is None else f"{self.system}\n\n{prompt}"
        messages = [] if self.system is None else [("system", self.system)]
        try:
            return str(
                tokenizer.apply_chat_template(
                    [{"role": role, "content": text} for role, text in [*messages, ("user", prompt)]],
                    tokenize=False, add_generation_prompt=True,
                )
            )  # fmt: skip
        except Exception as error:  # the template's own
            raise InputError(
                f"the chat template of {self.model} fails: {_reason(error)}",
                remedy="some take no system message: put it into the prompt",
            ) from None

    def _how(self) -> dict[str, Any]:
        length = {"max_new_tokens": self.max_tokens, "max_length": None}
        if self.temperature is None:
            return length
        if self.temperature == 0:
            return {**length, "do_sample": False, "num_beams": 1}
        return {
            **length, "do_sample": True, "num_beams": 1, "temperature": self.temperature,
            "top_k": 0, "top_p": 1.0,
        }  # fmt: skip


def _positions(model: Any) -> int | None:
    """Tokens that the model can tell the places of, or None where there is no limit."""
    found = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return found if isinstance(found, int) else None


def _ends(model: Any) -> set[int]:
    """Tokens that end a text."""
    found = model.generation_config.eos_token_id
    return set() if found is None else {found} if isinstance(found, int) else set(found)


def _load(name: str, device: str | None) -> tuple[Any, Any]:
    import transformers

    place = presets.model_folder(presets.find_preset(name))

    def make() -> Any:
        config = transformers.AutoConfig.from_pretrained(place)
        kind = "Seq2SeqLM" if config.is_encoder_decoder else "CausalLM"
        # A decoder writes on where the prompt ends: padding has to stand before it.
        side = "right" if config.is_encoder_decoder else "left"
        model = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(place, dtype="auto")
        model.tokenizer = transformers.AutoTokenizer.from_pretrained(place, padding_side=side)
        return model

    # Weights stay in the precision that they were published in.
    model = loading.load_model(place, make, "published", loading.torch_device(device))
    tokenizer = model.tokenizer
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise InputError(f"the tokenizer of {place} has no padding token and no end token")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer, model


def _reason(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]

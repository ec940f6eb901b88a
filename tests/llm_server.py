"""A server on this machine that speaks OpenAI's chat completions protocol, with faults to order."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KEY = "sk-test-4f9a"


def kept(cache: Path) -> dict[str, Any]:
    """What is on disk, by the text it was kept under."""
    lines = (line for path in cache.glob("*.jsonl") for line in path.read_text().splitlines())
    return dict(map(json.loads, lines))


Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """POST /v1/chat/completions as OpenAI documents it; what is not allowed there is refused."""

    protocol_version = "HTTP/1.1"
    server: Stub
    body: dict[str, Any]

    counted = False

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        azure = self.path == "/azure/chat/completions?api-version=2024-10-21"
        if self.path != "/v1/chat/completions" and not azure:
            return self.refuse(404, f"Invalid URL (POST {self.path})", "invalid_request_error")
        sent = str(self.headers.get("api-key" if azure else "Authorization"))
        given = sent.removeprefix("Bearer ")
        if self.server.key is not None and (given != self.server.key or azure != (given == sent)):
            return self.refuse(
                401, f"Incorrect API key provided: {given}.", "invalid_request_error",
                "invalid_api_key",
            )  # fmt: skip
        if self.headers["Content-Type"] != "application/json":
            return self.refuse(415, "JSON, please", "invalid_request_error")
        self.body = json.loads(raw)
        problem = self.problem()
        if problem is not None:
            return self.refuse(400, problem, "invalid_request_error")
        if self.body["model"] not in ("gpt-test", "gpt-test-0613"):
            return self.refuse(
                404, f"The model `{self.body['model']}` does not exist", "invalid_request_error",
                "model_not_found",
            )  # fmt: skip
        with self.server.lock:
            number = len(self.server.bodies)
            self.server.bodies.append(self.body)
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
            self.counted = True
        try:
            reply = self.server.faults.get(number) or self.server.always
            return self.write_out() if reply is None else reply(self)
        finally:
            self.uncount()

    def uncount(self) -> None:
        """The request is no longer under way: the client may make another when it has the answer."""
        with self.server.lock:
            self.server.now -= self.counted
            self.counted = False

    def problem(self) -> str | None:
        kinds = {
            "model": str, "messages": list, "n": int, "temperature": (int, float),
            "max_tokens": int, "seed": int, "logprobs": bool, "top_logprobs": int,
        }  # fmt: skip
        for name, value in self.body.items():
            if name not in kinds:
                return f"Unrecognized request argument supplied: {name}"
            if not isinstance(value, kinds[name]):  # type: ignore[arg-type]
                return f"Invalid type for '{name}'"
        roles = [message["role"] for message in self.body["messages"]]
        if roles not in (["user"], ["system", "user"]):
            return f"roles are {roles}"
        if any(set(m) != {"role", "content"} or not m["content"] for m in self.body["messages"]):
            return "a message has a role and a content"
        if self.body.get("n") != 1 or not 0 <= self.body.get("temperature", 1) <= 2:
            return "n or temperature is out of range"
        if not 0 <= self.body.get("top_logprobs", 0) <= 20:
            return "top_logprobs is out of range"
        if "top_logprobs" in self.body and not self.body.get("logprobs"):
            return "top_logprobs needs logprobs"
        return None

    @property
    def prompt(self) -> str:
        return str(self.body["messages"][-1]["content"])

    def refuse(
        self, status: int, message: str, kind: str, code: str | None = None, **headers: str
    ) -> None:
        error = {"message": message, "type": kind, "param": None, "code": code}
        self.send(status, {"error": error}, **headers)

    def write_out(
        self, text: str | None = None, finish: str = "stop", logprobs: Any = None, **more: Any
    ) -> None:
        words = (answer_to(self.prompt) if text is None else text).split(" ")
        if text is None and len(words) > self.body.get("max_tokens", 1000):
            words, finish = words[: self.body["max_tokens"]], "length"
        message = {"role": "assistant", "content": " ".join(words), "refusal": None, **more}
        used = {"prompt_tokens": len(self.prompt.split()), "completion_tokens": len(words)}
        with self.server.lock:
            self.server.answered.append(self.prompt)
        self.send(
            200,
            {
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-test-0613",
                "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish}],
                "usage": {**used, "total_tokens": sum(used.values())},
            },
        )  # fmt: skip

    def send(self, status: int, content: Any, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.uncount()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


class Stub(ThreadingHTTPServer):
    """The server; `faults` says what the n-th well-formed request gets instead of an answer."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.key: str | None = KEY
        self.faults: dict[int, Reply] = {}
        self.always: Reply | None = None
        self.bodies: list[dict[str, Any]] = []
        self.answered: list[str] = []
        self.now = self.most = 0
        self.lock = threading.Lock()

    def handle_error(self, *args: Any) -> None:
        """A client that has gone is part of the tests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][-1]["content"] for body in self.bodies]


def answer_to(prompt: str) -> str:
    """What the stub writes: always the same of the same, and never the prompt."""
    return f"sea home {prompt[::-1]} sun"


@contextmanager
def serving() -> Iterator[Stub]:
    """The server while it answers."""
    with Stub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def status(code: int, kind: str | None = "server_error", **headers: str) -> Reply:
    return lambda handler: handler.refuse(code, "come back", str(kind), kind, **headers)


def reset(handler: Handler) -> None:
    """Closes the connection so that the client gets a reset, and no answer."""
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.connection.close()


def truncated(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def silent(handler: Handler) -> None:
    handler.close_connection = True

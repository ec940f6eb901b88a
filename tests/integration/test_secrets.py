"""Keys and passwords are sent to the server that they are for, and are nowhere else.

A planted key stands in every variable and address where one may be given. Commands then work, and
fail in the ways in which they may; everything that they print and every file that they leave is
searched for the key, also in the forms in which it is sent.
"""

from __future__ import annotations

import gzip
import json
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.engines.node import Driver
from irtoolkit.models.llm.chat_client import Server
from irtoolkit.models.llm.endpoint import Endpoint
from irtoolkit.ranking.systems import find_system
from tests.conftest import Answer
from tests.llm_server import Handler, Stub, reset
from tests.llm_server import serving as serving_llm
from tests.search_server import SearchServer
from tests.search_server import serving as serving_search

Command = Callable[..., Answer]

SECRET = "sk-planted-7Qx2w9ZtLm4Rb8"
USER = "planter"
VARIABLES = (
    "OPENAI_API_KEY", "ELASTICSEARCH_API_KEY", "ELASTICSEARCH_PASSWORD", "OPENSEARCH_PASSWORD",
    "QDRANT_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY",
)  # fmt: skip
FORMS = [
    SECRET,
    SECRET[3:],  # without a prefix
    *(b64encode(text.encode()).decode().rstrip("=") for text in (SECRET, f"{USER}:{SECRET}")),
]


@pytest.fixture(autouse=True)
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key in every variable, and a folder of its own for whatever is written."""
    for name in VARIABLES:
        monkeypatch.setenv(name, SECRET)
    for account in ("ELASTICSEARCH", "OPENSEARCH"):
        monkeypatch.setenv(f"{account}_USERNAME", USER)
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, f"https://{USER}:{SECRET}@127.0.0.1:9/simple")
    monkeypatch.setattr("irtoolkit.models.llm.chat_client.LONGEST_PAUSE", 0)
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(irtoolkit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command as if from the shell, and searches what it prints and leaves."""

    def made(*args: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["irtoolkit", *map(str, args)])
        answer = irtoolkit(*args)
        for text in (answer.out, answer.err):
            assert leaked(text.encode()) == []
        for path in files(tmp_path):
            assert leaked(content(path)) == [], path
            assert leaked(str(path).encode()) == []
        assert "Traceback" not in answer.err
        return answer

    return made


def leaked(data: bytes) -> list[str]:
    return [form for form in FORMS if form.encode() in data]


def files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def test_the_search_finds_a_planted_key(run: Command, tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text(json.dumps({"key": SECRET}))
    with pytest.raises(AssertionError):
        run("--version")


# -- language models ------------------------------------------------------------------------------


@pytest.fixture
def llm(irtoolkit: Command) -> Iterator[Stub]:
    assert irtoolkit("retrieve", "csfcube/sample", "bm25", "-o", "first.run").status == 0
    with serving_llm() as server:
        server.key = SECRET
        yield server


def echoed(status: int, **headers: str) -> Callable[[Handler], None]:
    """A server that repeats everything it was sent."""

    def reply(handler: Handler) -> None:
        said = " ".join(f"{name}: {value}" for name, value in handler.headers.items())
        shown = f"{SECRET[:6]}****{SECRET[-4:]}"
        handler.refuse(status, f"{said}; key {shown}", "odd", "odd", **headers)

    return reply


def not_json(handler: Handler) -> None:
    handler.send(200, f"<html>{handler.headers['Authorization']}</html>".encode())


def asking(llm: Stub, *more: str) -> list[str]:
    settings = {"endpoint": llm.url, "llm": "gpt-test"}
    settings |= dict(word.split("=", 1) for word in more)
    given = [f"{key}={value}" for key, value in settings.items()]
    words = ["--depth", "3", "--rest", "keep", "-o", "x.run", "--set", *given]
    return ["rerank", "csfcube/sample", "first.run", "llm-listwise", *words]


def test_a_key_is_sent_and_not_kept(run: Command, llm: Stub, tmp_path: Path) -> None:
    llm.always = lambda handler: handler.write_out("[2] > [1] > [3]")
    answer = run(*asking(llm))
    assert answer.status == 0, answer.err
    assert llm.answered
    kept = list(files(tmp_path))
    assert any(path.suffix == ".jsonl" for path in kept)  # the answers
    assert any(path.name.endswith("metadata.yml") for path in kept)


@pytest.mark.parametrize(
    "reply",
    [
        echoed(401), echoed(404), echoed(429, Retry_After="0"), echoed(500), echoed(302, Location=f"http://x/?key={SECRET}"), not_json, reset,
    ],
)  # fmt: skip
def test_a_server_that_repeats_the_key_is_not_quoted(
    run: Command, llm: Stub, reply: Callable[[Handler], None]
) -> None:
    llm.always = reply
    answer = run(*asking(llm))
    assert answer.status == 2
    assert answer.err.strip()


def test_a_key_where_none_belongs_is_not_repeated(run: Command, llm: Stub) -> None:
    host = llm.url.removeprefix("http://")
    for more in (
        f"endpoint=http://{USER}:{SECRET}@{host}",
        f"endpoint={llm.url}?key={SECRET}",
        f"key_variable={SECRET}",
    ):
        assert run(*asking(llm, more)).status != 0


def test_what_holds_a_key_does_not_show_it() -> None:
    server = Server("http://x/v1", SECRET, "OPENAI_API_KEY", True, 1.0, 1, 1.0)
    endpoint = Endpoint("gpt-test", url="https://api.openai.com/v1")
    assert leaked(repr((server, endpoint, endpoint.identity())).encode()) == []
    for product in ("elasticsearch", "opensearch"):
        system: Any = find_system(product, {"url": "http://localhost:9"})
        client = system.retriever.connect()
        shown = repr(
            (system, system.retriever, client, client._client, system.retriever.settings())
        )
        assert leaked(shown.encode()) == []


def test_workers_get_the_keys_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_TOKEN", SECRET)
    driver = Driver.here()
    assert driver.environment["HF_TOKEN"] == SECRET
    assert not driver.environment.keys() & {"IRTOOLKIT_TOKEN", "OPENAI_API_KEY", "QDRANT_API_KEY"}
    assert leaked(f"{driver!r} {driver}".encode()) == []


# -- search servers -------------------------------------------------------------------------------


@pytest.fixture(params=["elasticsearch", "opensearch"])
def server(request: pytest.FixtureRequest) -> Iterator[SearchServer]:
    with serving_search(request.param) as made:
        yield made


def searching(server: SearchServer, *more: str) -> list[str]:
    settings = {"url": server.url, "retries": "0"} | dict(word.split("=", 1) for word in more)
    given = [f"{key}={value}" for key, value in settings.items()]
    return ["retrieve", "csfcube/sample", server.product, "-o", "x.run", "--set", *given]


def test_a_search_server_gets_the_key_and_no_file_does(run: Command, server: SearchServer) -> None:
    answer = run(*searching(server))
    assert answer.status == 0, answer.err
    sent = [value for headers in server.headers for value in headers.values()]
    assert any(leaked(value.encode()) for value in sent)


def test_a_search_server_that_repeats_the_key_is_not_quoted(
    run: Command, server: SearchServer
) -> None:
    def repeat(method: str, path: str, body: Any) -> tuple[int, Any] | None:
        if path == "/":
            return None
        said = " ".join(server.headers[-1].values())
        return 401, {"error": {"type": "odd", "reason": said, "root_cause": []}}

    server.faults.append(repeat)
    answer = run(*searching(server))
    assert answer.status == 2
    assert "401" in answer.err


def test_a_password_in_a_server_s_address_is_not_repeated(
    run: Command, server: SearchServer
) -> None:
    host = server.url.removeprefix("http://")
    answer = run(*searching(server, f"url=http://{USER}:{SECRET}@{host}"))
    assert answer.status == 2
    assert server.asked == []


def test_a_search_server_that_is_not_there(run: Command, server: SearchServer) -> None:
    assert run(*searching(server, "url=http://127.0.0.1:9")).status == 2


def test_qdrant_that_is_not_there(run: Command) -> None:
    given = ("url=http://127.0.0.1:9", "retries=0", "model=no/such")
    assert run("retrieve", "csfcube/sample", "qdrant", "-o", "x.run", "--set", *given).status == 2


# -- addresses of files, and registries -----------------------------------------------------------

ADDRESS = f"http://{USER}:{SECRET}@127.0.0.1:9/folder/x.run"


@pytest.mark.parametrize(
    "words",
    [
        ("eval", "csfcube/sample", ADDRESS),
        ("eval", "csfcube/sample", f"https://127.0.0.1:9/x.run?X-Amz-Signature={SECRET}"),
        ("retrieve", "csfcube/sample", "bm25", "-o", ADDRESS),
        ("register", "mine", ADDRESS),
        ("index", ADDRESS, "bm25", "-o", "folder"),
        ("retrieve", "csfcube/sample", "dense", "-o", "x.run", "--set", f"model={ADDRESS}"),
    ],
    ids=lambda words: words[0],
)
def test_a_password_in_an_address_is_not_repeated(run: Command, words: tuple[str, ...]) -> None:
    run(*words)


def test_an_address_in_python_is_not_repeated() -> None:
    with pytest.raises(InputError) as caught:
        ir.evaluate("csfcube/sample", ADDRESS)
    assert leaked(f"{caught.value} {caught.value!r}".encode()) == []

"""One server writes a folder; others only read it; damaged books stop nobody."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from irtoolkit.apps.serve.app import application
from irtoolkit.apps.serve.books import Books
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.serve.preparing import Preparing
from irtoolkit.apps.web.guard import Access
from tests.conftest import Answer
from tests.integration.apps.serve.test_api import BOOK, HOST, added, asked
from tests.waiting import PATIENCE, wait_for


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "irtoolkit", "serve", "--folder", str(tmp_path / "library")]
    server = subprocess.Popen(
        [*words, "--port", "0", "--model", "none"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    assert server.stdout.readline().startswith("http://127.0.0.1:")
    yield server
    server.kill()
    server.wait()


def shelved(library: Library) -> TestClient:
    return TestClient(application(library, Access.local(8801)), base_url=HOST)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_second_server_of_a_folder_is_refused_and_others_change_nothing(
    running: subprocess.Popen[str], tmp_path: Path, irtoolkit: Any, write: Any
) -> None:
    folder = tmp_path / "library"
    # As if the server were writing just now.
    begun = folder / "books" / ".begun"
    begun.mkdir()
    (begun / "text.txt").write_text("half a book")
    (folder / "judgments.jsonl").write_text('{"collection": "half a li')
    before = content(folder)
    again = irtoolkit("serve", "--port", "0", "--model", "none", "--folder", folder)
    assert (again.status, len(again.err.strip().splitlines())) == (2, 1)
    assert "another irtoolkit serve uses the folder" in again.err
    book = write("lamp.txt", BOOK)
    said = irtoolkit("serve", book, "--prepare", "--model", "none", "--folder", folder)
    assert said.status == 0, said.err
    reader = Library(folder, None, writes=False)

    async def tools() -> None:
        await reader.open()
        await reader.close()

    asyncio.run(tools())
    assert content(folder) == before
    said = irtoolkit("serve", "relic/sample/val", "--measure", "--model", "none", "--folder", folder)  # fmt: skip
    assert said.status == 0, said.err
    after = content(folder)
    assert {Path(path).name for path in set(after) - set(before)} <= {"quality.json", ".quality.json.lock"}  # fmt: skip
    assert {path: after[path] for path in before} == before
    running.send_signal(signal.SIGTERM)
    assert running.wait(PATIENCE) == 0


def test_who_only_reads_makes_no_folder(tmp_path: Path) -> None:
    async def tools() -> None:
        reader = Library(tmp_path / "none", None, writes=False)
        await reader.open()
        await reader.close()

    asyncio.run(tools())
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("name", "data"),
    [("book.json", b'{"title": "T'), ("book.json", b"[]"), ("text.txt", b"\0"), ("text.txt", None)],
)
def test_a_damaged_book_is_left_out_until_it_is_added_again(
    tmp_path: Path, name: str, data: bytes | None
) -> None:
    folder = tmp_path / "library"
    with shelved(Library(folder, None)) as client:
        damaged = added(client)
        good = added(client, "The wick was short. " * 3, "wick.txt")
    path = folder / "books" / damaged["id"] / name
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)
    library = Library(folder, None)
    with shelved(library) as client:
        (line,) = library.shelf.damaged()
        assert line.startswith(f"{path.relative_to(folder)}: ")
        assert line.endswith("remove the book on the page and add it again")
        shown = client.get(f"/collections/{damaged['id']}").json()
        assert (shown["progress"]["stage"], shown["progress"]["message"]) == ("failed", line)
        assert (shown["systems"], shown["books"], shown["removable"]) == ([], [], True)
        assert asked(client, damaged, query="lamp").status_code == 400
        near = {"collection": damaged["id"], "query": "lamp", "passages": ["x:0+1"]}
        assert client.post("/near", json=near).status_code == 400
        wait_for(lambda: client.get(f"/collections/{good['id']}").json()["progress"]["stage"] == "ready")  # fmt: skip
        assert asked(client, good, query="wick").status_code == 200
        again = added(client)
        assert again["id"] == damaged["id"]
        assert asked(client, again, query="lamp").status_code == 200
        assert library.shelf.damaged() == []
    with shelved(Library(folder, None)) as client:
        assert len(client.get("/collections").json()) == 2
        assert client.delete(f"/collections/{damaged['id']}").status_code == 204


@pytest.mark.parametrize(
    ("where", "error", "said"),
    [
        ("tidy", OSError(errno.ENOSPC, "No space left on device", "books"), "books: No space left"),
        (
            "start",
            RuntimeError("CUDA error: no device\nCompile with X"),
            "CUDA error: no device; what",
        ),
    ],
)
def test_a_server_that_cannot_begin_says_so_in_one_line(
    where: str, error: Exception, said: str, irtoolkit: Callable[..., Answer], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr({"tidy": Books, "start": Preparing}[where], where, fail)
    answer = irtoolkit("serve", "--folder", tmp_path / "new", "--port", "0", "--model", "none")
    assert answer.status == 2
    [line] = [line for line in answer.err.splitlines() if not line.startswith("note: ")]
    assert said in line


def test_handlers_of_the_program_stay_open(
    irtoolkit: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a library may close what pytest, or a notebook, takes standard error with."""

    def fail(*_: object) -> None:
        raise MemoryError

    closed = []

    class Handler(logging.StreamHandler):  # type: ignore[type-arg]
        def close(self) -> None:
            closed.append(self)
            super().close()

    handler = Handler()
    monkeypatch.setattr(Preparing, "start", fail)
    answer = irtoolkit("serve", "--folder", tmp_path / "new", "--port", "0", "--model", "none")
    assert answer.status == 2
    assert closed == []
    handler.close()

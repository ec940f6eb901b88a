"""What strangers send: refused or bounded; nothing is executed, nothing lost."""

from __future__ import annotations

import gzip
import io
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from irtoolkit.apps.serve.app import application
from irtoolkit.apps.serve.formats import READ
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.serve.limits import Limits
from irtoolkit.apps.web.guard import Access
from tests.integration.apps.serve.test_api import BOOK, HOST, added, asked
from tests.waiting import PATIENCE, wait_for

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return Library(
        tmp_path / "library",
        None,
        Limits(upload=100_000, waiting=60, index_seconds=PATIENCE, seconds=PATIENCE),
    )


def client_of(library: Library, access: Access | None = None) -> TestClient:
    return TestClient(application(library, access or Access.local(8801)), base_url=HOST)


def test_a_body_that_says_it_is_huge_is_refused_before_it_is_read(library: Library) -> None:
    read = []

    def body() -> Iterator[bytes]:
        for _ in range(1000):
            read.append(1)
            yield b"x" * 100_000

    with client_of(library) as client:
        answer = client.post("/collections", content=b"x", headers={"Content-Length": str(1 << 30)})
        assert answer.status_code == 413
        odd = client.post("/collections", content=b"x", headers={"Content-Length": "abc"})
        assert odd.status_code == 400
        # Without a length it is counted while it arrives.
        assert client.post("/collections", content=body()).status_code == 413
        assert client.post("/search", content=b"{" + b" " * 100_000).status_code == 413
        assert client.get("/collections").json() == []


def bombs() -> Iterator[tuple[str, bytes]]:
    """A megabyte of zeros in a kilobyte, in both forms, and a .zip that lies about its size."""
    yield "gzip", gzip.compress(b"a" * 1_000_000)
    for name in ("zip", "liar"):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("book.txt", "a" * 1_000_000)
        made = data.getvalue()
        if name == "liar":
            made = made.replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
        yield name, made


@pytest.mark.parametrize(("name", "data"), [pytest.param(*bomb, id=bomb[0]) for bomb in bombs()])
def test_bombs_are_unpacked_no_further_than_the_limit(
    library: Library, name: str, data: bytes
) -> None:
    with client_of(library) as client:
        answer = client.post("/collections", content=data)
        assert answer.status_code in (400, 413), answer.text
        assert client.get("/collections").json() == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x89PNG\0\0",
        b"PK\x03\x04" + b"x" * 50,
        gzip.compress(b"One.")[:-9],
        b"\x1f\x8b\x08x",
        b"%PDF-1.4 One lamp. Two lamps.",
        b"{\\rtf1 One lamp. Two lamps.}",
        b" <!DOCTYPE html><script>One lamp. Two lamps.</script>",
        gzip.compress(b"%PDF-1.4 One lamp."),
        gzip.compress(gzip.compress(b"One lamp.")),
    ],
    # Of bytes that hold the time, names would differ from one worker to the next.
    ids=[
        "nothing", "png", "zip", "cut gzip", "no gzip", "pdf", "rtf", "html", "packed pdf",
        "packed twice",
    ],
)  # fmt: skip
def test_what_is_no_book_is_refused(library: Library, data: bytes) -> None:
    with client_of(library) as client:
        # What is in it counts, not its name.
        answer = client.post("/collections", params={"filename": "novel.txt"}, content=data)
        assert answer.status_code == 400
        assert "\n" not in answer.json()["detail"]
        assert not (library.folder / "books").exists() or not any(
            (library.folder / "books").iterdir()
        )


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.zip", b"PK", "not a .zip, as its name says"),
        ("a.txt.gz", b"One lamp.", "not gzip data, as its name says"),
        ("a.PDF", b"One lamp.", "a PDF"),
        ("a.docx", b"PK\x03\x04" + b"x" * 50, "an office document"),
        ("a.epub", b"One lamp.", "not an EPUB, as its name says"),
        ("a.mobi", b"One lamp.", "an e-book"),
        ("a.txt", b"PK\x05\x06" + b"x" * 18, "an empty .zip"),
        ("a.zip", b"PK\x05\x06" + b"\0" * 18, "an empty .zip"),
        ("a.txt", b"Rar!\x1a\x07 One lamp.", "an archive"),
        ("a.txt", b"BZh91AY&SY One lamp.", "an archive"),
        ("a.txt", b"\xff\xd8\xff\xe0 One lamp.", "a picture"),
        ("a.txt", b"GIF89a One lamp.", "a picture"),
        ("a.txt", b"One lamp.\0", "zero bytes"),
        ("a.txt.gz", gzip.compress(b"\xff\xd8\xff\xe0 One lamp.", mtime=0), "a picture"),
    ],
)
def test_other_files_are_refused_with_the_forms_that_are_read(
    library: Library, name: str, data: bytes, said: str
) -> None:
    with client_of(library) as client:
        answer = client.post("/collections", params={"filename": name}, content=data)
        assert answer.status_code == 400, answer.text
        detail = answer.json()["detail"]
        assert said in detail
        assert detail.endswith((f": what is read is {READ}", ": save it as plain text, UTF-8"))
        assert client.get("/collections").json() == []


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt", b"PK is what the lamp said. Two lamps."),
        ("a.txt", "One lamp. Two lamps.".encode("utf-16")),
        ("a.gz", gzip.compress("One lamp.".encode("utf-16"), mtime=0)),
        ("a", b"One lamp."),
        ("Pages", b"One lamp."),
        ("a story.zip.md", b"One lamp."),
    ],
)
def test_texts_of_all_names_and_encodings_are_read(
    library: Library, name: str, data: bytes
) -> None:
    with client_of(library) as client:
        answer = client.post("/collections", params={"filename": name}, content=data)
        assert answer.status_code == 202, answer.text


def test_names_are_never_paths(library: Library) -> None:
    with client_of(library) as client:
        for name in ("../../etc/passwd", "..\\..\\x.txt", "/etc/shadow", "a\0b", "\u202etxt.exe"):
            book = added(client, f"A lamp named {name!r}.", name)
            assert re.fullmatch(r"[a-z0-9][a-z0-9_-]*", book["id"])
            assert not set("/\\\0\u202e") & set(book["title"])
        kept = {path.parent.name for path in library.folder.rglob("text.txt")}
        assert len(kept) == 5
        for path in (
            "/collections/..%2f..%2fetc", "/passages/../../etc/passwd", "/page/..%2fapp.py",
            "/page/%2e%2e/app.py", "/page//etc/passwd", "/collections/%00",
        ):  # fmt: skip
            assert client.get(path).status_code in (404, 422), path


def test_scripts_stay_text(library: Library) -> None:
    with client_of(library) as client:
        book = added(client, f"# Title: {SCRIPT}\n\n{SCRIPT} said the lamp.", f"{SCRIPT}.txt")
        answer = asked(client, book, query=f"lamp {SCRIPT}")
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = client.get("/").headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    page = Path(__file__).parents[4] / "irtoolkit" / "apps" / "serve" / "page"
    for path in page.glob("*.js"):
        sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function"
        assert not re.search(sinks, path.read_text("utf-8")), path.name
    # Every address is of this server.
    shown = "".join(path.read_text("utf-8") for path in page.iterdir())
    assert set(re.findall(r"https?://[^\s\"')]+", shown)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "evil.example:8801"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": HOST, "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "localhost:8801", "Origin": "http://localhost:8801"}, 200),
        ({}, 200),
    ],
)
def test_requests_of_other_sites(library: Library, headers: dict[str, str], status: int) -> None:
    with client_of(library) as client:
        book = added(client)
        search = {"collection": book["id"], "query": "lamp"}
        assert client.post("/search", json=search, headers=headers).status_code == status
        assert "access-control-allow-origin" not in client.get("/health").headers
        removed = client.delete(f"/collections/{book['id']}", headers=headers).status_code
        assert removed == (204 if status == 200 else status)


def test_a_token_is_needed_elsewhere(library: Library) -> None:
    with client_of(library, Access(token="s3cret")) as client:
        assert client.get("/").status_code == 200
        assert client.get("/health").status_code == 200
        for given in (None, "Bearer wrong", "s3cret", "Bearer s3cret ", "Bearer \u00e9"):
            headers = (
                {}
                if given is None
                else {"Authorization": given.encode("latin-1").decode("latin-1")}
            )
            try:
                answer = client.get("/collections", headers=headers)
            except UnicodeEncodeError:
                continue
            assert answer.status_code == 401, given
        good = {"Authorization": "Bearer s3cret", "Host": "books.example"}
        assert client.get("/collections", headers=good).status_code == 200


def test_a_public_server_is_only_read(library: Library) -> None:
    with client_of(library) as client:
        book = added(client)
    public = Library(library.folder, None)
    with client_of(public, Access(public=True)) as client:
        wait_for(lambda: client.get("/health").json()["preparing"] == 0)
        assert asked(client, book, query="lamp").status_code == 200
        assert client.post("/collections", content=BOOK).status_code == 403
        assert client.delete(f"/collections/{book['id']}").status_code == 403
        body = {"collection": book["id"], "query": "l", "passage": f"{book['id']}:0+1", "grade": 1}
        assert client.post("/judgments", json=body).status_code == 403


class Running:
    """A server in a process of its own."""

    def __init__(self, folder: Path, book: Path, *more: str) -> None:
        words = [
            sys.executable,
            "-m",
            "irtoolkit",
            "serve",
            "--no-token",
            str(book),
            "--folder",
            str(folder),
        ]
        self.process = subprocess.Popen(
            [*words, "--port", "0", "--model", "none", *more],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip().rstrip("/")
        wait_for(lambda: self.get("/health")["preparing"] == 0)
        self.id = self.get("/collections")[0]["id"]

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path, timeout=PATIENCE) as answer:
            return json.load(answer)

    def search(self, query: str) -> int:
        body = json.dumps({"collection": self.id, "query": query, "length": 1}).encode()
        request = urllib.request.Request(
            f"{self.address}/search", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                found = json.load(answer)["answers"][0]["hits"]
                assert query.split()[-1] in "".join(found[0]["sentences"][0]["pieces"])
                return int(answer.status)
        except urllib.error.HTTPError as error:
            # A refusal that does not say when to come again counts as none.
            return error.code if error.headers["Retry-After"] else -error.code

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server for those that leave it as it is."""
    folder = tmp_path_factory.mktemp("running")
    (folder / "lamp.txt").write_text(BOOK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRTOOLKIT_CACHE", str(folder / "cache"))
        made = Running(folder / "library", folder / "lamp.txt")
    yield made
    made.process.kill()
    made.process.wait()


def test_fifty_readers_at_once_and_five_hundred(running: Running) -> None:
    words = ("lamp", "wick", "oil", "chairs", "ship")
    with ThreadPoolExecutor(50) as readers:
        answers = list(readers.map(lambda n: running.search(words[n % 5]), range(100)))
    assert set(answers) == {200}
    with ThreadPoolExecutor(500) as readers:
        answers = list(readers.map(lambda n: running.search(words[n % 5]), range(500)))
    # More than wait at most may be told to come again; none fails.
    assert set(answers) <= {200, 429}
    assert running.search("lamp") == 200


def test_slow_clients_keep_nobody_waiting(running: Running) -> None:
    port = int(running.address.rpartition(":")[2])
    slow = []
    for start in (b"GET / HT", b"POST /search HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 90\r\n\r\n{" % port):  # fmt: skip
        for _ in range(20):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(start)
            slow.append(one)
    assert running.search("lamp") == 200
    for one in slow:
        one.close()
    assert running.search("lamp") == 200


def test_an_address_that_is_taken_is_one_line(running: Running, irtoolkit: Any) -> None:
    port = running.address.rpartition(":")[2]
    answer = irtoolkit("serve", "--port", port, "--model", "none", "--folder", "unused")
    assert answer.status == 2
    assert f"cannot listen on 127.0.0.1:{port}" in answer.err
    assert len(answer.err.strip().splitlines()) <= 2


def test_a_server_ends_when_it_is_told_to(tmp_path: Path, write: Any) -> None:
    running = Running(tmp_path / "library", write("lamp.txt", BOOK))
    body = json.dumps({"collection": running.id, "query": "lamp", "passage": f"{running.id}:0+1", "grade": 1}).encode()  # fmt: skip
    request = urllib.request.Request(f"{running.address}/judgments", body, {"Content-Type": "application/json"})  # fmt: skip
    urllib.request.urlopen(request, timeout=PATIENCE).close()
    asking = threading.Thread(target=running.search, args=("lamp",))
    asking.start()
    asking.join()
    assert running.end() == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(running.address.rpartition(":")[2]))).close()

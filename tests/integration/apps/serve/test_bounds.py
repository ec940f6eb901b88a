"""What the server takes and keeps has bounds, also where disks are full and files are damaged."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from irtoolkit.apps.serve.app import application
from irtoolkit.apps.serve.asking import BusyError, Desk
from irtoolkit.apps.serve.judgments import Judgment, Judgments
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.serve.limits import Limits, TooLargeError, unpacked
from irtoolkit.apps.serve.models import SearchRequest
from irtoolkit.apps.web.guard import Access
from irtoolkit.apps.web.server import access_for
from irtoolkit.base.errors import InputError
from tests.integration.apps.serve.test_api import BOOK, HOST, added, asked
from tests.waiting import PATIENCE, wait_for

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def zipped(text: str, method: int) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        archive.writestr("a.txt", text)
    return data.getvalue()


def test_only_methods_that_unpack_within_bounds_are_read() -> None:
    for method in METHODS[:2]:
        assert unpacked(zipped("Hello there. ", method), 100) == b"Hello there. "
    for method in METHODS[2:]:
        with pytest.raises(InputError, match="packed in a way"):
            unpacked(zipped("Hello there. ", method), 100)


@pytest.mark.parametrize("method", METHODS[:2])
def test_every_damage_of_an_archive_is_one_refusal(method: int) -> None:
    data = zipped("Hello there. " * 20, method)
    for place in range(4, len(data)):
        for flip in (1, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= flip
            # An error of another kind would be the server's.
            with suppress(InputError):
                unpacked(bytes(damaged), 1000)


def test_gzip_of_several_members_is_read_to_its_end() -> None:
    one, two = gzip.compress(b"One lamp. "), gzip.compress(b"Two lamps. ")
    assert unpacked(one + two + b"\0" * 9, 100) == b"One lamp. Two lamps. "
    with pytest.raises(TooLargeError):
        unpacked(one + two, 15)
    for damaged in (one + two[:-9], one + b"more"):
        with pytest.raises(InputError, match="gzip"):
            unpacked(damaged, 100)


@pytest.mark.parametrize("text", [b"", b"A lamp. " * 200])
def test_gzip_of_many_members_is_read_once_up_to_a_number(text: bytes) -> None:
    member = gzip.compress(text, 9)
    assert unpacked(member * 10_000, 20_000_000) == text * 10_000
    with pytest.raises(InputError, match="more than 10,000 members"):
        unpacked(member * 10_001, 20_000_000)


def test_an_inflater_gets_no_more_than_a_block_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, inflater_of = [], zlib.decompressobj

    class Inflater:
        def __init__(self, wbits: int) -> None:
            self._own = inflater_of(wbits)

        def decompress(self, data: memoryview, most: int) -> bytes:
            sizes.append(len(data))
            return self._own.decompress(data, most)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._own, name)

    monkeypatch.setattr("irtoolkit.apps.serve.limits.zlib.decompressobj", Inflater)
    data = gzip.compress(b"", 9) * 5_000
    assert unpacked(data, 100) == b""
    # Each member is looked at with what follows it in its block, and never with all that follows it.
    assert len(sizes) == 5_000
    assert max(sizes) < len(data) / 4


def listed(count: int, extra: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for number in range(count):
            entry = zipfile.ZipInfo(f"__MACOSX/{number}")
            entry.extra = extra
            archive.writestr(entry, "")
        archive.writestr("a.txt", "One lamp.")
    return data.getvalue()


def test_a_zip_with_a_long_list_is_refused_before_it_is_read() -> None:
    assert unpacked(listed(300, b""), 100) == b"One lamp."
    for long in (listed(2_000, b""), listed(2, b"\xfe\xca\0\0" * 16_000)):
        with pytest.raises(InputError, match="lists more than one file"):
            unpacked(long, 100)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("." * 300, "no sentence in it has a letter"),
        (". " * 300, "no sentence in it has a letter"),
        ("(12, 34).\n\n" * 90, "no sentence in it has a letter"),
        ("One lamp.\n\n" + "(12, 34).\n\n" * 90, "1 of 91 sentences in it have a letter"),
        ("A lamp.\n\n" * 101, "more than 100 sentences"),
        ("So did I. " * 101, "more than 100 sentences"),
        ("\u706f\u3002" * 101, "more than 100 sentences"),
        ("Chapter 1\n\nOne lamp.\n\n" * 11, "more than 10 headings"),
    ],
)
def test_what_is_no_book_or_more_than_one_is_refused(tmp_path: Path, text: str, said: str) -> None:
    library = Library(tmp_path / "library", None, Limits(sentences=100, chapters=10))
    with pytest.raises(InputError, match=said):
        library.shelf.add_upload(text.encode(), "a.txt")
    assert library.shelf.entries() == []


STUCK = """
import asyncio, threading
from fastapi import FastAPI
from irtoolkit.apps.web import server
server._GRACE, server._LAST = 1, 2
app = FastAPI()
@app.get("/")
async def stuck():
    print("stuck", flush=True)
    await asyncio.to_thread(threading.Event().wait)
place = server.bound("127.0.0.1", 0)
server.run(app, place, server.Patience(), lambda: print(place.getsockname()[1], flush=True))
"""


def test_a_request_that_never_ends_keeps_no_server_from_ending() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert server.stdout.readline() == "stuck\n"
            server.send_signal(signal.SIGTERM)
            assert server.wait(PATIENCE) == 0


FULL = """
import resource, signal, sys
from pathlib import Path
from irtoolkit.base.errors import InputError
from irtoolkit.apps.serve.judgments import Judgment, Judgments
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
kept = Judgments(folder, 100)
kept.add(Judgment("b", "first", "b:0+3", 1))
size = (folder / "judgments.jsonl").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 60, resource.RLIM_INFINITY))
try:
    kept.add(Judgment("b", "second", "b:1+3", 1))
    raise SystemExit("taken")
except InputError:
    assert (folder / "judgments.jsonl").stat().st_size == size
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept.add(Judgment("b", "third", "b:2+3", 1))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="sizes of files cannot be limited here")
def test_a_full_disk_keeps_what_was_confirmed_and_nothing_else(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert [one.query for one in Judgments(tmp_path, 100).of()] == ["first", "third"]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    return Library(tmp_path / "library", None, Limits(index_seconds=0, seconds=PATIENCE, indexes=3))


def client_of(library: Library, access: Access | None = None) -> TestClient:
    return TestClient(application(library, access or Access.local(8801)), base_url=HOST)


def test_no_passage_is_longer_than_twenty_sentences(library: Library) -> None:
    with client_of(library) as client:
        book = added(client, "The lamp burned. " * 30)
        name = book["id"]
        assert client.get(f"/passages/{name}/{name}:0+20").status_code == 200
        assert client.get(f"/passages/{name}/{name}:0+21").status_code == 404
        body = {"collection": name, "query": "lamp", "passage": f"{name}:0+21", "grade": 1}
        assert client.post("/judgments", json=body).status_code == 400
        near = {"collection": name, "query": "lamp", "passages": [f"{name}:0+21"]}
        assert client.post("/near", json=near).status_code == 400


def test_uploads_at_once_are_few_and_a_full_shelf_reads_no_body(library: Library) -> None:
    with client_of(library) as client:
        uploads = client.app.state.uploads  # type: ignore[attr-defined]
        held = uploads._value
        uploads._value = 0
        answer = client.post("/collections", content=BOOK)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
        uploads._value = held
        assert client.post("/collections", content=BOOK).status_code == 202


def test_work_of_every_kind_counts_as_waiting() -> None:
    async def crowd() -> list[object]:
        desk, go = Desk(5, PATIENCE), threading.Event()
        works = [asyncio.ensure_future(desk.run(go.wait)) for _ in range(8)]
        while desk.waiting < 5:
            await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await desk.ask([None])  # type: ignore[list-item]
        go.set()
        done = await asyncio.gather(*works, return_exceptions=True)
        await desk.close()
        return done

    done = asyncio.run(crowd())
    assert [type(one) for one in done] == [bool] * 5 + [BusyError] * 3


def test_one_index_serves_all_lengths_and_few_are_held(library: Library) -> None:
    with client_of(library) as client:
        book = added(client)
        made = [library.shelf.get(book["id"]).collection]
        for number in range(4):
            other = added(client, f"A table came in spring number {number}.")
            made.append(library.shelf.get(other["id"]).collection)
            wait_for(lambda now=other: now["id"] and made[-1].has_words)
        for length in (1, 8, 20):
            # The first answer may be to come again; the index is made all the same.
            answer = asked(client, book, query="lamp", length=length)
            if answer.status_code != 200:
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            wait_for(lambda: made[0].has_words)
            assert asked(client, book, query="lamp", length=length).status_code == 200
        assert sum(one.has_words for one in made) == library.limits.indexes


def test_a_public_server_shows_no_judgments_and_checks_names_on_this_machine(
    library: Library,
) -> None:
    with client_of(library) as client:
        book = added(client)
        hit = asked(client, book, query="lamp").json()["answers"][0]["hits"][0]["id"]
        body = {"collection": book["id"], "query": "lamp", "passage": hit, "grade": 1}
        assert client.post("/judgments", json=body).status_code == 201
    public = Library(library.folder, None)
    with client_of(public, access_for("127.0.0.1", 8801, None, True)) as client:
        wait_for(lambda: client.get("/health").json()["preparing"] == 0)
        for path in ("/judgments", "/judgments/qrels", "/judgments/topics"):
            assert client.get(path).status_code == 403
        hits = asked(client, book, query="lamp").json()["answers"][0]["hits"]
        assert all(hit["grade"] is None for hit in hits)
        assert client.get("/collections", headers={"Host": "evil.example"}).status_code == 421
    assert access_for("0.0.0.0", 8801, None, True).hosts == frozenset()


def test_others_on_this_machine_need_the_token(
    library: Library, tmp_path: Path, irtoolkit: Any
) -> None:
    access = access_for("127.0.0.1", 8801, None, False)
    assert access.token is not None
    assert len(access.token) > 20
    with client_of(library, access) as client:
        assert client.get("/collections").status_code == 401
        assert client.get("/").status_code == 200
        known = {"Authorization": f"Bearer {access.token}"}
        assert client.get("/collections", headers=known).status_code == 200
        # A proxy and a tunnel of SSH pass other names; a rebound name has no token.
        for name in ("books.example", "127.0.0.1:9000"):
            headers = {"Host": name, "Origin": f"http://{name}", "Sec-Fetch-Site": "same-origin"}
            assert client.get("/collections", headers=headers).status_code == 401
            assert client.get("/collections", headers={**known, **headers}).status_code == 200
    assert access_for("127.0.0.1", 8801, None, False, trusts_machine=True).token is None
    assert access_for("127.0.0.1", 8801, "T", False) == Access(token="T")
    for words in (("--token", "T"), ("--host", "0.0.0.0")):
        refused = irtoolkit("serve", "--no-token", *words, "--folder", tmp_path / "f")
        assert (refused.status, "--no-token is for this machine alone" in refused.err) == (2, True)


def test_a_folder_of_markdown_is_served(tmp_path: Path, irtoolkit: Any) -> None:
    books = tmp_path / "books"
    books.mkdir()
    (books / "lamp.md").write_text("# The Lamp\n\nA lamp was lit.\n")
    place = ("--folder", tmp_path / "f", "--model", "none", "--prepare")
    assert "lamp: 1 sentence, by words" in irtoolkit("serve", books, *place).out
    # A file that is no book is named, and stops no other.
    (books / "empty.txt").touch()
    (books / "latin.txt").write_bytes(
        "Le b\u00e9b\u00e9 dort. La m\u00e8re riait.".encode("latin-1")
    )
    answer = irtoolkit("serve", books, *place)
    assert "lamp: 1 sentence, by words\nlatin: 2 sentences, by words" in answer.out
    assert f"left out: {books / 'empty.txt'}: there is no sentence in it" in answer.err
    assert irtoolkit("serve", books / "empty.txt", *place).status == 2
    (books / "latin.txt").unlink()
    (books / "lamp.md").rename(books / "lamp.mobi")
    refused = irtoolkit("serve", books, *place)
    assert "has no book (books are files that end in .txt, .md" in refused.err


def test_a_pair_that_two_collections_judge_is_one_line_of_qrels(tmp_path: Path) -> None:
    kept = Judgments(tmp_path, 9)
    for name, grade in (("val", 1), ("test", 0), ("val", 0), ("test", 1)):
        kept.add(Judgment(name, "lamp", "emma:0+3", grade))
    kept.add(Judgment("test", "lamp", "emma:4+3", 1))
    assert [line.split()[2:] for line in Judgments(tmp_path, 9).qrels()] == [
        ["emma:0+3", "1"],
        ["emma:4+3", "1"],
    ]
    assert [one.grade for one in kept.of("val", " lamp ")] == [0]


SLOW = """
import sys
from pathlib import Path
from irtoolkit.apps.serve.library import Library
from irtoolkit.apps.serve.models import SearchRequest
from irtoolkit.apps.serve.limits import Limits
from irtoolkit.apps.serve.app import serve
from irtoolkit.apps.web.server import access_for, bound
limits = Limits(head_seconds=0.5, body_seconds=0.5, answer_seconds=0.5, index_seconds=600, seconds=600, connections=2)
library = Library(Path(sys.argv[1]), None, limits)
library.shelf.add_file(Path(sys.argv[2]))
place = bound("127.0.0.1", 0)
port = place.getsockname()[1]
serve(library, place, access_for("127.0.0.1", port, None, False, trusts_machine=True), lambda: print(port, flush=True))
"""


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[int]:
    """The port of a server with one large book, which waits half a second and has two connections."""
    book = tmp_path / "lamp.txt"
    sentence = f"The lamp {'burned ' * 150}."
    book.write_text(" ".join([sentence] * 2200))
    words = [sys.executable, "-c", SLOW, str(tmp_path / "library"), str(book)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield int(server.stdout.readline())
    server.kill()
    server.wait()


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of a server that waits half a second for a body, and the file of what it says."""
    folder = tmp_path_factory.mktemp("patient")
    (folder / "lamp.txt").write_text(BOOK)
    code = SLOW.replace(", connections=2", "")
    words = [sys.executable, "-c", code, str(folder / "library"), str(folder / "lamp.txt")]
    with open(folder / "said", "wb") as said:
        server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=said, text=True)
    assert server.stdout is not None
    yield int(server.stdout.readline()), folder / "said"
    server.kill()
    server.wait()


def asks(port: int, path: str, body: bytes = b"") -> bytes:
    """A request as it is on the wire."""
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{head}{more}\r\n".encode() + body


def test_clients_that_stop_to_write_are_closed_at_every_request(
    patient: tuple[int, Path],
) -> None:
    port, _ = patient
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as one:
        one.sendall(asks(port, "/health") + b"GET /he")
        # All is read until the server closes.
        assert b"".join(iter(lambda: one.recv(1 << 16), b"")).startswith(b"HTTP/1.1 200")


def test_clients_that_do_not_read_give_their_place_to_others(slow: int) -> None:
    def other(request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", slow), PATIENCE) as one:
            one.sendall(request)
            return one.recv(12)

    def ready() -> bool:
        with socket.create_connection(("127.0.0.1", slow), PATIENCE) as one:
            one.sendall(asks(slow, "/collections"))
            nonlocal name
            text = b"".join(iter(lambda: one.recv(1 << 16), b""))
            name = re.findall(rb'"id":"([^"]+)"', text)[0].decode()
            return b'"ready"' in text

    name = ""
    wait_for(ready)
    query = {"collection": name, "query": "lamp", "length": 20, "depth": 100, "context": 10}
    with socket.socket() as idle:
        # What the two systems hold for it is far less than the answer.
        idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        idle.connect(("127.0.0.1", slow))
        idle.sendall(asks(slow, "/search", json.dumps(query).encode()))
        begin = idle.recv(4096)
        assert begin.startswith(b"HTTP/1.1 200")
        length = int(re.findall(rb"content-length: (\d+)", begin)[0])
        # A third connection would be refused while this one is there.
        wait_for(lambda: other(asks(slow, "/health")) == b"HTTP/1.1 200")
        read = sum(map(len, iter(lambda: idle.recv(1 << 16), b"")))
    assert length > 2_000_000
    assert read < length


CHUNKED = b"Transfer-Encoding: chunked\r\n"
# What follows the first line and Host, and the status of the answer.
BAD = {
    "a bad size": (CHUNKED + b"\r\nzz\r\n", 400),
    "a negative size": (CHUNKED + b"\r\n-1\r\n", 400),
    "a size that no number holds": (CHUNKED + b"\r\n" + b"f" * 30 + b"\r\n", 400),
    "a bad size after a piece": (CHUNKED + b"\r\n2\r\n{}\r\nzz\r\n", 400),
    "a piece longer than its size": (CHUNKED + b"\r\n2\r\nabcd\r\n0\r\n\r\n", 400),
    "a bad trailer": (CHUNKED + b"\r\n0\r\nno colon\r\n\r\n", 400),
    "a piece without its end": (CHUNKED + b"\r\n5\r\nab", 408),
    "no last piece": (CHUNKED + b"\r\n2\r\n{}\r\n", 408),
    "a size and pieces": (CHUNKED + b"Content-Length: 2\r\n\r\n{}", 400),
    "pieces of gzip": (b"Transfer-Encoding: gzip\r\n\r\n{}", 400),
    "a negative length": (b"Content-Length: -5\r\n\r\n", 400),
    "two lengths": (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
    "a body that is shorter": (b"Content-Length: 90\r\n\r\n{", 408),
    "no body": (b"Content-Length: 90\r\n\r\n", 408),
    "a header without a colon": (b"nothing\r\n\r\n", 400),
    "a zero byte": (b"X: a\0b\r\n\r\n", 400),
}


def _answer(port: int, pieces: list[bytes], pause: float) -> bytes:
    """All that the server says before it closes, with some seconds for an answer after each piece."""
    answer = b""
    with (
        socket.create_connection(("127.0.0.1", port), PATIENCE) as one,
        suppress(ConnectionError),
    ):
        for piece in pieces:
            one.sendall(piece)
            # Some answers do not wait for the body.
            one.settimeout(pause)
            with suppress(TimeoutError):
                answer += one.recv(1 << 16)
        one.settimeout(PATIENCE)
        # It is closed by the server, though this end stays open.
        while more := one.recv(1 << 16):
            answer += more
    return answer


@pytest.mark.parametrize(
    ("path", "name"),
    [
        *(("/search", name) for name in BAD),
        ("/collections", "a bad size"),
        ("/nowhere", "a bad size after a piece"),
    ],
)
def test_what_is_no_http_is_answered_and_logged_without_a_traceback(
    patient: tuple[int, Path], path: str, name: str
) -> None:
    """Also where it comes when an answer has begun, or somebody waits for the rest."""
    port, said = patient
    rest, status = BAD[name]
    start = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode()
    head, blank, body = rest.partition(b"\r\n\r\n")
    for pieces in ([start + rest], [start + head + blank, body]):
        # What is sent to a server that has closed loses the answer that was not read: then it is sent
        # again with more time.
        tries = (_answer(port, pieces, pause) for pause in (0.1, 1, 10))
        answer = next(filter(None, tries), b"none")
        found = int(answer[9:12])
        assert found in ((status,) if path != "/nowhere" else (status, 404)), answer
        assert answer.count(b"HTTP/1.1 ") == 1, answer
    assert "Traceback" not in said.read_text()
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as one:
        one.sendall(asks(port, "/health"))
        assert one.recv(12) == b"HTTP/1.1 200"


def test_queries_that_wait_are_answered_together_each_as_if_alone(library: Library) -> None:
    texts = [("the lamp", 3), ("her brother burned the table", 1), ("the lamp", 1), ("spring", 2)]
    entry, _ = library.shelf.add_upload(BOOK.encode(), "lamp.txt")

    def request(text: str, depth: int) -> SearchRequest:
        return SearchRequest(collection=entry.collection.name, query=text, depth=depth, length=2)

    async def answers() -> tuple[list[Any], list[Any], int]:
        async with library.living():
            _ = entry.collection.words
            alone = [await library.search(request(*one)) for one in texts]
            together = await asyncio.gather(*(library.search(request(*one)) for one in texts * 5))
            assert library.desk is not None
            return alone, together, library.desk.largest

    alone, together, largest = asyncio.run(answers())
    assert largest > 1
    assert [one.answers for one in together] == [one.answers for one in alone] * 5


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('"query": 3, "passage": "p", "grade": 1', "query=3 is not text"),
        ('"query": "q", "passage": "p", "grade": "1"', "grade='1' is not a whole number"),
        ('"query": "q", "passage": "p", "grade": 7', "grade=7 is not at most 1"),
        ('"query": "q", "grade": 1', "the key 'passage' is missing"),
        ('"query": "q", "passage": "p", "grade": 1, "note": ""', "unknown key 'note'"),
    ],
)
def test_a_kept_line_that_is_no_judgment_is_named(tmp_path: Path, line: str, said: str) -> None:
    good = '{"collection": "c", "query": "q", "passage": "p", "grade": null}'
    (tmp_path / "judgments.jsonl").write_text(f'{good}\n{{"collection": "c", {line}}}\n', "utf-8")
    with pytest.raises(InputError, match=f"not a judgment: {said}") as caught:
        Judgments(tmp_path, 9)
    assert caught.value.line == 2

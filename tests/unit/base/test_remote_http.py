"""Files and folders of web servers, which say little of versions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.base.files import local, sha256
from irtoolkit.base.mirrors import folder_at
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import ranks_path, read_ranks, write_ranks

pytest.importorskip("aiohttp", reason="the extra remote is not installed")


class Web:
    """A server on this machine.

    Attributes:
        pages: path with query to content.
        marks: headers of every answer.
        url: its address.
    """

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.marks: dict[str, str] = {}
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                found = web.pages.get(self.path)
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Length", str(len(found or b"")))
                if self.path.endswith("/"):
                    self.send_header("Content-Type", "text/html")
                for name, value in web.marks.items():
                    self.send_header(name, value)
                self.end_headers()

            def do_GET(self) -> None:
                self.do_HEAD()
                self.wfile.write(web.pages.get(self.path, b""))

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    made = Web()
    threading.Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


MARKS = [{"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}, {"ETag": '"1"'}, {}]
LATER = [{"Last-Modified": "Tue, 02 Jan 2024 00:00:00 GMT"}, {"ETag": '"2"'}, {}]
KINDS = pytest.mark.parametrize(("first", "later"), list(zip(MARKS, LATER, strict=True)))


@KINDS
def test_a_changed_file_of_the_same_size_is_copied_again(
    first: dict[str, str], later: dict[str, str], web: Web
) -> None:
    web.pages["/x.qrels"], web.marks = b"q1 0 d1 1\n", first
    before = local(f"{web.url}/x.qrels")
    assert local(f"{web.url}/x.qrels") == before
    web.pages["/x.qrels"], web.marks = b"q1 0 d1 0\n", later
    assert local(f"{web.url}/x.qrels").read_bytes() == b"q1 0 d1 0\n"
    assert before.read_bytes() == b"q1 0 d1 1\n", "a process may read it still"


@KINDS
def test_a_changed_file_of_a_folder_is_copied_again(
    first: dict[str, str], later: dict[str, str], web: Web
) -> None:
    page = b'<a href="qrels.txt">qrels.txt</a> <a href="docs.tsv">docs.tsv</a>'
    web.pages = {"/c/": page, "/c": page, "/c/qrels.txt": b"q1 0 d1 1\n", "/c/docs.tsv": b"d1\ta"}
    web.marks = first
    before = folder_at(f"{web.url}/c")
    assert before is not None
    assert sorted(path.name for path in before.iterdir()) == ["docs.tsv", "qrels.txt"]
    assert folder_at(f"{web.url}/c") == before
    web.pages["/c/qrels.txt"], web.marks = b"q1 0 d1 0\n", later
    after = folder_at(f"{web.url}/c")
    assert after is not None
    assert (after / "qrels.txt").read_bytes() == b"q1 0 d1 0\n"
    assert (before / "qrels.txt").read_bytes() == b"q1 0 d1 1\n", "a process may read it still"


RUN = b"q Q0 d2 1 2 t\nq Q0 d1 2 1 t\n"


@pytest.mark.parametrize("query", ["?download=1", "?X-Amz-Signature=a/b&Expires=9"])
@pytest.mark.parametrize("same", [False, True])
def test_a_run_is_not_read_as_its_own_ranks(web: Web, query: str, same: bool) -> None:
    """Some servers give the same whatever name is asked for."""
    web.pages[f"/p.run{query}"] = RUN
    if same:
        web.pages[f"/p.run.ranks.tsv{query}"] = RUN
    scores = ir.evaluate({"q": {"d1": 1}}, f"{web.url}/p.run{query}", measures="RR")
    assert [*scores.figures().values()] == [{"RR": 0.5}]


def test_ranks_beside_an_address_with_a_query_are_read(web: Web, tmp_path: Path) -> None:
    path = tmp_path / "p.run"
    path.write_bytes(RUN.splitlines(keepends=True)[0])
    run = Run.read(path)
    write_ranks(path, {"q": {"d1": 7}}, sha256(path))
    web.pages["/p.run?download=1"] = path.read_bytes()
    web.pages["/p.run.ranks.tsv?download=1"] = ranks_path(path).read_bytes()
    assert read_ranks(f"{web.url}/p.run?download=1", run) == {"q": {"d1": 7}}


@pytest.mark.parametrize("name", ["a?b.run", "a#b.run", "a b.run", "plain.run"])
def test_a_run_keeps_its_own_files(name: str) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    data = ir.load({"d1": "a whale"}, queries={"q": "whale"}, qrels={"q": {"d1": 1}})
    run = ir.retrieve(data, output=f"memory://own/{name}", progress=False)
    try:
        ends = ("", ".ir-metadata.yml", ".ranks.tsv")
        assert sorted(memory.find("/own")) == [f"/own/{name}{end}" for end in ends]
        assert Run.read(f"memory://own/{name}") == run
        assert read_ranks(f"memory://own/{name}", run) == {"q": {"d1": 1}}
    finally:
        memory.rm("/own", recursive=True)

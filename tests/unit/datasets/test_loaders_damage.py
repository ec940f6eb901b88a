"""What every loader of a release has to do with bad input, and with input that is only large.

Whatever is wrong is named by file and line whichever way a dataset is asked, nothing half read is
handed out or kept, and once the file is whole again it loads, in the same process. Also the other
forms in which the datasets come, how their queries are divided, and how large files are fetched.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import ir_datasets
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets import downloads, plotretrieval, quoter

LONG = 10_000_000
WAYS = ("docs_count", "queries_count", "docs_iter", "queries_iter", "qrels_iter", "docs_store")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that nobody else writes into."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    return tmp_path / "cache"


def cached(home: Path) -> list[str]:
    """What is in the cache, scratch folders included, beside the hashes it remembers."""
    return sorted(p.name for p in home.iterdir() if p.name != "hashes") if home.exists() else []


def contents(dataset_id: str) -> list[Any]:
    dataset = ir_datasets.load(dataset_id)
    rows = [
        [tuple(row) for row in getattr(dataset, way)()]
        for way in ("docs_iter", "queries_iter", "qrels_iter")
    ]
    counts = [dataset.docs_count(), dataset.queries_count()]
    assert counts == [len(rows[0]), len(rows[1])]
    return rows


# ---- a small release of each benchmark, in lines --------------------------------------------------


@dataclass(frozen=True)
class Loader:
    """A dataset, and the files it is read from."""

    dataset_id: str
    files: dict[str, str]

    def write(self, data: Path, name: str = "", content: bytes = b"") -> Path:
        """All files whole, but for one with other content; gives the path of that one."""
        folder = data / self.dataset_id.split("/")[0]
        for each, text in self.files.items():
            (folder / each).parent.mkdir(parents=True, exist_ok=True)
            (folder / each).write_bytes(content if each == name else text.encode())
        return folder / name


def relic_text() -> str:
    """Every value on a line of its own; what stands in which line is counted below."""
    books = {
        "inn": {
            "quotes": {"w1": [["Before."], 6, 1, ["After."]], "w2": [[], 2, 2, ["Only after."]]},
            "sentences": [f"Sentence é {i}." for i in range(12)],
            "candidates": {"1_sentence": list(range(12)), "2_sentences": [0, 2, 7]},
        },
        "pub": {
            "quotes": {"w3": [["It said:"], 0, 1, []]},
            "sentences": ["One.", "Two."],
            "candidates": {"1_sentence": [0, 1]},
        },
    }
    return json.dumps(books, indent=1, ensure_ascii=False) + "\n"


def lines(records: list[Any]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def question(name: str, *answers: str) -> dict[str, Any]:
    return {"id": name, "input": f"What of {name}?", "output": [{"answer": a} for a in answers]}


RELIC = Loader("relic/train", {"train.json": relic_text()})
QUOTER = Loader("quoter/en/train", {
    "english.txt": "".join(f"left é {n}\tquote {n % 3}\tright {n}\n" for n in range(1, 11))
})  # fmt: skip
EGRET = Loader("egret/train", {
    "eli5-train-kilt.jsonl": lines([question(f"t{n}", f"So é. For example, {n}. Yes.", "No.") for n in range(1, 6)]),
    "eli5-dev-kilt.jsonl": lines([question("d1", "It is (e.g. é) so."), question("d2", "No.")]),
})  # fmt: skip
PLOT = Loader("plotretrieval/val", {
    "queries-val.jsonl": lines([
        {"query_id": "p1", "book": "inn", "query": "é regret", "spans": [[4, 5], [9, 11]]},
        {"query_id": "p2", "book": "bar", "query": "a quarrel", "spans": [[0, 2]]},
        {"query_id": "p3", "book": "inn", "query": "a song", "spans": [[0, 6]]},
    ]),
    "books/bar.json": json.dumps({"book": "bar", "sentences": ["A é.", "B.", "C."]}, indent=1, ensure_ascii=False),
    "books/inn.json": json.dumps({"book": "inn", "sentences": [f"Line {i}." for i in range(11)]}, indent=1),
})  # fmt: skip


@dataclass(frozen=True)
class Bad:
    """A file with something wrong in a line.

    `change` takes the lines of the whole file, which it may alter, to the line that is wrong.
    """

    name: str
    loader: Loader
    file: str
    found: str
    change: Callable[[list[bytes]], int | None]


def put(line: int, old: str, new: str | bytes) -> Callable[[list[bytes]], int]:
    """A line with something else in it."""

    def change(whole: list[bytes]) -> int:
        data = new if isinstance(new, bytes) else new.encode()
        assert old.encode() in whole[line - 1]
        whole[line - 1] = whole[line - 1].replace(old.encode(), data, 1)
        return line

    return change


def cut(line: int, share: float = 0.5) -> Callable[[list[bytes]], int]:
    """A file that breaks off inside a line."""

    def change(whole: list[bytes]) -> int:
        whole[line - 1 :] = [whole[line - 1][: int(len(whole[line - 1]) * share)]]
        return line

    return change


def again(line: int, at: int, says: int) -> Callable[[list[bytes]], int]:
    """A line once more, further on."""

    def change(whole: list[bytes]) -> int:
        whole.insert(at - 1, whole[line - 1])
        return says

    return change


def every(line: int | None, content: bytes) -> Callable[[list[bytes]], int | None]:
    """Other content altogether."""

    def change(whole: list[bytes]) -> int | None:
        whole[:] = [content]
        return line

    return change


def long_line(line: int, old: str, new: str) -> Callable[[list[bytes]], int]:
    """A line of ten million characters, and something wrong at its end."""
    return put(line, old, "long " * (LONG // 5) + new)


def line_of(text: str, wanted: str) -> int:
    """The only line that holds a text."""
    (found,) = [n for n, line in enumerate(text.split("\n"), 1) if wanted in line]
    return found


TRAIN, ENGLISH, KILT, DEV, QUERIES, BAR = (
    "train.json",
    "english.txt",
    "eli5-train-kilt.jsonl",
    "eli5-dev-kilt.jsonl",
    "queries-val.jsonl",
    "books/bar.json",
)
W1, W3, S7 = (line_of(RELIC.files[TRAIN], text) for text in ('"w1"', '"w3"', "é 7."))
W1_START = W1 + 4

BAD = [
    # Truncated.
    Bad("truncated", RELIC, TRAIN, "not JSON", cut(S7)),
    Bad("truncated", QUOTER, ENGLISH, "1 tab instead of 2", cut(8)),
    Bad("truncated", EGRET, KILT, "not JSON", cut(5)),
    Bad("truncated", PLOT, QUERIES, "not JSON", cut(3)),
    Bad("truncated book", PLOT, BAR, "not JSON", cut(4)),
    # A gold past the end.
    Bad("gold past the end", RELIC, TRAIN, "has the index 12", lambda w: (put(W1_START, "6", "12")(w), W1)[1]),
    Bad("gold past the end", PLOT, QUERIES, "a span that ends at 4, past the 3 sentences of bar", put(2, "[0, 2]", "[0, 4]")),
    # A null gold.
    Bad("null gold", RELIC, TRAIN, "has the index None", lambda w: (put(W1_START, "6", "null")(w), W1)[1]),
    # Tabs.
    Bad("a tab too few", QUOTER, ENGLISH, "1 tab instead of 2", put(4, "\t", " ")),
    Bad("a tab too many", QUOTER, ENGLISH, "3 tabs instead of 2", put(10, "right", "right\t")),
    # Encodings.
    Bad("not UTF-8", RELIC, TRAIN, "not UTF-8: byte 0xe9", put(S7, "é", b"\xe9")),
    Bad("not UTF-8", EGRET, KILT, "not UTF-8: byte 0xe9", put(4, "é", b"\xe9")),
    Bad("half a character", EGRET, KILT, "half a surrogate pair", put(4, "é", "\\ud83d")),
    Bad("half a character", PLOT, QUERIES, "half a surrogate pair", put(1, "é", "\\ude00")),
    # Ids that appear twice.
    Bad("a book twice", RELIC, TRAIN, "'inn' appears twice", put(W3 - 2, "pub", "inn")),
    Bad("a question twice", EGRET, KILT, "question t2 appears twice", again(2, 5, 5)),
    Bad("a question in both", EGRET, DEV, "train and dev share a question id: t3", put(2, "d2", "t3")),
    # Names of several lines, which a message shows in one.
    Bad("a book of two lines", RELIC, TRAIN, "book 'i\\nnn' has a name with white space", put(2, "inn", "i\\nnn")),
    Bad("a window of two lines", RELIC, TRAIN, "quote 'w\\n3' of pub is not one word", put(W3, "w3", "w\\n3")),
    # Long lines.
    Bad("long line", RELIC, TRAIN, "not JSON", long_line(S7, '",', "")),
    Bad("long line", QUOTER, ENGLISH, "3 tabs instead of 2", long_line(6, "left", "\t")),
    # Nothing there.
    Bad("empty", RELIC, TRAIN, "not JSON", every(1, b"")),
    Bad("empty", EGRET, KILT, "no questions", every(None, b"")),
    Bad("empty", EGRET, DEV, "no questions", every(None, b"")),
    Bad("no books", RELIC, TRAIN, "not an object of books", every(1, b"{}")),
    Bad("only line ends", EGRET, DEV, "no questions", every(None, b"\n\n")),
    Bad("only line ends", RELIC, TRAIN, "not JSON", every(3, b"\n\n")),
]  # fmt: skip


def ask(dataset_id: str, way: str) -> None:
    found = getattr(ir_datasets.load(dataset_id), way)()
    if way.endswith("_iter"):
        for _ in found:
            raise AssertionError("half a release has been handed out")


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad.loader.dataset_id}-{bad.name}")
def test_bad_input_is_refused_and_leaves_nothing(home: Path, tmp_path: Path, bad: Bad) -> None:
    whole = bad.loader.files[bad.file].encode().split(b"\n")
    line = bad.change(whole)
    path = bad.loader.write(tmp_path / "data", bad.file, b"\n".join(whole))
    for way in WAYS:
        with pytest.raises(InputError) as caught:
            ask(bad.loader.dataset_id, way)
        assert (caught.value.file, caught.value.line) == (str(path), line)
        assert bad.found in caught.value.found
        assert caught.value.remedy
        assert len(str(caught.value)) < 1000
        assert cached(home) == []
    # The whole file in the same place: nothing of the other is remembered.
    bad.loader.write(tmp_path / "data")
    found = contents(bad.loader.dataset_id)
    assert all(found)
    (folder,) = cached(home)
    assert not folder.startswith(".")
    # What is then in the cache is what a first load gives.
    bad.loader.write(tmp_path / "other")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRTOOLKIT_DATA", str(tmp_path / "other"))
        assert contents(bad.loader.dataset_id) == found
        assert cached(home) == [folder]
        patch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "another cache"))
        bad.loader.write(tmp_path / "third")
        patch.setenv("IRTOOLKIT_DATA", str(tmp_path / "third"))
        assert contents(bad.loader.dataset_id) == found


# ---- ten million characters ------------------------------------------------------------------------

FILLER = "These are words of no weight, and so on they go. "


# ---- other forms of the datasets -------------------------------------------------------------------

LANGUAGES = ("en", "zh", "lzh")


def test_chunks_of_five_by_hand(home: Path, tmp_path: Path) -> None:
    """Eleven sentences are 0+5, 5+5 and 10+1; the golds 4+1, 9+2 and 0+6 stand beside them."""
    PLOT.write(tmp_path / "data")
    dataset = ir_datasets.load("plotretrieval/val/m5")
    found = {doc.doc_id for doc in dataset.docs_iter()}
    inn = {f"inn:{span}" for span in ("0+5", "5+5", "10+1", "4+1", "9+2", "0+6")}
    assert found == inn | {"bar:0+3", "bar:0+2"}
    grades = {row.doc_id: row.relevance for row in dataset.qrels_iter() if row.query_id == "p1"}
    assert {name for name, grade in grades.items() if grade} == {
        f"inn:{span}" for span in ("4+1", "9+2", "0+5", "5+5", "10+1")
    }
    assert len(cached(home)) == 1
    assert ir_datasets.load("plotretrieval/val").docs_count() > 0
    assert len(cached(home)) == 1  # the same columns serve chunks of all sizes


@pytest.mark.parametrize("size", ["0", "05", "100", "-1", "", "x"])
def test_sizes_that_are_none(size: str) -> None:
    with pytest.raises(KeyError):
        ir_datasets.load(f"plotretrieval/sample/val/m{size}")


@pytest.mark.parametrize(
    ("dataset_id", "breakdown"),
    [
        *((f"relic/sample/{split}{view}", by)
          for split in ("train", "val", "test") for view in ("", "/1-1") for by in ("book", "length")),
        *((f"quoter/sample/{lang}/{split}", "frequency") for lang in LANGUAGES for split in quoter.SPLITS),
        ("quoter/sample/en/lower/test/left", "frequency"),
        *((f"plotretrieval/sample/{split}", "book") for split in plotretrieval.SPLITS),
        ("plotretrieval/sample/val/m5/book", "book"),
    ],
)  # fmt: skip
def test_breakdowns_put_each_query_into_one_part(dataset_id: str, breakdown: str) -> None:
    dataset = ir_datasets.load(dataset_id)
    parts = dataset.irtoolkit().breakdowns[breakdown]()
    members = [query_id for part in parts.values() for query_id in part]
    assert sorted(members) == sorted(query.query_id for query in dataset.queries_iter())
    assert all(parts.values())
    assert len(members) == len(set(members))
    expected = {
        "book": lambda query: query.book,
        "length": lambda query: f"{query.length} sentence{'s' * (query.length > 1)}",
    }.get(breakdown)
    if expected is not None:
        queries = {query.query_id: query for query in dataset.queries_iter()}
        for name, part in parts.items():
            assert {expected(queries[query_id]) for query_id in part} == {name}


def test_quotes_by_how_often_train_has_them(home: Path, tmp_path: Path) -> None:
    """160 contexts, of which train has 128: those of q0 thrice, q1 once, q2 never, q3 124 times."""
    train = ["q0"] * 3 + ["q1"] + ["q3"] * 124
    rest = ["q0", "q1", "q2", "q3"] * 8
    path = QUOTER.write(tmp_path / "data") / ENGLISH
    path.write_text("".join(f"l\t{quote}\tr\n" for quote in train + rest))
    parts = ir_datasets.load("quoter/en/test").irtoolkit().breakdowns["frequency"]()
    assert list(parts) == ["0 in train", "1-4 in train", "100-149 in train"]
    golds = {row.query_id: row.doc_id for row in ir_datasets.load("quoter/en/test").qrels_iter()}
    found = {name: Counter(golds[query_id] for query_id in part) for name, part in parts.items()}
    assert found == {
        "0 in train": {"en-q4": 4},
        "1-4 in train": {"en-q1": 4, "en-q2": 4},
        "100-149 in train": {"en-q3": 4},
    }


# ---- large files from the network ------------------------------------------------------------------

CONTENT = {"a.jsonl": bytes(range(256)) * 12_000, "b.jsonl": b"short\n"}


@dataclass
class Site:
    """A server of CONTENT; `asked` has the name and range of each request."""

    address: str = ""
    ranges: bool = True
    content: dict[str, bytes] = field(default_factory=lambda: dict(CONTENT))
    # How many bytes of a file are sent before the connection breaks, once for each.
    breaks: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    def files(self, **other: str) -> dict[str, tuple[str, str]]:
        """What `download` is told: addresses and the hashes of the true content."""
        return {
            name: (self.address + name, other.get(name[0]) or hashlib.sha256(data).hexdigest())
            for name, data in CONTENT.items()
        }


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, asked = self.path.removeprefix("/"), self.headers["Range"]
            site.asked.append((name, asked))
            if name in site.errors or name not in site.content:
                self.send_error(site.errors.get(name, 404))
                return
            data = site.content[name]
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and site.ranges else 0
            if start and start >= len(data):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            stop = site.breaks.pop(name, len(data))
            self.wfile.write(data[start:stop])
            self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.address = f"http://127.0.0.1:{server.server_port}/"
    yield site
    server.shutdown()
    thread.join()
    server.server_close()


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("sent", [0, 1, 5000, 1 << 20, len(CONTENT["a.jsonl"]) - 1])
def test_an_interrupted_download_is_resumed(
    site: Site, tmp_path: Path, ranges: bool, sent: int
) -> None:
    site.ranges, site.breaks = ranges, {"a.jsonl": sent}
    with pytest.raises((OSError, InputError)):
        downloads.download_files(site.files(), tmp_path / "bench")
    assert not (tmp_path / "bench").exists()
    downloads.download_files(site.files(), tmp_path / "bench")
    assert held(tmp_path / "bench") == CONTENT
    assert names(tmp_path) == ["bench"]
    assert [name for name, _ in site.asked] == ["a.jsonl", "a.jsonl", "b.jsonl"]
    if sent > 1 << 20:
        asked = site.asked[1][1]
        assert asked is not None
        assert int(asked.removeprefix("bytes=").rstrip("-")) >= 1 << 20


def test_a_broken_connection_is_the_networks_failing(site: Site, tmp_path: Path) -> None:
    """And says so, rather than that the content is wrong: what has come is worth keeping."""
    site.breaks = {"a.jsonl": 2_000_000}
    with pytest.raises(OSError, match="connection"):
        downloads.download_files(site.files(), tmp_path / "bench")
    (part,) = (tmp_path / ".bench.part").iterdir()
    assert 0 < part.stat().st_size <= 2_000_000
    assert CONTENT["a.jsonl"].startswith(part.read_bytes())


def test_of_several_downloads_at_once_one_fetches(site: Site, tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = [
            pool.submit(downloads.download_files, site.files(), tmp_path / "bench")
            for _ in range(4)
        ]
        assert [one.result() for one in done] == [None] * 4
    assert held(tmp_path / "bench") == CONTENT
    assert names(tmp_path) == ["bench"]
    assert [name for name, _ in site.asked] == ["a.jsonl", "b.jsonl"]


def test_files_that_are_whole_are_not_fetched_again(site: Site, tmp_path: Path) -> None:
    site.errors = {"b.jsonl": 503}
    with pytest.raises(OSError, match="503"):
        downloads.download_files(site.files(), tmp_path / "bench")
    site.errors.clear()
    downloads.download_files(site.files(), tmp_path / "bench")
    assert held(tmp_path / "bench") == CONTENT
    assert [name for name, _ in site.asked] == ["a.jsonl", "b.jsonl", "b.jsonl"]


def test_a_file_of_an_interrupted_download_is_fetched_again_if_another_is_expected(
    site: Site, tmp_path: Path
) -> None:
    staging = tmp_path / ".bench.part"
    staging.mkdir()
    (staging / "a.jsonl").write_bytes(b"of an older release\n")
    downloads.download_files(site.files(), tmp_path / "bench")
    assert held(tmp_path / "bench") == CONTENT


@pytest.mark.parametrize("how", ["other", "longer", "shorter", "empty"])
def test_wrong_content_is_refused_and_thrown_away(site: Site, tmp_path: Path, how: str) -> None:
    body = CONTENT["a.jsonl"]
    site.content["a.jsonl"] = {
        "other": b"x" + body[1:],
        "longer": body + b"\n",
        "shorter": body[:-1],
        "empty": b"",
    }[how]
    with pytest.raises(InputError, match="SHA-256") as caught:
        downloads.download_files(site.files(), tmp_path / "bench")
    assert caught.value.file == site.address + "a.jsonl"
    for content in (body, site.content["a.jsonl"]):
        assert hashlib.sha256(content).hexdigest() in caught.value.found
    assert not (tmp_path / "bench").exists()
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    site.content["a.jsonl"] = body
    downloads.download_files(site.files(), tmp_path / "bench")
    assert held(tmp_path / "bench") == CONTENT
    assert [asked for _, asked in site.asked] == [None, None, None]

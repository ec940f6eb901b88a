"""Where releases come from, how they are verified and fetched, and how they are handed out."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import threading
import urllib.error
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import ir_datasets
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import git_blob_id
from irtoolkit.datasets import csfcube, github
from irtoolkit.datasets.handlers import (
    DocsHandler,
    LazySequence,
    MappingDocstore,
    PoolDoc,
    PoolsHandler,
    QrelsHandler,
    QueriesHandler,
)
from irtoolkit.datasets.source import ReleaseSource
from irtoolkit.datasets.strictjson import line_of, read_json_file, read_jsonl

NAMES = ("a.json", "b.csv")
HOWTO = "get it at example.org and put it into $IRTOOLKIT_DATA/bench/"


def blob(data: bytes) -> str:
    """What `git hash-object` prints."""
    return hashlib.sha1(b"blob " + str(len(data)).encode() + b"\0" + data).hexdigest()


def fill(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(f"{name} in {folder.name}")
    return folder


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """$IRTOOLKIT_DATA, which does not exist yet."""
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ir_datasets' home, empty."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def source(
    download: Callable[[Path], None] | None = None, fixed: Path | None = None
) -> ReleaseSource:
    return ReleaseSource("bench", NAMES, HOWTO, fixed, download)


def no_download(folder: Path) -> NoReturn:
    raise AssertionError("nothing is to be downloaded")


# ---- places --------------------------------------------------------------------------------------


def test_irtoolkit_data_comes_before_the_home_of_ir_datasets(data: Path, home: Path) -> None:
    fill(home / "bench", *NAMES)
    assert source(no_download).folder() == home / "bench"
    fill(data / "bench", *NAMES)
    assert source(no_download).folder() == source().present() == data / "bench"


def test_the_home_of_ir_datasets_without_irtoolkit_data(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(home / "bench", *NAMES)
    for value in (None, ""):
        if value is None:
            monkeypatch.delenv("IRTOOLKIT_DATA", raising=False)
        else:
            monkeypatch.setenv("IRTOOLKIT_DATA", value)
        assert source(no_download).folder() == home / "bench"


def test_nothing_is_present(data: Path, home: Path) -> None:
    assert source().present() is None
    (data / "other").mkdir(parents=True)
    (data / "bench").write_text("a file where a folder should be")
    assert source().present() is None


def test_the_place_is_looked_up_each_time(
    data: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = source()
    assert asked.present() is None
    fill(data / "bench", *NAMES)
    assert asked.present() == data / "bench"
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "more"))
    assert asked.present() is None


@pytest.mark.parametrize("place", ["data", "home"])
def test_an_incomplete_folder_is_an_error(
    data: Path, home: Path, place: str, request: pytest.FixtureRequest
) -> None:
    """Not a reason to look elsewhere, and nothing to download over."""
    folder = fill(request.getfixturevalue(place) / "bench", NAMES[1])
    if place == "data":
        fill(home / "bench", *NAMES)
    for ask in (source(no_download).present, source(no_download).folder):
        with pytest.raises(InputError) as caught:
            ask()
        assert caught.value.file == str(folder)
        assert caught.value.line is None
        assert caught.value.found == "release file a.json is missing"
        assert caught.value.remedy == HOWTO


def test_a_fixed_folder_is_the_only_place(data: Path, home: Path, tmp_path: Path) -> None:
    fill(data / "bench", *NAMES)
    fill(home / "bench", *NAMES)
    fixed = source(no_download, fill(tmp_path / "sample", *NAMES))
    assert fixed.present() == fixed.folder() == tmp_path / "sample"
    (tmp_path / "sample" / "a.json").unlink()
    with pytest.raises(InputError) as caught:
        fixed.folder()
    assert caught.value.file == str(tmp_path / "sample")


def test_a_release_without_an_address(data: Path, home: Path) -> None:
    with pytest.raises(InputError) as caught:
        source().folder()
    assert caught.value.found == "the bench release is not on this machine"
    assert caught.value.remedy == HOWTO
    assert list(home.iterdir()) == []


def test_a_download_goes_to_the_home_of_ir_datasets_once(data: Path, home: Path) -> None:
    asked: list[Path] = []

    def download(folder: Path) -> None:
        asked.append(folder)
        fill(folder, *NAMES)

    for _ in range(2):
        assert source(download).folder() == home / "bench"
    assert asked == [home / "bench"]
    assert not data.exists()


@pytest.mark.parametrize(
    "problem",
    [
        OSError("no route to host"),
        TimeoutError("no route to host"),
        urllib.error.URLError("no route to host"),
        PermissionError(13, "no route to host"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_a_failing_network_is_an_input_error(data: Path, home: Path, problem: OSError) -> None:

    def download(folder: Path) -> NoReturn:
        raise problem

    with pytest.raises(InputError) as caught:
        source(download).folder()
    assert "bench release is not on this machine and could not be downloaded" in caught.value.found
    assert caught.value.found.endswith("could not be downloaded: no route to host")
    assert caught.value.remedy == HOWTO


def test_a_download_may_be_given_a_limit(data: Path, home: Path) -> None:
    assert source(lambda folder: fill(folder, *NAMES)).folder(limit=60) == home / "bench"


@pytest.mark.parametrize("problem", [OSError("no route"), InputError("the content is wrong")])
def test_a_download_with_a_limit_says_why_it_failed(
    data: Path, home: Path, problem: Exception
) -> None:
    def download(folder: Path) -> NoReturn:
        raise problem

    for _ in range(2):
        with pytest.raises(InputError, match=str(problem)):
            source(download).folder(limit=60)


class Gate:
    """A server that answers no request before it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        gate = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                gate.opened.wait()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"late")

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self.opened.set()
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.close()


def test_a_server_that_does_not_answer_in_time(data: Path, home: Path, gate: Gate) -> None:
    asked: list[Path] = []

    def download(folder: Path) -> None:
        asked.append(folder)
        found = github.fetch(gate.url)
        whole = folder.with_name("whole")
        fill(whole, *NAMES)
        (whole / NAMES[0]).write_bytes(found)
        whole.rename(folder)

    slow = source(download)
    for limit in (0.0, 0.01):
        with pytest.raises(InputError) as caught:
            slow.folder(limit=limit)
        assert caught.value.found == (
            "the bench release is not on this machine and could not be downloaded:"
            f" the download takes longer than {limit:g} seconds"
        )
        assert caught.value.remedy == HOWTO
        assert "\n" not in str(caught.value)
        assert list(home.iterdir()) == []
    gate.opened.set()
    assert slow.folder() == home / "bench"
    assert (home / "bench" / NAMES[0]).read_bytes() == b"late"
    assert asked == [home / "bench"], "the first download went on, and no second one began"


# ---- GitHub --------------------------------------------------------------------------------------

CONTENT = {"a.json": b"{}\n", "b.csv": b"x,y\r\n1,2\r\n", "big.jsonl": b"\x00\xff" * 5000}
COMMIT = "c0ffee" * 6 + "beef"
RAW = f"https://raw.githubusercontent.com/some/where/{COMMIT}/"
TREE = f"https://api.github.com/repos/some/where/git/trees/{COMMIT}?recursive=1"


class Repository:
    """GitHub, as far as it is asked."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content, self.asked = dict(content), list[str]()
        entries = [{"path": name, "sha": blob(body)} for name, body in content.items()]
        self.tree = json.dumps({"tree": [{"path": "src", "sha": "0" * 40}, *entries]}).encode()

    def __call__(self, url: str) -> bytes:
        self.asked.append(url)
        if url == TREE:
            return self.tree
        if not url.startswith(RAW):
            raise AssertionError(url)
        try:
            return self.content[url.removeprefix(RAW)]
        except KeyError:
            raise urllib.error.HTTPError(url, 404, "Not Found", None, None) from None  # type: ignore[arg-type]


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Repository:
    repository = Repository(CONTENT)
    monkeypatch.setattr(github, "fetch", repository)
    return repository


def pinned(*unpinned: str) -> dict[str, str | None]:
    return {n: None if n in unpinned else blob(body) for n, body in CONTENT.items()}


def fetch_into(folder: Path, blobs: dict[str, str | None]) -> None:
    github.download_blobs("some/where", COMMIT, blobs, folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_complete_download(repository: Repository, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "home" / "bench"
    fetch_into(folder, pinned())
    assert contents(folder) == CONTENT
    assert [path.name for path in folder.parent.iterdir()] == ["bench"]
    assert repository.asked == [RAW + name for name in CONTENT]


def test_only_what_is_named_is_fetched(repository: Repository, tmp_path: Path) -> None:
    fetch_into(tmp_path / "bench", {"b.csv": blob(CONTENT["b.csv"])})
    assert contents(tmp_path / "bench") == {"b.csv": CONTENT["b.csv"]}


def test_an_id_may_come_from_the_listing(repository: Repository, tmp_path: Path) -> None:
    fetch_into(tmp_path / "bench", pinned("big.jsonl", "a.json"))
    assert contents(tmp_path / "bench") == CONTENT
    assert repository.asked.count(TREE) == 1


@pytest.mark.parametrize("name", list(CONTENT))
@pytest.mark.parametrize("how", ["byte", "cut", "longer", "empty", "line ends"])
@pytest.mark.parametrize("listed", [False, True])
def test_one_wrong_byte_and_nothing_is_left(
    repository: Repository, tmp_path: Path, name: str, how: str, listed: bool
) -> None:
    body = CONTENT[name]
    repository.content[name] = {
        "byte": bytes([body[0] ^ 1]) + body[1:],
        "cut": body[:-1],
        "longer": body + b"\n",
        "empty": b"",
        "line ends": body.replace(b"\n", b"\n\n") if b"\n" in body else b"\r\n" + body,
    }[how]
    with pytest.raises(InputError) as caught:
        fetch_into(tmp_path / "bench", pinned(name) if listed else pinned())
    assert caught.value.file == RAW + name
    assert blob(body) in caught.value.found
    assert blob(repository.content[name]) in caught.value.found
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_the_listing_lacks(repository: Repository, tmp_path: Path) -> None:
    repository.tree = b'{"tree": []}'
    with pytest.raises(InputError) as caught:
        fetch_into(tmp_path / "bench", pinned("b.csv"))
    assert caught.value.file == RAW + "b.csv"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "answer", [b"<html>Sign in to this network</html>", b'{"message": "Moved"}', b"[]", b""]
)
def test_a_listing_that_is_none(repository: Repository, tmp_path: Path, answer: bytes) -> None:
    """Such as the page of a hotel's network: an error with what to do, not a KeyError."""
    repository.tree = answer
    with pytest.raises((InputError, OSError)):
        fetch_into(tmp_path / "bench", pinned("a.json"))
    assert list(tmp_path.iterdir()) == []


def test_a_broken_connection_leaves_nothing(repository: Repository, tmp_path: Path) -> None:
    del repository.content["big.jsonl"]
    with pytest.raises(OSError, match="404"):
        fetch_into(tmp_path / "bench", pinned())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "problem",
    [
        ConnectionResetError("half of it"),
        http.client.IncompleteRead(b"half of it", 20),
        http.client.BadStatusLine("half of it"),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_a_connection_that_breaks_in_mid_file(
    data: Path, home: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    """HTTP's own errors, such as IncompleteRead, are no OSErrors; they are the network's failing."""

    class Answer(contextlib.nullcontext[Any]):
        def __enter__(self) -> Any:
            return self

        def read(self) -> NoReturn:
            raise problem

    monkeypatch.setattr("urllib.request.urlopen", lambda *args, **options: Answer())
    with pytest.raises(InputError, match="could not be downloaded") as caught:
        ReleaseSource(
            "bench", NAMES, HOWTO, None, lambda folder: fetch_into(folder, pinned())
        ).folder()
    assert caught.value.remedy == HOWTO
    assert list(home.iterdir()) == []


def test_a_download_after_a_failed_one(repository: Repository, data: Path, home: Path) -> None:
    asked = ReleaseSource(
        "bench", tuple(CONTENT), HOWTO, None, lambda folder: fetch_into(folder, pinned())
    )
    body = repository.content.pop("big.jsonl")
    with pytest.raises(InputError, match="could not be downloaded: HTTP Error 404") as caught:
        asked.folder()
    assert caught.value.remedy == HOWTO
    assert list(home.iterdir()) == []
    repository.content["big.jsonl"] = body
    assert contents(asked.folder()) == CONTENT


def test_a_folder_that_is_there_is_not_downloaded_over(
    repository: Repository, data: Path, home: Path
) -> None:
    asked = ReleaseSource("bench", NAMES, HOWTO, None, lambda folder: fetch_into(folder, pinned()))
    before = contents(fill(home / "bench", *NAMES))
    assert asked.folder() == home / "bench"
    assert contents(home / "bench") == before
    assert repository.asked == []


@pytest.mark.parametrize("at_home", [False, True])
def test_a_part_that_a_folder_lacks_is_downloaded(
    repository: Repository, data: Path, home: Path, at_home: bool
) -> None:
    place = fill((home if at_home else data) / "bench", "other.json")
    asked = ReleaseSource(
        "bench",
        (),
        HOWTO,
        None,
        lambda folder: fetch_into(folder, pinned()),
        part="big.jsonl",
        has_part=lambda folder: (folder / "big.jsonl").is_file(),
    )
    assert asked.where() is None
    assert asked.folder() == home / "bench"
    other = {"other.json": (place / "other.json").read_bytes()} if at_home else {}
    assert contents(home / "bench") == {**CONTENT, **other}
    assert [path.name for path in home.iterdir()] == ["bench"]


def test_another_process_that_finishes_first(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is complete: it stays as it is, and nothing is moved into it."""
    folder = tmp_path / "bench"

    def meanwhile(url: str) -> bytes:
        if not folder.exists():
            folder.mkdir()
            for name, body in CONTENT.items():
                (folder / name).write_bytes(body)
        return repository(url)

    monkeypatch.setattr(github, "fetch", meanwhile)
    # To be told is as good as to be content with what is there.
    with contextlib.suppress(OSError, InputError):
        fetch_into(folder, pinned())
    assert sorted(path.name for path in folder.iterdir()) == sorted(CONTENT)
    assert contents(folder) == CONTENT


def test_csfcube_is_downloaded_and_read(
    data: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way, with the sample as what GitHub has: its files are not the pinned ones."""
    folder = Path(csfcube.__file__).parent / "samples" / "csfcube"
    files = {name: (folder / name).read_bytes() for name in csfcube.BLOBS}
    base = f"https://raw.githubusercontent.com/iesl/CSFCube/{csfcube.COMMIT}/"
    tree = {"tree": [{"path": name, "sha": blob(body)} for name, body in files.items()]}
    asked = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return files[url.removeprefix(base)] if url.startswith(base) else json.dumps(tree).encode()

    monkeypatch.setattr(github, "fetch", fetch)
    with pytest.raises(InputError, match="git blob"):
        ir_datasets.load("csfcube").queries_count()
    assert list(home.iterdir()) == []
    for name in csfcube.BLOBS:
        monkeypatch.setitem(csfcube.BLOBS, name, None)
    assert ir_datasets.load("csfcube/method").queries_count() == 2
    assert contents(home / "csfcube") == files
    assert all(url.startswith(("https://raw.github", "https://api.github")) for url in asked)


# ---- pinned files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),  # git's well-known empty blob
        (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
    ],
)
def test_git_blob_id(content: bytes, expected: str) -> None:
    assert git_blob_id(content) == expected == blob(content)


@given(st.binary(max_size=300))
def test_git_blob_id_is_gits(content: bytes) -> None:
    assert git_blob_id(content) == blob(content)


@pytest.mark.parametrize("name", [name for name, pin in csfcube.BLOBS.items() if pin])
def test_pinned_ids_are_those_of_the_release(real_csfcube: Path, name: str) -> None:
    assert blob((real_csfcube / name).read_bytes()) == csfcube.BLOBS[name]


# ---- JSON ----------------------------------------------------------------------------------------

Write = Callable[..., Path]


def test_read_json_gives_the_value(write: Write) -> None:
    assert read_json_file(
        write("a.json", '\ufeff{"a": [1, 2.5, null],\r\n "b": {"é": "x"}}\r\n')
    ) == {
        "a": [1, 2.5, None],
        "b": {"é": "x"},
    }


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("", 1, "not JSON at column 1"),
        ("{", 1, "not JSON at column 2"),
        ('{"a": 1,\n "b": }', 2, "not JSON at column 7"),
        ('{"a":\n[1,\n2\n', 3, "not JSON"),
        ("{} {}", 1, "not JSON at column 4: Extra data"),
        ("{'a': 1}", 1, "not JSON"),
        ('{"a": 1, "a": 2}', 1, "the key 'a' appears twice in one object"),
        ('{"b": 1,\n"a": {"c": 1, "c": 1}}', 2, "the key 'c' appears twice"),
        ('[{"a": 1}, {"a": 1, "b": 2, "b": 2}]', 1, "the key 'b' appears twice"),
    ],
)
def test_read_json_says_where(write: Write, text: str, line: int, found: str) -> None:
    path = write("a.json", text)
    with pytest.raises(InputError) as caught:
        read_json_file(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert found in caught.value.found
    assert caught.value.remedy == "the release file is damaged: fetch it again"


def test_one_key_in_several_objects_is_no_repetition(write: Write) -> None:
    value = {"a": {"a": {"a": 1}}, "b": {"a": 2}}
    assert read_json_file(write("a.json", json.dumps(value))) == value


def test_read_jsonl_numbers_lines_and_passes_over_blank_ones(write: Write) -> None:
    path = write("a.jsonl", '\n{"a": 1}\r\n  \n\t\n[2]\n3')
    assert list(read_jsonl(path)) == [(2, {"a": 1}), (5, [2]), (6, 3)]


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ('{"a": 1}\n{"a": 1', 2, "not JSON"),
        ('{"a": 1}\n\n{"a": 1, "a": 1}\n', 3, "'a' appears twice"),
        ('{"a": 1, "a": 1}\n{"a": 1}\n', 1, "'a' appears twice"),
        ('{"a":\n1}\n', 1, "not JSON"),
    ],
)
def test_read_jsonl_says_where(write: Write, text: str, line: int, found: str) -> None:
    path = write("a.jsonl", text)
    with pytest.raises(InputError) as caught:
        list(read_jsonl(path))
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert found in caught.value.found


@pytest.mark.parametrize(("text", "line"), [("a", 1), ("b", 2), ("bc", 3), ("d", None), ("", 1)])
def test_line_of(write: Write, text: str, line: int | None) -> None:
    assert line_of(write("x", "a\nb\nabc\n"), text) == line


# ---- handlers ------------------------------------------------------------------------------------


class Doc(NamedTuple):
    doc_id: str
    text: str


DOCS = {f"d{n}": Doc(f"d{n}", f"text {n}") for n in range(7)}


@given(st.lists(st.integers(), max_size=12), st.slices(12), st.slices(12))
def test_lazy_sequence_is_sliced_as_a_list(items: list[int], one: slice, two: slice) -> None:
    assert list(LazySequence(items)) == items
    assert list(LazySequence(items)[one]) == items[one]
    assert list(LazySequence(items)[one][two]) == items[one][two]


def test_lazy_sequence_is_an_iterator() -> None:
    rows = LazySequence("abc")
    assert iter(rows) is rows
    assert next(rows) == "a"
    assert list(rows) == ["b", "c"]
    assert list(rows) == []
    with pytest.raises(StopIteration):
        next(rows)
    # Indexing counts from the beginning, and a slice is an iterator of its own.
    assert rows[0] == "a"
    assert rows[-1] == "c"
    assert list(rows[1:]) == list(rows[1:]) == ["b", "c"]
    assert next(rows[1:]) == "b"
    with pytest.raises(IndexError):
        rows[3]


def test_docstore() -> None:
    store = MappingDocstore(Doc, DOCS)
    assert store.get("d3") == Doc("d3", "text 3")
    assert store.get("d3", "text") == "text 3"
    assert store.get_many(["d5", "gone", "d0"]) == {"d5": DOCS["d5"], "d0": DOCS["d0"]}
    assert store.get_many(iter(["d1"]), "text") == {"d1": "text 1"}
    assert store.get_many([]) == {}
    assert list(store.get_many_iter(["d2", "d1", "gone", "d2"])) == [
        DOCS["d2"], DOCS["d1"], DOCS["d2"],
    ]  # fmt: skip
    for missing in ("gone", "", "D3"):
        with pytest.raises(KeyError):
            store.get(missing)


def counted(value: Any) -> tuple[Callable[[], Any], list[None]]:
    """A function that gives a value, and how often it has been called."""
    calls: list[None] = []

    def load() -> Any:
        calls.append(None)
        return value

    return load, calls


def test_nothing_is_read_before_it_is_asked_for() -> None:
    load, calls = counted(DOCS)
    docs = DocsHandler(load, Doc, "here", None)
    queries = QueriesHandler(load, Doc, "there", "zh")
    judgments, pools = QrelsHandler(load, Doc, {0: "no"}), PoolsHandler(load)
    dataset = ir_datasets.Dataset(docs, queries, judgments, pools)
    assert dataset.docs_handler() is docs
    assert dataset.queries_handler() is queries
    assert (dataset.docs_cls(), dataset.queries_cls(), dataset.qrels_cls()) == (Doc, Doc, Doc)
    assert (dataset.docs_namespace(), dataset.docs_lang()) == ("here", None)
    assert (dataset.queries_namespace(), dataset.queries_lang()) == ("there", "zh")
    assert dataset.qrels_defs() == {0: "no"}
    assert dataset.scoreddocs_cls() is PoolDoc
    assert calls == []
    assert [dataset.docs_count(), dataset.queries_count(), len(calls)] == [7, 7, 2]


def test_pools_are_pairs_with_one_score() -> None:
    def load() -> Iterator[tuple[str, list[str]]]:
        yield "q2", ["d1", "d0"]
        yield "q0", []
        yield "q1", ["d1"]

    pools = PoolsHandler(load)
    expected = [("q2", "d1", 0.0), ("q2", "d0", 0.0), ("q1", "d1", 0.0)]
    assert [tuple(row) for row in pools.scoreddocs_iter()] == expected
    assert [tuple(row) for row in pools.scoreddocs_iter()] == expected  # and again

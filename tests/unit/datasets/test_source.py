"""Where releases come from, how they are verified and fetched, and how they are handed out."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets import downloads
from irtoolkit.datasets.source import ReleaseSource

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


# ---- places --------------------------------------------------------------------------------------


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

    def __call__(self, url: str, path: Path) -> None:
        self.asked.append(url)
        if url != TREE and not url.startswith(RAW):
            raise AssertionError(url)
        try:
            path.write_bytes(self.tree if url == TREE else self.content[url.removeprefix(RAW)])
        except KeyError:
            raise urllib.error.HTTPError(url, 404, "Not Found", None, None) from None  # type: ignore[arg-type]


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Repository:
    repository = Repository(CONTENT)
    monkeypatch.setattr(downloads, "fetch", repository)
    return repository


def pinned(*unpinned: str) -> dict[str, str | None]:
    return {n: None if n in unpinned else blob(body) for n, body in CONTENT.items()}


def fetch_into(folder: Path, blobs: dict[str, str | None]) -> None:
    downloads.download_blobs("some/where", COMMIT, blobs, folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", list(CONTENT))
@pytest.mark.parametrize("how", ["byte", "cut", "longer", "empty", "line ends"])
@pytest.mark.parametrize("listed", [False, True])
def test_a_file_with_one_wrong_byte_is_not_left(
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
    assert not (tmp_path / "bench").exists()
    assert not list(tmp_path.rglob(f"{name}*"))


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

        headers: ClassVar[dict[str, str]] = {}

        def read(self, size: int) -> NoReturn:
            raise problem

    monkeypatch.setattr("urllib.request.urlopen", lambda *args, **options: Answer())
    with pytest.raises(InputError, match="could not be downloaded") as caught:
        ReleaseSource(
            "bench", NAMES, HOWTO, None, lambda folder: fetch_into(folder, pinned())
        ).folder()
    assert caught.value.remedy == HOWTO
    assert not (home / "bench").exists()


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
        find=lambda folder: list(folder.glob("big.jsonl")) or None,
    )
    assert asked.where() is None
    assert asked.folder() == home / "bench"
    other = {"other.json": (place / "other.json").read_bytes()} if at_home else {}
    assert contents(home / "bench") == {**CONTENT, **other}
    assert [path.name for path in home.iterdir()] == ["bench"]


@pytest.mark.parametrize(
    "answer", [b"<html>Sign in to this network</html>", b'{"message": "Moved"}', b"[]", b""]
)
def test_a_listing_that_is_none(repository: Repository, tmp_path: Path, answer: bytes) -> None:
    """Such as the page of a hotel's network: an error with what to do, not a KeyError."""
    repository.tree = answer
    with pytest.raises((InputError, OSError)):
        fetch_into(tmp_path / "bench", pinned("a.json"))
    assert list(tmp_path.iterdir()) == []

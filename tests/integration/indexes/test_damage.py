"""What can happen to an index on disk: each a clear error, and nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.local import registered
from irtoolkit.indexes import manifest as manifests
from irtoolkit.indexes import shards, writer
from irtoolkit.ranking import build_index
from irtoolkit.retrievers import index_sources
from irtoolkit.retrievers.stored_index import StoredIndex
from tests.conftest import Answer
from tests.integration.indexes.killed import content, texts

FIRST, SECOND = texts(0, 700), texts(5000, 300)
QUERY = "the captain of the whale ship"
Damage = Callable[[Path], object]


def made(folder: Path, docs: Any = None, **more: Any) -> StoredIndex:
    index = ir.index(ir.load(FIRST if docs is None else docs, name="first"), path=folder, **more)
    assert isinstance(index, StoredIndex)
    return index


def rows(index: Any) -> list[tuple[str, float]]:
    return [(hit.doc_id, hit.score) for hit in index.search(QUERY, k=1000)]


def shard(folder: Path) -> Path:
    return next(path for path in (folder / "shards").iterdir())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with a deleted document, to be copied."""
    folder = tmp_path_factory.mktemp("whole") / "index"
    made(folder).delete(["d3"])
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "index"))


# -- damage ----------------------------------------------------------------------------------------


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-len(data) // 3] ^= 0x10
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 3 if path.suffix == ".json" else -1])


FILES = [
    "manifest.json", "deleted/*", *(
        f"shards/*/{name}" for name in (
            "shard.json", "starts.npy", "documents.npy", "classes.npy", "terms.bin", "ids.bin",
            "texts.bin", "order.npy", "hashes.npy", "lengths.npy", "bounds.npy",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_verify_finds_a_flipped_byte_of_any_file(
    folder: Path, name: str, irtoolkit: Callable[..., Answer]
) -> None:
    (path,) = folder.glob(name)
    flipped(path)
    answer = irtoolkit("index", folder, "--verify")
    assert (answer.status, answer.out) == (2, "")
    assert str(path) in answer.err
    assert "--replace" in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize("damage", [cut, Path.unlink])
@pytest.mark.parametrize("name", FILES)
def test_a_search_finds_a_file_that_is_cut_short_or_missing(
    folder: Path, name: str, damage: Damage
) -> None:
    (path,) = folder.glob(name)
    damage(path)
    with pytest.raises(InputError) as raised:
        ir.open_index(folder).search(QUERY)
    assert str(path if name != "manifest.json" else folder) in str(raised.value)


@pytest.mark.parametrize("name", FILES)
def test_a_search_finds_a_flipped_byte(folder: Path, name: str) -> None:
    wanted = rows(ir.open_index(folder))
    (path,) = folder.glob(name)
    flipped(path)
    for use in (rows, StoredIndex.merge):
        with pytest.raises(InputError, match="damaged") as raised:
            use(ir.open_index(folder))
        assert str(path if name != "manifest.json" else folder) in str(raised.value)
    flipped(path)
    assert rows(ir.open_index(folder)) == wanted


def test_a_damaged_index_is_replaced(folder: Path) -> None:
    wanted = rows(made(folder.with_name("other")))
    flipped(shard(folder) / "documents.npy")
    assert rows(made(folder, replace=True)) == wanted
    flipped(folder / "manifest.json")
    with pytest.raises(InputError, match="damaged"):
        made(folder)
    assert rows(made(folder, replace=True)) == wanted
    assert made(folder).verify() > 10


def test_another_format_is_refused_and_replaced(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({"format": manifests.FORMAT + 1, "parts": []}))
    for attempt in (lambda: ir.open_index(folder), lambda: made(folder)):
        with pytest.raises(InputError, match=r"format \d is not \d, .*--replace"):
            attempt()
    assert len(made(folder, replace=True)) == len(FIRST)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("manifest.json", flipped),
        ("shards/*/shard.json", Path.unlink),
        ("shards/*/documents.npy", cut),
        ("shards/*/documents.npy", flipped),
        ("manifest.json", lambda path: path.write_text('{"format": 0}')),
    ],
)
def test_an_index_in_the_cache_mends_itself(
    name: str, damage: Damage, tmp_path: Path, irtoolkit: Callable[..., Answer],
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    words = ("search", "csfcube/sample", "parsing of sentences", "-k", 3)
    wanted = irtoolkit(*words)
    assert (wanted.status, wanted.err) == (0, "")
    (index,) = (tmp_path / "cache" / "indexes").iterdir()
    before = content(index)
    (path,) = index.glob(name)
    damage(path)
    assert irtoolkit("index", "csfcube/sample", "--verify").status == 2
    mended = irtoolkit(*words)
    assert (mended.status, mended.out) == (0, wanted.out)
    (said,) = caplog.messages
    assert str(path) in said
    assert said.endswith(": the index is built again")
    assert content(index) == before
    assert irtoolkit(*words).out == wanted.out
    assert len(caplog.messages) == 1


# -- what is in the way ----------------------------------------------------------------------------


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        made(path)
    with pytest.raises(InputError, match="is not an index"):
        ir.open_index(path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_with_something_else(tmp_path: Path, replace: bool) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds thesis\.tex"):
        made(tmp_path, replace=replace)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root"
)
def test_a_folder_that_cannot_be_written_is_searched(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert len(ir.open_index(folder).search(QUERY)) == 10
        assert len(made(folder)) == len(FIRST) - 1
        with pytest.raises(InputError, match="cannot write"):
            StoredIndex(folder).delete(["d4"])
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


def test_two_writers(folder: Path, irtoolkit: Callable[..., Answer]) -> None:
    before = content(folder)
    with writer.writing(folder):
        for attempt in (["--merge"], ["--delete", "d5"]):
            answer = irtoolkit("index", folder, *attempt)
            assert (answer.status, answer.out) == (2, "")
            assert "another process is writing" in answer.err
        with pytest.raises(InputError, match="another process is writing"):
            StoredIndex(folder).add(SECOND)
        assert len(ir.open_index(folder).search(QUERY)) == 10
        # What is there already needs no writing.
        assert len(made(folder)) == len(FIRST) - 1
    assert content(folder) == before


# -- other documents -------------------------------------------------------------------------------


def test_changed_texts_are_refused(folder: Path) -> None:
    before = content(folder)
    with pytest.raises(InputError, match=r"have changed since .*--replace"):
        made(folder, {**FIRST, "d0": "another text"})
    assert content(folder) == before


def test_a_changed_collection_has_another_index(
    tmp_path: Path, irtoolkit: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    mine = tmp_path / "mine"
    mine.mkdir()
    for text in ("a whale", "a boat"):
        (mine / "docs.jsonl").write_text(json.dumps({"id": "a", "text": text}) + "\n")
        assert irtoolkit("register", "changing", mine, "--replace").status == 0
        assert text in irtoolkit("search", "changing", text).out
    assert len(list((tmp_path / "cache" / "indexes").iterdir())) == 2
    assert irtoolkit("index", "changing", "-o", tmp_path / "index").status == 0
    (mine / "docs.jsonl").write_text('{"id": "a", "text": "a lamp"}\n')
    assert irtoolkit("register", "changing", mine, "--replace").status == 0
    answer = irtoolkit("index", "changing", "-o", tmp_path / "index")
    assert (answer.status, "have changed" in answer.err) == (2, True)
    registered.drop_from_ir_datasets("changing")


def test_other_settings_of_documents_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"built with tokenizer=\w+, which concerns the documents"):
        made(folder, tokenizer="whitespace")
    with pytest.raises(InputError, match="which concerns the documents"):
        ir.open_index(folder, tokenizer="whitespace").search(QUERY)


def test_settings_of_the_search_never_build(folder: Path) -> None:
    before = content(folder)
    usual = rows(ir.open_index(folder))
    for settings in ({"k1": 2.0}, {"b": 0.9}, {"form": "bm25+"}, {"form": "okapi"}):
        other = rows(ir.open_index(folder, **settings))
        assert {doc for doc, _ in other} == {doc for doc, _ in usual}
        assert other != usual
        assert rows(made(folder, **settings)) == other
    assert content(folder) == before


# -- documents that are refused --------------------------------------------------------------------


def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of 100 documents where memory is short."""
    monkeypatch.setattr(index_sources, "_READ_DOCS", 50)
    monkeypatch.setattr(index_sources, "BLOCK_DOCS", 100)


def test_an_id_that_is_there_already_adds_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch)
    before, found = content(folder), rows(ir.open_index(folder))
    # The repeated one is in the last of three shards.
    with pytest.raises(InputError, match=r"document d7 is in the index .* already"):
        StoredIndex(folder).add(ir.load({**SECOND, "d7": "a whale"}, name="second"), memory=1)
    assert rows(ir.open_index(folder)) == found
    assert content(folder) == before
    # One that was deleted may come again.
    added = StoredIndex(folder).add(ir.load({**SECOND, "d3": "a whale"}, name="second"), memory=1)
    assert len(added) == len(FIRST) + len(SECOND)


class Twins:
    """Documents of a dataset whose last id is that of its first."""

    def __init__(self, count: int) -> None:
        self._ids = [*(f"d{number}" for number in range(count - 1)), "d0"]

    def __call__(self, data: Any, view: str, start: int, size: int) -> Any:
        for first in range(start, len(self._ids), size):
            ids = self._ids[first : first + size]
            yield ids, [("a whale",) for _ in ids]


@pytest.mark.parametrize("count", [80, 450])
def test_an_id_twice_leaves_no_index(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch)
    from irtoolkit.ranking.systems import find_system

    data = ir.load(["a whale"], name="twins")
    system = find_system("bm25", {}, data.parts)
    with monkeypatch.context() as patch:
        patch.setattr(index_sources, "text_batches", Twins(count))
        with pytest.raises(InputError, match="document d0 occurs twice"):
            build_index.build(data, system, tmp_path / "index", memory=1)
    with pytest.raises(InputError, match="is not an index"):
        ir.open_index(tmp_path / "index")
    # Nothing of them is in the way of other documents.
    assert len(made(tmp_path / "index", tokenizer="whitespace")) == len(FIRST)


def test_an_interrupted_addition_is_not_found_and_not_merged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_blocks(monkeypatch)
    found = rows(ir.open_index(folder))
    second = ir.load(SECOND, name="second")

    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    finished, seen = writer.finished, []

    def twice(*args: Any) -> Any:
        seen.append(args)
        return finished(*args) if len(seen) < 3 else stopped()

    with monkeypatch.context() as patch:
        patch.setattr(writer, "finished", twice)
        with pytest.raises(KeyboardInterrupt):
            StoredIndex(folder).add(second, memory=1)
    half = StoredIndex(folder)
    assert rows(half) == found
    for change in (half.merge, lambda: half.delete(["d9"]), lambda: half.add(["else"])):
        with pytest.raises(InputError, match="only 200 documents of second"):
            change()
    # Other texts of the same name take the place of what was put in.
    assert len(half.add(ir.load(texts(9000, 50), name="second"))) == len(half) + 50


# -- the disk --------------------------------------------------------------------------------------

LIMITED = """
import resource, signal, sys
import irtoolkit as ir
from pathlib import Path
from tests.integration.indexes.killed import texts
from irtoolkit.base.errors import InputError
folder, work, limit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    if work == "build":
        ir.index(ir.load(texts(0, 700), name="first"), path=folder, progress=False)
    elif work == "add":
        ir.open_index(folder).add(ir.load(texts(5000, 300), name="second"), progress=False)
    elif work == "replace":
        ir.index(ir.load(texts(900, 500), name="third"), path=folder, replace=True, progress=False)
    else:
        ir.open_index(folder).merge()
except InputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are of Unix")
@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(100, marks=pytest.mark.nightly),
        700,
        pytest.param(3000, marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("work", ["build", "add", "merge", "replace"])
def test_a_full_disk(work: str, limit: int, folder: Path, tmp_path: Path) -> None:
    found = rows(ir.open_index(folder))
    place = tmp_path / "new" if work == "build" else folder
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, place, work, str(limit)],
        capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "cannot write: " in done.stdout
    assert done.stderr == ""
    if work == "build":
        assert rows(made(place)) == rows(made(tmp_path / "undisturbed"))
        return
    assert rows(ir.open_index(folder)) == found
    if work == "merge":
        assert rows(ir.open_index(folder).merge()) == found


# -- writing and searching at once -----------------------------------------------------------------


def test_an_open_index_stays_what_it_was(folder: Path) -> None:
    index = ir.open_index(folder)
    found = rows(index)
    StoredIndex(folder).add(ir.load(SECOND, name="second")).merge()
    assert rows(index) == found
    assert [hit.text for hit in index.search("whale")] != []
    assert len(ir.open_index(folder)) == len(FIRST) - 1 + len(SECOND)


def test_an_index_that_is_merged_while_it_is_opened(folder: Path) -> None:
    index = StoredIndex(folder)
    assert isinstance(index, StoredIndex)
    found = rows(StoredIndex(folder).merge())
    assert rows(index) == found


def test_an_index_that_is_not_built_yet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not an index"):
        ir.open_index(tmp_path / "none")
    made(tmp_path / "index")
    known = manifests.Manifest.read(tmp_path / "index")
    half = known.with_source(manifests.DocumentSource("first", "x", 700, False))
    half.write(tmp_path / "index")
    with pytest.raises(InputError, match=r"not complete: 700 documents of first are in \("):
        ir.open_index(tmp_path / "index")


def test_deleted_again_is_deleted(folder: Path) -> None:
    index = StoredIndex(folder).delete(["d3", "d4", "d4"])
    assert len(index) == len(FIRST) - 2
    before = content(folder)
    assert len(index.delete(["d4"])) == len(index)
    with pytest.raises(InputError, match="document never is not in the index"):
        index.delete(["d5", "never"])
    assert content(folder) == before
    shard_entry = index.manifest.shards[0]
    assert np.array_equal(shards.deleted(folder, shard_entry), [3, 4])

"""Indexes at URLs, in fsspec's memory: copied shard by shard, put with the manifest last."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import irtoolkit as ir
from irtoolkit.base import remote
from irtoolkit.base.errors import InputError
from irtoolkit.indexes import changes
from irtoolkit.indexes.manifest import NAME, Manifest
from irtoolkit.indexes.remote import local_index
from irtoolkit.indexes.remote_writer import changing, put_index
from irtoolkit.retrievers.stored_index import StoredIndex

pytest.importorskip("fsspec", reason="the extra remote is not installed")

URL = "memory://store/index"
DOCS = {f"d{number}": f"the whale {number} and ship {number % 3}" for number in range(30)}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    import fsspec

    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    yield tmp_path
    fsspec.filesystem("memory").store.clear()
    fsspec.filesystem("memory").pseudo_dirs[:] = [""]


def data(first: int = 0, last: int = 30, name: str = "first") -> Any:
    return ir.load({key: DOCS[key] for key in list(DOCS)[first:last]}, name=name)


def built(place: Any, **more: Any) -> StoredIndex:
    index = ir.index(data(0, 20), path=place, progress=False, **more)
    assert isinstance(index, StoredIndex)
    return index


def rows(index: Any) -> list[tuple[str, float]]:
    return [(hit.doc_id, hit.score) for hit in index.search("the whale and ship 2", k=100)]


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def store(url: str = URL) -> dict[str, bytes]:
    import fsspec

    memory = fsspec.filesystem("memory")
    return {name: memory.cat_file(f"{url}/{name}") for name in remote.files_under(url)}


def test_an_index_at_a_url_has_the_bytes_of_a_local_one(home: Path) -> None:
    there, here = built(URL), built(home / "here")
    assert store() == files(home / "here")
    assert rows(there) == rows(here) == rows(ir.open_index(URL))
    assert there.name == URL
    assert files(local_index(URL)) == store()
    assert built(URL).was_there
    assert ir.open_index(URL).verify() == len(store())  # type: ignore[attr-defined]


def test_a_pickled_index_is_opened_from_its_url(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pickle.dumps(built(URL))
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(home / "another machine"))
    assert rows(pickle.loads(packed)) == rows(ir.open_index(URL))
    assert str(pickle.loads(packed).folder).startswith(str(home / "another machine"))


def test_only_the_wanted_shards_are_copied(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(URL).add(data(20, 25, "second"), progress=False).add(
        data(25, 30, "third"), progress=False
    )
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(home / "worker"))
    folder = local_index(URL, [1])
    names = [entry.name for entry in Manifest.read(folder).shards]
    assert len(names) == 3
    assert [path.name for path in (folder / "shards").iterdir()] == [names[1]]
    assert local_index(URL, [2]) == folder
    assert {path.name for path in (folder / "shards").iterdir()} == set(names[1:])
    assert local_index(home / "a folder", [1]) == home / "a folder"


def test_a_changed_manifest_makes_only_new_shards_come(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(URL)
    first, second = home / "first machine", home / "second machine"
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(second))
    old = local_index(URL)
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(first))
    ir.open_index(URL).add(data(20, 30, "second"))
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(second))
    copied: list[str] = []
    download = remote.download

    def spied(url: str, *rest: Any) -> None:
        copied.append(url)
        download(url, *rest)

    monkeypatch.setattr(remote, "download", spied)
    names = [entry.name for entry in Manifest.read(local_index(URL)).shards]
    assert {url.split("/")[-2] for url in copied} == {names[1]}
    assert local_index(URL) == old
    assert len(ir.open_index(URL)) == 30


def test_a_damaged_copy_is_made_again_and_a_damaged_index_refused(home: Path) -> None:
    whole = rows(built(URL))
    folder = local_index(URL)
    (next((folder / "shards").iterdir()) / "lengths.npy").write_bytes(b"")
    assert rows(ir.open_index(URL)) == whole
    name = next(name for name in store() if name.endswith("lengths.npy"))
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe_file(f"{URL}/{name}", bytes(len(store()[name])))
    with pytest.raises(InputError, match=r"lengths\.npy: damaged: its bytes are not what"):
        ir.open_index(URL).verify()  # type: ignore[attr-defined]


def test_an_interrupted_upload_continues_and_shows_nothing_before(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, done = remote.put, []

    def failing(local: Path, url: str) -> None:
        if len(done) == 5:
            raise InputError("cannot write: its server does not answer", file=url)
        done.append(url)
        put(local, url)

    monkeypatch.setattr(remote, "put", failing)
    with pytest.raises(InputError, match=r"does not answer .the same command continues"):
        built(URL)
    with pytest.raises(InputError, match="is not an index"):
        ir.open_index(URL)
    assert len(store()) == 5
    again: list[str] = []
    monkeypatch.setattr(remote, "put", lambda local, url: (again.append(url), put(local, url)))
    built(URL)
    assert not set(again) & set(done)
    assert again[-1] == f"{URL}/{NAME}"
    built(home / "here")
    assert store() == files(home / "here")


def changed_twice(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes the index while another machine changes it."""
    with changing(URL) as folder:
        monkeypatch.setenv("IRTOOLKIT_CACHE", str(home / "another machine"))
        ir.open_index(URL).delete(["d1"])  # type: ignore[attr-defined]
        monkeypatch.setenv("IRTOOLKIT_CACHE", str(home / "cache"))
        changes.delete(folder, ["d2"])


def test_two_writers_do_not_mix(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(URL)
    with pytest.raises(InputError, match="was changed by another process"):
        changed_twice(home, monkeypatch)
    assert len(ir.open_index(URL)) == 19
    assert "d2" in dict(rows(ir.open_index(URL)))
    # What was left is of another state, and not used.
    assert "d1" not in dict(rows(ir.open_index(URL).delete(["d3"])))  # type: ignore[attr-defined]
    with (
        changing(URL),
        pytest.raises(InputError, match="another process is writing"),
        changing(URL),
    ):
        pass


def test_a_reader_in_the_middle_of_an_upload_sees_the_index_before(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(URL)
    index, put, seen = ir.open_index(URL), remote.put, []

    def reading(local: Path, url: str) -> None:
        put(local, url)
        seen.append(len(ir.open_index(URL)))

    monkeypatch.setattr(remote, "put", reading)
    added = index.add(data(20, 30, "second"), progress=False)  # type: ignore[attr-defined]
    assert set(seen[:-1]) == {20}
    assert len(added) == len(ir.open_index(URL)) == 30


def test_a_reader_in_the_middle_of_a_change_does_not_undo_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(URL)
    with changing(URL) as folder:
        changes.delete(folder, ["d3"])
        assert len(ir.open_index(URL)) == 19
    assert len(ir.open_index(URL)) == 19
    write = Manifest.write

    def read_then(self: Manifest, folder: Path, name: str = NAME) -> None:
        write(self, folder, name)
        ir.open_index(URL)

    monkeypatch.setattr(Manifest, "write", read_then)
    ir.open_index(URL).add(data(20, 30, "second"), progress=False)  # type: ignore[attr-defined]
    assert len(ir.open_index(URL)) == 29
    replaced = ir.index(data(20, 30, "second"), path=URL, replace=True, progress=False)
    assert len(replaced) == len(ir.open_index(URL)) == 10


def test_an_index_that_is_open_shows_what_it_was_though_this_machine_changes_it(home: Path) -> None:
    before = rows(built(URL))
    opened, searched_later = ir.open_index(URL), ir.open_index(URL)
    opened.delete(["d3"]).merge()  # type: ignore[attr-defined]
    ir.index(data(20, 30, "second"), path=URL, replace=True, progress=False)
    assert rows(searched_later) == before
    assert len(ir.open_index(URL)) == 10


def test_the_copy_of_an_index_that_is_gone_is_replaced(home: Path) -> None:
    import fsspec

    built(URL)
    fsspec.filesystem("memory").rm("/store", recursive=True)
    assert len(ir.index(data(20, 30, "second"), path=URL, progress=False)) == 10
    assert {hit.doc_id for hit in ir.open_index(URL).search("whale", k=30)} == set(list(DOCS)[20:])


def test_a_copy_whose_index_is_gone_gives_no_setting_or_document_to_the_next() -> None:
    import fsspec

    def again(system: str, **settings: Any) -> StoredIndex:
        fsspec.filesystem("memory").rm("/store", recursive=True)
        index = ir.index(data(0, 20), system, URL, progress=False, **settings)
        assert isinstance(index, StoredIndex)
        assert not index.was_there
        return index

    built(URL)
    assert again("bm25", k1=2.0).manifest.parameters["k1"] == 2.0
    assert ir.open_index(URL).settings()["k1"] == 2.0  # type: ignore[attr-defined]
    assert again("ql").manifest.retriever == "ql"
    assert again("ql", stem="none").manifest.parameters["stem"] == "none"
    for change in (
        lambda index: index.delete(["d3"]),
        lambda index: index.delete(["d3"]).merge(),
        lambda index: index.add(data(20, 30, "second"), progress=False),
    ):
        change(again("bm25"))
        assert len(again("bm25")) == 20
    whole = rows(ir.open_index(URL))
    next((local_index(URL) / "shards").rglob("lengths.npy")).write_bytes(b"")
    assert rows(again("bm25")) == whole


def test_other_indexes_and_other_files_are_refused(home: Path) -> None:
    built(URL)
    with pytest.raises(InputError, match=rf"the index {URL} holds other documents: first"):
        ir.index(data(20, 30, "second"), path=URL)
    with pytest.raises(InputError, match=rf"the index {URL} was built with"):
        ir.index(data(0, 20), path=URL, stem="none")
    replaced = ir.index(data(20, 30, "second"), path=URL, replace=True, progress=False)
    assert len(replaced) == 10
    assert len([name for name in store() if name.endswith("shard.json")]) == 1
    import fsspec

    fsspec.filesystem("memory").pipe_file("memory://store/full/notes.txt", b"mine")
    with pytest.raises(InputError, match=r"holds notes.txt, which is no part of an index"):
        built("memory://store/full")
    with pytest.raises(InputError, match="memory://store/none is not an index"):
        ir.open_index("memory://store/none")
    with pytest.raises(InputError, match="is not an index"):
        put_index(home / "nothing", URL, "")

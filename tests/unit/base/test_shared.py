"""A cache that machines share, in fsspec's memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtoolkit as ir
from irtoolkit.base import remote, shared
from irtoolkit.base.errors import InputError
from irtoolkit.base.home import cache_home, shared_cache
from irtoolkit.models.shards import key_of, write_shard
from irtoolkit.models.store import Store
from irtoolkit.retrievers.stored_index import StoredIndex

fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")

KEYS = [key_of(text) for text in ("a", "b")]
Machine = Callable[[str], None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Makes this process that of a machine, which has its own cache before the shared one."""
    monkeypatch.setenv("IRTOOLKIT_CACHE", "memory://cache")
    monkeypatch.setattr(shared, "_warned", set())

    def at(name: str) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))

    at("first")
    yield at
    fsspec.filesystem("memory").store.clear()
    fsspec.filesystem("memory").pseudo_dirs[:] = [""]


def filled(store: Store) -> None:
    outputs = [(np.arange(3, dtype=np.float32) + number,) for number in range(2)]
    store.add(write_shard(store.folder, KEYS, np.ones(2, np.int64), outputs))


def test_the_cache_of_a_machine_is_in_front_of_the_shared_one(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_home() == tmp_path / "first" / "irtoolkit"
    assert shared_cache() == "memory://cache"
    assert shared.shared_place(cache_home() / "vectors" / "m") == "memory://cache/vectors/m"
    assert shared.shared_place(tmp_path / "elsewhere") is None
    monkeypatch.setenv("IRTOOLKIT_CACHE", f"file://{tmp_path}/here")
    assert cache_home() == tmp_path / "here"
    assert shared_cache() is None


def test_vectors_of_one_machine_are_found_by_another(machine: Machine) -> None:
    filled(Store(cache_home() / "vectors" / "m"))
    machine("second")
    store = Store(cache_home() / "vectors" / "m")
    assert store.has(KEYS) == [True, True]
    assert store.rows(KEYS).vectors().tolist() == [[0, 1, 2], [1, 2, 3]]
    assert not list(store.folder.glob(".*"))


def test_an_index_of_one_machine_is_found_by_another(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> Any:
        index = ir.index("csfcube/sample", progress=False)
        assert isinstance(index, StoredIndex)
        return index, [(hit.doc_id, hit.score) for hit in index.search("parsing", k=5)]

    made, hits = found()
    assert not made.was_there
    machine("second")
    other, same = found()
    assert other.was_there
    assert same == hits
    assert other.name.startswith("memory://cache/indexes/")
    machine("first")
    assert found()[0].folder == made.folder


def test_a_shared_cache_that_may_not_be_written_is_read(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(local: Path, url: str) -> None:
        raise InputError("cannot write: no permission (403)", file=url)

    monkeypatch.setattr(remote, "put", refused)
    with caplog.at_level(logging.WARNING):
        for name in ("m", "n"):
            store = Store(cache_home() / "vectors" / name)
            filled(store)
            assert store.has(KEYS) == [True, True]
        assert len(ir.index("csfcube/sample", progress=False)) == 48
    said = [line for line in caplog.messages if "this machine keeps what it makes" in line]
    assert said == [
        "memory://cache: cannot write: no permission (403): this machine keeps what it makes"
    ]


def test_a_shared_cache_that_cannot_be_read_is_an_error(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", "nothing://cache")
    with pytest.raises(InputError, match="no protocol nothing://"):
        Store(cache_home() / "vectors" / "m")

"""Indexes in the cache, which several processes may build at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.indexes import manifest
from irtoolkit.indexes.writer import writing
from irtoolkit.ranking.build_index import build, kept_folder
from irtoolkit.ranking.systems import find_system


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))


def test_several_that_want_one_index_of_the_cache_wait_for_it() -> None:
    together = Barrier(4)

    def one(_: int) -> int:
        data, system = Dataset.load("csfcube/sample"), find_system("bm25", {})
        together.wait()
        return len(build(data, system, progress=False))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(4))) == [48] * 4
    assert kept_folder(Dataset.load("csfcube/sample"), find_system("bm25", {})).is_dir()


def test_an_index_of_ones_own_that_another_writes_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    data, system = Dataset.load("csfcube/sample"), find_system("bm25", {})
    build(data, system, folder, progress=False)
    with writing(folder), pytest.raises(InputError, match="another process is writing"):
        build(data, system, folder, progress=False, replace=True)


def test_versions_with_indexes_of_different_formats_share_a_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, system = Dataset.load("csfcube/sample"), find_system("bm25", {})
    ours = build(data, system, progress=False).folder
    with monkeypatch.context() as later:
        later.setattr(manifest, "FORMAT", manifest.FORMAT + 1)
        theirs = build(data, system, progress=False).folder
    assert theirs != ours
    assert build(data, system, progress=False).folder == ours

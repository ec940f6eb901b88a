"""Indexes that workers build: runs of a local build, and the same bytes whatever was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.engines.engine import using
from irtoolkit.indexes.parallel import cut, ranges
from irtoolkit.indexes.writer import DocumentBlock
from irtoolkit.ranking import build_index
from irtoolkit.ranking.systems import find_system
from irtoolkit.retrievers import index_sources
from irtoolkit.retrievers.stored_index import StoredIndex
from tests.property.indexes.test_spread import DOCS, Sent, ranking

MEMORY = 1 << 30


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(index_sources, "_READ_DOCS", 10)
    monkeypatch.setattr(index_sources, "BLOCK_DOCS", 10)


class Failing(Sent):
    """Workers of which none is left after some pieces of work."""

    def __init__(self, workers: int, after: int) -> None:
        super().__init__(workers)
        self._left = after

    def map(
        self,
        work: Callable[[Any], Any],
        items: Iterable[Any],
        *,
        gpus: float = 0.0,
        together: bool = False,
    ) -> Iterator[Any]:
        for result in super().map(work, items):
            if not self._left:
                raise KeyboardInterrupt
            self._left -= 1
            yield result


def built(folder: Path, docs: Any = DOCS, *, memory: int = MEMORY, **settings: Any) -> StoredIndex:
    data, system = ir.load(docs, name="docs"), find_system(settings.pop("system", "bm25"), settings)
    return build_index.build(data, system, folder, memory=memory, progress=False)


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "lock"
    }  # fmt: skip


@pytest.mark.parametrize("memory", [1, MEMORY])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_interrupted_build_continues_to_the_same_bytes(
    after: int, memory: int, tmp_path: Path
) -> None:
    with using(Sent(3)):
        wanted = content(built(tmp_path / "whole", memory=memory).folder)
    with using(Failing(3, after)), pytest.raises(KeyboardInterrupt):
        built(tmp_path / "index", memory=memory)
    with pytest.raises(InputError, match=r"no documents|is not complete|is not an index"):
        StoredIndex(tmp_path / "index")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*.npy")}
    with using(Sent(3)):
        index = built(tmp_path / "index", memory=memory)
    assert content(index.folder) == wanted
    # What was written is not written again.
    assert before
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


def test_a_build_that_other_workers_continue(tmp_path: Path) -> None:
    expected = ranking(built(tmp_path / "local"), 50)
    with using(Failing(4, 2)), pytest.raises(KeyboardInterrupt):
        built(tmp_path / "index")
    with using(Failing(3, 1)), pytest.raises(KeyboardInterrupt):
        built(tmp_path / "index")
    index = built(tmp_path / "index")
    assert ranking(index, 50) == expected
    assert not list((tmp_path / "index" / "shards").glob(".*"))


def test_documents_that_are_added_and_those_that_are_there(tmp_path: Path) -> None:
    names = list(DOCS)
    first, rest = ({name: DOCS[name] for name in own} for own in (names[:60], names[60:]))
    expected = ranking(built(tmp_path / "local"), 50)
    with using(Sent(3)):
        index = built(tmp_path / "index", first).add(rest, progress=False)
        assert ranking(index, 50) == expected
        before = content(index.folder)
        with pytest.raises(InputError, match=f"document {names[7]} is in the index .* already"):
            index.add({"new": "a", **{f"x{n}": "b" for n in range(40)}, names[7]: "c"})
        assert content(index.folder) == before
        assert ranking(index.reopened(), 50) == expected


def test_an_id_twice_in_two_ranges_is_refused_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def twins(data: Any, view: str, start: int, size: int) -> Iterator[Any]:
        ids = [f"d{number}" for number in range(len(DOCS))]
        ids[-1] = ids[3]
        for first in range(start, len(ids), size):
            own = ids[first : first + size]
            yield own, [("a",) for _ in own]

    monkeypatch.setattr(index_sources, "text_batches", twins)
    with using(Sent(3)), pytest.raises(InputError, match=r"^document d3 occurs twice"):
        built(tmp_path / "index")
    assert not (tmp_path / "index").exists()


@given(
    done=st.integers(0, 300), total=st.integers(0, 300), workers=st.integers(1, 9),
    block=st.integers(1, 50),
)  # fmt: skip
def test_ranges_are_all_documents_that_are_not_done(
    done: int, total: int, workers: int, block: int
) -> None:
    plan = ranges(done, total, workers, block)
    ends = [total if end is None else end for _, end in plan]
    taken = [
        number for (first, _), end in zip(plan, ends, strict=True) for number in range(first, end)
    ]
    assert taken == list(range(done, total))
    assert all(first % block == 0 for first, _ in plan[1:])
    assert len(plan) <= workers + (done > 0)


@given(first=st.integers(0, 40), last=st.integers(0, 40), block=st.integers(1, 9))
def test_a_range_is_cut_from_blocks(first: int, last: int, block: int) -> None:
    def blocks(start: int) -> Iterator[DocumentBlock]:
        for at in range(start, 30, block):
            own = range(at, min(30, at + block))
            yield DocumentBlock([str(number) for number in own], [(str(number),) for number in own])

    for end in (max(first, last), None):
        found = [doc for part in cut(blocks, (first, end)) for doc in part.ids]
        stop = 30 if end is None else min(30, end)
        assert found == [str(number) for number in range(first, stop)]

"""Places in any books: ids of passages and what they hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.spans import Span
from irtoolkit.datasets.books import Book
from irtoolkit.datasets.plotretrieval_release import chunked
from tests.unit.datasets.test_books import SAMPLES, Place


def places(book: Book) -> list[Place]:
    return [(int(s), length) for length, starts in book.starts.items() for s in starts]


@given(st.integers(1, 25), st.integers(1, 5), st.data())
def test_chunks_divide_the_book(count: int, size: int, data: st.DataObject) -> None:
    cut = st.integers(0, count - 1).flatmap(
        lambda start: st.integers(1, count - start).map(lambda length: Span("b", start, length))
    )
    golds = data.draw(st.lists(cut, max_size=4))
    pairs = [(gold.start, gold.length) for gold in golds]
    book = chunked("b", tuple(map(str, range(count))), pairs, size)
    regular = [(start, min(size, count - start)) for start in range(0, count, size)]
    assert sorted(places(book)) == sorted({*regular, *((g.start, g.length) for g in golds)})
    assert all((np.diff(starts) > 0).all() for starts in book.starts.values())


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of both samples standing where real releases are looked for."""
    for name in ("relic", "plotretrieval"):
        shutil.copytree(SAMPLES / name, tmp_path / "data" / name)
    monkeypatch.setenv("IRTOOLKIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    return tmp_path / "data"

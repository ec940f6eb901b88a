"""Places in any books: ids of passages and what they hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.spans import Span
from irtoolkit.datasets.books import Book, Passages
from irtoolkit.datasets.plotretrieval_release import chunked
from tests.unit.datasets.test_books import SAMPLES, Place, middle, share


@st.composite
def some_books(draw: st.DrawFn) -> Book:
    count = draw(st.integers(0, 15))
    sentences = tuple(f" s{i} " for i in range(count))
    starts = {}
    for length in draw(st.lists(st.integers(1, 6), unique=True, max_size=4)):
        room = range(max(0, count - length + 1))
        some = draw(st.sets(st.sampled_from(room))) if room else set()
        starts[length] = np.array(sorted(some), dtype=np.int64)
    return Book(draw(st.sampled_from(["b", "a:1+1", "книга"])), sentences, starts)


def places(book: Book) -> list[Place]:
    return [(int(s), length) for length, starts in book.starts.items() for s in starts]


@given(some_books())
def test_has(book: Book) -> None:
    known = set(places(book))
    for start in range(-2, 18):
        for length in range(8):
            assert book.has(start, length) == ((start, length) in known)
    assert not book.has(10**30, 1)


@given(some_books(), st.integers(0, 12), st.integers(1, 5), st.integers(1, 7))
def test_near(book: Book, start: int, length: int, window: int) -> None:
    at = middle(start, length)
    found = book.near(Span(book.name, start, length), window)
    near = {(s, n) for s, n in places(book) if abs(middle(s, n) - at) < window}
    assert len(found) == len(near)
    assert {(span.start, span.length) for span in found} == near
    assert {span.book for span in found} <= {book.name}


@given(some_books(), st.integers(0, 12), st.integers(1, 5))
def test_overlapping(book: Book, start: int, length: int) -> None:
    found = book.overlapping(Span(book.name, start, length))
    expected = {p for p in places(book) if share(p, (start, length))}
    assert len(found) == len(expected)
    assert {(span.start, span.length) for span in found} == expected
    assert {span.book for span in found} <= {book.name}


@st.composite
def libraries(draw: st.DrawFn) -> dict[str, Book]:
    found = draw(st.lists(some_books(), max_size=3, unique_by=lambda book: book.name))
    return {book.name: book for book in found}


def listed(library: dict[str, Book]) -> list[str]:
    return [f"{book.name}:{s}+{n}" for book in library.values() for s, n in places(book)]


@given(libraries())
def test_passages_are_a_mapping(library: dict[str, Book]) -> None:
    passages, ids = Passages(library), listed(library)
    assert len(passages) == len(ids)
    assert list(passages) == list(passages.keys()) == ids
    assert [passage.doc_id for passage in passages.values()] == ids
    for doc_id in ids:
        name, _, where = doc_id.rpartition(":")
        start, length = map(int, where.split("+"))
        parts = tuple(f"s{i}" for i in range(start, start + length))
        assert tuple(passages[doc_id]) == (doc_id, " ".join(parts), name, start, length, parts)
        assert doc_id in passages


@given(libraries(), st.data())
def test_values_are_a_sequence(library: dict[str, Book], data: st.DataObject) -> None:
    values, expected = Passages(library).values(), listed(library)
    for _ in range(2):  # a slice of a slice is the same kind of thing
        assert len(values) == len(expected)
        assert [passage.doc_id for passage in values] == expected
        for i in range(-len(expected), len(expected)):
            assert values[i].doc_id == expected[i]
        for i in (len(expected), -len(expected) - 1):
            with pytest.raises(IndexError):
                values[i]
        part = data.draw(st.slices(len(expected)))
        values, expected = values[part], expected[part]


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

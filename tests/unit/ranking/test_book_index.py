"""Books are searched for passages that do not overlap, from Python and from the shell."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import ir_datasets
import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.base.spans import Span
from irtoolkit.datasets.book_files import book_files, is_book, read_books
from irtoolkit.datasets.novels import slug
from irtoolkit.ranking.book_index import BookIndex
from irtoolkit.ranking.book_search import BookSearch
from tests.conftest import Answer

FIRST = [
    "A ship sails to the island.", "The captain dreams of a lighthouse.", "Nobody sees the storm.",
    "A whale swims beside the ship.", "The ship is lost.", "The whale sings.", "It rains.",
]  # fmt: skip
SECOND = ["The baker has a whale of a cake.", "His sister laughs.", "They eat it all."]
BOOK = "Chapter 1\n\n" + " ".join(FIRST) + "\n\nChapter 2\n\n" + " ".join(SECOND) + "\n"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text(BOOK, "utf-8")
    return path


# -- Python --------------------------------------------------------------------------------------


def test_a_book_is_searched_with_places(book: Path) -> None:
    index = ir.index(book, "bm25")
    assert isinstance(index, BookIndex)
    assert len(index) == len(FIRST) + len(SECOND) - 2
    found = index.search("whale cake", k=1)
    assert Span.parse(found[0].doc_id).start == len(FIRST) - 2
    found = index.search("baker", k=5)
    (hit,) = found
    place = index.place(hit.doc_id)
    assert (place.chapter, place.number) == ("Chapter 2", 2) or place.number == 1
    assert hit.text[slice(*hit.matches[0])] == "baker"


def test_hits_share_no_sentence(book: Path) -> None:
    for system, sentences in product(("bm25", "words"), (1, 2, 3, 4)):
        found = ir.index(book, system, sentences=sentences).search("the ship and the whale", k=10)
        own = [set(range(s.start, s.stop)) for s in map(Span.parse, found.doc_ids)]
        assert sum(map(len, own)) == len(set().union(*own))
        assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
        assert found.scores == sorted(found.scores, reverse=True)


def test_as_many_hits_as_there_are_apart(book: Path) -> None:
    """Near-copies above them do not use up the number that was asked for."""
    path = book.with_name("long.txt")
    path.write_text(" ".join(f"The whale number {n} swims away." for n in range(60)), "utf-8")
    for system in ("bm25", "words"):
        assert len(ir.index(path, system, sentences=3).search("whale", k=12)) == 12


def test_a_system_that_keeps_no_index_searches_books_in_memory(
    irtoolkit: Callable[..., Answer], book: Path
) -> None:
    index = ir.index(book, "best", sentences=2)
    assert isinstance(index, BookIndex)
    found = index.search("whale cake", k=3)
    own = [set(range(s.start, s.stop)) for s in map(Span.parse, found.doc_ids)]
    assert sum(map(len, own)) == len(set().union(*own))
    assert index.place(found[0].doc_id).sentence == 7
    answer = irtoolkit(
        "search", book, "whale cake", "--system", "best", "--sentences", "2", "-k", "3",
        "--format", "json",
    )  # fmt: skip
    assert [hit["id"] for hit in json.loads(answer.out)["hits"]] == found.doc_ids


def test_a_book_is_a_dataset(book: Path) -> None:
    data = ir.load(str(book), sentences=2)
    assert [doc.length for doc in data.docs_iter()] == [2] * (len(FIRST) + len(SECOND) - 1)
    assert next(iter(data.docs_iter())).text == " ".join(FIRST[:2])
    with pytest.raises(InputError, match="sentences go with books"):
        ir.load("csfcube/sample", sentences=2)


def test_an_index_of_a_book_is_found_again(book: Path) -> None:
    first = ir.index(book, "words")
    other = book.with_name("copy") / "novel.txt"
    other.parent.mkdir()
    other.write_text(BOOK, "utf-8")
    again = ir.index(other, "words")
    assert isinstance(first, BookSearch)
    assert isinstance(again, BookSearch)
    assert again.kept.was_there
    other.write_text(BOOK.replace("whale", "shark"), "utf-8")
    assert len(ir.index(other, "words").search("shark")) > 0


def test_settings_of_the_search_change(book: Path) -> None:
    index = ir.index(book, "bm25")
    other = index.with_settings(k1=2.0)
    assert other.settings()["k1"] == 2.0
    assert isinstance(other, BookIndex)
    assert other.place(other.search("baker").doc_ids[0]) is not None
    assert ir.index(book, k1=2.0).searched_by == "bm25"
    with pytest.raises(InputError, match="words has no setting k1"):
        ir.index(book, "words", k1=2.0)


def test_books_of_a_folder(book: Path) -> None:
    (book.parent / "second.txt").write_text(" ".join(SECOND), "utf-8")
    assert is_book(book.parent)
    assert [Path(path).name for path in book_files([book.parent])] == ["novel.txt", "second.txt"]
    index = ir.index(book.parent, "words", sentences=3)
    assert isinstance(index, BookSearch)
    assert set(index.books) == {"novel", "second"}
    assert {Span.parse(name).book for name in index.search("baker").doc_ids} == {"novel", "second"}
    (book.parent / "data.jsonl").write_text("{}\n")
    assert is_book(book.parent)
    (book.parent / "data.jsonl").write_text('{"id": "1", "text": "a document"}\n')
    assert not is_book(book.parent)


def test_books_of_one_name_get_their_folders(book: Path) -> None:
    other = book.parent / "more" / "novel.txt"
    other.parent.mkdir()
    other.write_text(" ".join(SECOND), "utf-8")
    names = [novel.name for novel in read_books([book, other])]
    assert names == [f"{slug(book.parent.name)}_novel", "more_novel"]


@pytest.mark.nightly
def test_a_book_at_a_url(book: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    with fsspec.open("memory://shelf/novel.txt", "wb") as out:
        out.write(book.read_bytes())
    index = ir.index("memory://shelf/novel.txt")
    assert index.search("baker").doc_ids == ir.index(book).search("baker").doc_ids


def test_a_strange_passage_has_no_place(book: Path) -> None:
    with pytest.raises(InputError, match="of none of the books novel"):
        ir.index(book).place("emma:1+3")  # type: ignore[attr-defined]


# -- the shell -----------------------------------------------------------------------------------


def test_the_shell_shows_place_passage_and_words(
    irtoolkit: Callable[..., Answer], book: Path
) -> None:
    answer = irtoolkit("search", book, "a dream of a whale", "-k", "2")
    assert answer.status == 0, answer.err
    assert "passages of 8 sentences, ranked by" in answer.err
    assert "irtoolkit" not in answer.err
    head, place, *_, words = answer.out.splitlines()
    assert head.split()[2].startswith("novel:")
    assert place.strip().startswith("Chapter ")
    assert place.endswith("%")
    assert words.strip() == "[whale]" or "whale" in answer.out
    assert all(len(line) <= 100 for line in answer.out.splitlines())


def test_several_books_and_the_number_of_sentences(
    irtoolkit: Callable[..., Answer], book: Path
) -> None:
    second = book.with_name("second.txt")
    second.write_text(" ".join(SECOND), "utf-8")
    for flag in ("--sentences", "--length"):
        answer = irtoolkit("search", book, second, "baker", flag, "2", "--format", "json")
        hits = json.loads(answer.out)["hits"]
        assert {hit["book"] for hit in hits} == {"novel", "second"}
        assert all(hit["id"].endswith("+2") for hit in hits)
        assert hits[0]["matches"] == ["baker"]


def test_a_registered_book_is_searched_with_places(
    irtoolkit: Callable[..., Answer], book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    assert irtoolkit("register", "mine", book, "--sentences", "2").status == 0
    by_name = irtoolkit("search", "mine", "whale")
    assert by_name.out == irtoolkit("search", book, "whale", "--sentences", "2").out
    assert "Chapter 1 · at" in by_name.out
    for flag in ("--sentences", "--length"):
        longer = irtoolkit("search", "mine", "whale", flag, "3")
        assert longer.out == irtoolkit("search", book, "whale", "--sentences", "3").out
        assert longer.out != by_name.out
    twice = irtoolkit("search", "mine", "whale", "--sentences", "3", "--length", "3")
    assert (twice.status, "--length 3 and --sentences 3 are both given" in twice.err) == (2, True)
    book.write_text(BOOK + "One more sentence of a whale.\n", "utf-8")
    changed = irtoolkit("search", "mine", "whale")
    assert (changed.status, changed.out) == (2, "")
    assert "has changed since mine was registered" in changed.err
    assert irtoolkit("register", "--remove", "mine").status == 0


def test_what_is_no_book_is_said(irtoolkit: Callable[..., Answer], tmp_path: Path) -> None:
    assert "no such file" in irtoolkit("search", tmp_path / "absent.txt", "a").err
    assert "no such file" in irtoolkit("retrieve", "absent.txt", "bm25", "-o", tmp_path / "r").err
    answer = irtoolkit("search", "csfcube/sample", "neural", "networks")
    assert 'write a text in quotes: "neural networks"' in answer.err
    answer = irtoolkit("search", "csfcube/sample", "neural", "--sentences", "2")
    assert "--sentences goes with books" in answer.err


def test_a_book_is_registered(
    irtoolkit: Callable[..., Answer], book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(book.parent / "home"))
    try:
        answer = irtoolkit("register", "a-novel", book, "--sentences", "2")
        assert answer.status == 0, answer.err
        assert "plain text, passages of 2 sentences" in answer.err
        docs = list(ir_datasets.load("a-novel").docs_iter())
        assert docs[0].doc_id == "novel:0+2"
        assert docs[0].text == " ".join(FIRST[:2])
        assert ir.load("a-novel").lang == "en"
        answer = irtoolkit("register", "a-novel", "--replace")
        assert "unchanged" in answer.err or "passages of 2 sentences" in answer.err
    finally:
        irtoolkit("register", "--remove", "a-novel")
    answer = irtoolkit("register", "a-novel", book, "--sentences", "21")
    assert "passages have 1 to 20 sentences" in answer.err

"""Novels: header, chapters, sentences, passages with their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import irtoolkit as ir
from irtoolkit.base.errors import InputError
from irtoolkit.datasets.book_files import novel_dataset
from irtoolkit.datasets.editions.edition import decoded
from irtoolkit.datasets.novels import novel_of, read_novel

NOVEL = """The Project Gutenberg eBook of The Lamp
Title: The Lamp
Author: A. Writer
Language: English
*** START OF THE PROJECT GUTENBERG EBOOK THE LAMP ***

Produced by somebody

CONTENTS

CHAPTER I. The Oil
CHAPTER II. The Wick
CHAPTER III. The Glass

BOOK THE FIRST

CHAPTER I.

THE OIL

The lamp stood on the
table. Nobody _ever_ lit it.

"Why not?" said Ann.

CHAPTER II. The Wick

It burned at last.

*** END OF THE PROJECT GUTENBERG EBOOK THE LAMP ***
Licence.
"""


def test_a_book_without_header_has_sentences_chapters_and_places() -> None:
    novel = novel_of(NOVEL.encode(), "file")
    assert (novel.title, novel.author, novel.lang, novel.name) == ("The Lamp", "A. Writer", "en", "file")  # fmt: skip
    assert novel.sentences == [
        "The lamp stood on the table.", "Nobody ever lit it.", '"Why not?" said Ann.',
        "It burned at last.",
    ]  # fmt: skip
    assert [chapter.title for chapter in novel.chapters] == [
        "BOOK THE FIRST \u00b7 CHAPTER I. THE OIL", "BOOK THE FIRST \u00b7 CHAPTER II. The Wick",
    ]  # fmt: skip
    assert list(novel.paragraphs) == [0, 2, 3]
    place = novel.place(3)
    assert (place.number, place.sentence, place.share) == (2, 1, 0.75)


def test_chinese_paragraphs_are_joined_without_spaces() -> None:
    novel = novel_of("\u3000\u3000\u4ed6\u6765\n\u4e86\u3002\n\u3000\u3000\u5979\u8d70\u4e86\u3002\n".encode(), "x")  # fmt: skip
    assert list(novel.sentences) == ["\u4ed6\u6765\u4e86\u3002", "\u5979\u8d70\u4e86\u3002"]
    assert (novel.lang, list(novel.paragraphs), novel.words) == ("zh", [0, 1], 6)


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        ("Gr\u00fc\u00dfe aus K\u00f6ln.", "utf-8-sig", "utf-8"),
        ("Gr\u00fc\u00dfe aus K\u00f6ln.", "utf-16", "utf-16"),
        ("Gr\u00fc\u00dfe aus K\u00f6ln.", "latin-1", "windows-1252"),
        ("\u8bdd\u8bf4\u5929\u4e0b\u5927\u52bf\uff0c\u5206\u4e45\u5fc5\u5408\u3002", "gb18030", "gb18030"),
    ],
)  # fmt: skip
def test_encodings_are_recognised(text: str, encoding: str, name: str) -> None:
    assert decoded(text.encode(encoding)) == (text, name)


@pytest.mark.parametrize("data", [b"", b" \n\n", b"\x7fELF\0\0", b"\xff\xfe\x00", b"CHAPTER I\n"])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        novel_of(data, "x")


def test_an_error_names_the_file(tmp_path: Path, write: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match=r"x\.txt: .*zero bytes"):
        read_novel(write("x.txt", b"a\0b"))
    with pytest.raises(InputError, match="no such file"):
        read_novel(tmp_path / "none.txt")


def test_passages_are_documents_that_an_index_is_kept_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRTOOLKIT_CACHE", str(tmp_path))
    novel = novel_of(NOVEL.encode(), "The Lamp")
    data = novel_dataset(novel, 2)
    assert [doc.doc_id for doc in data.docs_iter()] == ["the_lamp:0+2", "the_lamp:1+2", "the_lamp:2+2"]  # fmt: skip
    index = ir.index(data, "bm25")
    assert index.search("who lit the lamp on the table", 1).doc_ids == ["the_lamp:0+2"]
    assert ir.index(novel_dataset(novel_of(NOVEL.encode(), "The Lamp"), 2), "bm25").was_there  # type: ignore[attr-defined]
    assert not ir.index(novel_dataset(novel, 1), "bm25").was_there  # type: ignore[attr-defined]


def test_a_passage_is_at_most_the_book_and_lengths_are_checked() -> None:
    novel = novel_of(b"One. Two.", "x")
    assert [doc.doc_id for doc in novel_dataset(novel, 5).docs_iter()] == ["x:0+2"]
    for length in (0, 21):
        with pytest.raises(InputError, match="sentences"):
            novel_dataset(novel, length)
    with pytest.raises(InputError, match="two books"):
        novel_dataset([novel, novel])

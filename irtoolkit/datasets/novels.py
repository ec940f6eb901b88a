"""A novel: sentences, chapters, and passages of a few sentences as a dataset.

    novel = read_novel("emma.txt")
    data = novel_dataset(novel, 3)        # every three consecutive sentences; of `book_files`
    novel.place(120)                      # chapter, sentence in it, share of the book

The id of a passage is `book:start+n`, the first sentence counted from 0, so it stays the same as long
as the text and the rules that split it do.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from irtoolkit.base import sentences as splitting
from irtoolkit.base.errors import InputError, errors_in
from irtoolkit.base.files import StrPath
from irtoolkit.base.languages import EAST, language_of
from irtoolkit.base.plurals import number_of
from irtoolkit.datasets.books import Book
from irtoolkit.datasets.editions import edition as editions
from irtoolkit.datasets.editions.edition import Block, Edition
from irtoolkit.datasets.editions.reading import read_edition, read_edition_file

# Sentences of a passage: by default, and at most.
LENGTH, LONGEST = 3, 20
_LETTER = re.compile(r"[^\W\d_]")
# Marks that end sentences, and how many of them and of empty lines one sentence may have on average.
_ENDS, _ENDS_OF_ONE = ".!?\u2026\u3002\uff01\uff1f", 4
# The number of characters from which the language is detected.
_TELLING = 200_000
# The most characters of a name in an id.
_NAME = 60


class Chapter(NamedTuple):
    """A chapter: its title with that of its part, and its first sentence."""

    title: str
    start: int


class Place(NamedTuple):
    """The position of a sentence.

    Attributes:
        chapter: the title of its chapter; empty if the book has none.
        number: of the chapter, from 1; 0 before the first.
        sentence: its number in the chapter, from 1.
        share: the share of the book's sentences that come before it, from 0 to below 1.
    """

    chapter: str
    number: int
    sentence: int
    share: float


@dataclass(frozen=True)
class Novel:
    """A book in sentences.

    Attributes:
        name: without white space, as in ids of passages.
        title, author: from its header, the title of its web page or its file name; the author may be empty.
        lang: a code, for example en; None if unknown.
        encoding: how its bytes were read.
        sentences: in order.
        paragraphs: the first sentence of each paragraph, ascending.
        chapters: in order.
    """

    name: str
    title: str
    author: str
    lang: str | None
    encoding: str
    sentences: Sequence[str]
    paragraphs: Sequence[int]
    chapters: Sequence[Chapter]

    @property
    def words(self) -> int:
        """The number of words; in Chinese and Japanese, of characters."""
        if self.lang in ("zh", "ja"):
            return sum(len(EAST.findall(sentence)) for sentence in self.sentences)
        return sum(len(sentence.split()) for sentence in self.sentences)

    @cached_property
    def content(self) -> str:
        """A hash of its sentences."""
        digest = hashlib.sha256(f"{splitting.FORMAT} {editions.FORMAT}".encode())
        for sentence in self.sentences:
            digest.update(f"{sentence}\x1e".encode(errors="surrogatepass"))
        return digest.hexdigest()[:40]

    def place(self, sentence: int) -> Place:
        """Returns the position of a sentence, given by its number from 0."""
        number = bisect_right([chapter.start for chapter in self.chapters], sentence)
        chapter = self.chapters[number - 1] if number else Chapter("", 0)
        share = sentence / len(self.sentences)
        return Place(chapter.title, number, sentence - chapter.start + 1, share)

    def book(self, length: int = LENGTH) -> Book:
        """Returns the book with all passages of `length` sentences, at most the whole book.

        Raises:
            InputError: a length that is not between 1 and 20.
        """
        if not 1 <= length <= LONGEST:
            raise InputError(
                f"passages of {number_of(length, 'sentences')}",
                remedy=f"a passage has 1 to {LONGEST}",
            )
        length = min(length, len(self.sentences))
        return Book(
            self.name, self.sentences, {length: np.arange(len(self.sentences) - length + 1)}
        )


def read_novel(path: StrPath, *, name: str | None = None) -> Novel:
    """Reads a novel from a file.

    Args:
        path: plain text, Markdown, EPUB, HTML or TEI; see `novel_of` for its contents.
        name: the beginning of ids of passages; by default the file's name.

    Raises:
        InputError: no such file; or see `novel_of`.
    """
    local_path = Path(path)
    edition = read_edition_file(local_path)
    with errors_in(local_path):
        return novel_of_edition(edition, local_path.stem, name=name)


def novel_of(
    data: bytes, title: str, *, name: str | None = None, most: int | None = None, file: str = ""
) -> Novel:
    """Returns a novel from the bytes of a file: plain text, Markdown, EPUB, HTML or TEI.

    Publishers' headers and footers are cut, except their title, author and language; headings
    become chapters, and the text between them sentences. See `irtoolkit.datasets.editions`.

    Args:
        data: the bytes; text in UTF-8 or an encoding of `encodings.encoding_of`.
        title: its title if its header has none.
        name: the beginning of ids; by default made of `title`.
        most: largest number of sentences.
        file: the name of its file, whose end tells Markdown from plain text.

    Raises:
        InputError: no text; one without a sentence, or in which most sentences have no word; more
            sentences than `most`.
    """
    return novel_of_edition(read_edition(data, file), title, name=name, most=most)


def novel_of_edition(
    edition: Edition, title: str, *, name: str | None = None, most: int | None = None
) -> Novel:
    """Returns the novel of an edition; see `novel_of`."""
    blocks = list(edition.text_blocks())
    if most is not None:
        # Before time and memory are spent on splitting.
        ends = sum(block.text.count(mark) for block in blocks for mark in _ENDS) + len(blocks)
        _check_number(ends // _ENDS_OF_ONE, most)
    lang = edition.lang or language_of(_beginning(blocks))
    sentences, paragraphs, chapters = _divided(blocks, lang)
    if most is not None:
        _check_number(len(sentences), most)
    _check_words(sentences)
    return Novel(
        name or slug(title),
        edition.title or title,
        edition.author,
        lang,
        edition.encoding,
        sentences,
        paragraphs,
        chapters,
    )


def _beginning(blocks: Sequence[Block]) -> str:
    """Returns enough of a text to tell its language."""
    parts, size = [], 0
    for block in blocks:
        parts.append(block.text)
        size += len(block.text)
        if size > _TELLING:
            break
    return "\n".join(parts)


def _check_number(sentences: int, most: int) -> None:
    if sentences > most:
        raise InputError(
            f"there are more than {number_of(most, 'sentences', ',')} in it",
            remedy="divide it into volumes",
        )


def _check_words(sentences: Sequence[str]) -> None:
    """Raises InputError if most sentences have no letter, as in rows of dots or digits."""
    if not sentences:
        raise InputError("there is no sentence in it", remedy="give a text in sentences")
    worded = sum(_LETTER.search(sentence) is not None for sentence in sentences)
    if 2 * worded < len(sentences):
        problem = (
            f"{worded:,} of {number_of(len(sentences), 'sentences', ',')} in it have"
            if worded
            else "no sentence in it has"
        )
        raise InputError(f"{problem} a letter", remedy="give a text in sentences")


def _divided(
    blocks: Sequence[Block], lang: str | None
) -> tuple[list[str], list[int], list[Chapter]]:
    """Returns the sentences of blocks, the first of each paragraph, and the non-empty chapters."""
    sentences: list[str] = []
    paragraphs: list[int] = []
    chapters: list[Chapter] = []
    part, text, empty = "", "", False
    for block in blocks:
        if block.level is None:
            more = splitting.split_sentences(block.text, lang)
            if more:
                paragraphs.append(len(sentences))
                sentences += more
                empty = False
            continue
        if block.level == 0:
            part, text = block.text, ""
        elif block.level == 2 and empty and chapters:
            # A heading directly below another belongs to it.
            text = f"{text}. {block.text}".removeprefix(". ") if text else ""
            part = part if text else f"{part}. {block.text}"
        else:
            text = block.text
        title = _squeezed(" \u00b7 ".join(filter(None, (part, text))))
        if chapters and chapters[-1].start == len(sentences):
            chapters.pop()
        chapters.append(Chapter(title, len(sentences)))
        empty = True
    if chapters and chapters[-1].start == len(sentences):
        chapters.pop()
    return sentences, paragraphs, chapters


def _squeezed(title: str) -> str:
    return re.sub(r"([.:])\.(?= )", r"\1", " ".join(title.split()))


def slug(title: str) -> str:
    """Returns a title as a name: small letters and digits of any script, joined by underscores."""
    plain = unicodedata.normalize("NFKC", title).lower()
    return re.sub(r"\W+", "_", plain).strip("_")[:_NAME].strip("_") or "book"

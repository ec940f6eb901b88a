"""The books of a benchmark: read one by one, divided into sentences, and put on the shelf."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError, errors_in
from irtoolkit.base.files import atomic_text
from irtoolkit.base.progress import tqdm
from irtoolkit.building.pipeline import is_whole, source_line
from irtoolkit.building.relic.shelf import ShelvedBook
from irtoolkit.building.relic.words import Words
from irtoolkit.building.shelves import TextFile, digest
from irtoolkit.datasets.editions.reading import form_of
from irtoolkit.datasets.encodings import check_encoding
from irtoolkit.datasets.novels import novel_of

# The folder of what books are prepared in.
SHELF = ".shelf"
# Two books that share so much of the smaller one's sentences are the same book.
_SAME = 0.5
_CLAUSE = re.compile(r"(?<=[;:\u2026])\s+|(?<=\.\.\.)\s+")


@dataclass(frozen=True)
class ReadBook:
    """A book on the shelf, with facts about its file.

    Attributes:
        shelved: its arrays.
        path: its file.
        title, author, lang, encoding: as in `Novel`.
        content: a hash of its sentences.
        count: number of its sentences.
    """

    shelved: ShelvedBook
    path: str
    title: str
    author: str
    lang: str | None
    encoding: str
    content: str
    count: int

    @property
    def name(self) -> str:
        """As ids of passages have it."""
        return self.shelved.name

    @property
    def source_line(self) -> str:
        """Its line in SOURCES.txt."""
        return source_line(self.name, self.title, self.author, self.path)

    def sentences(self) -> list[str]:
        """Its sentences, read from the shelf."""
        return sentences_of(self.shelved)


def sentences_of(book: ShelvedBook) -> list[str]:
    """Returns the sentences of a book on the shelf."""
    sentences: list[str] = json.loads(_beside(book.folder).read_text("utf-8"))
    return sentences


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")


@contextmanager
def shelf_in(folder: Path) -> Iterator[Path]:
    """Yields the folder for the arrays of books, which is deleted once a build is complete."""
    shelf = folder / SHELF
    try:
        yield shelf
    finally:
        if is_whole(folder):
            shutil.rmtree(shelf, ignore_errors=True)


def read_books(files: Sequence[TextFile], shelf: Path, clauses: bool) -> list[ReadBook]:
    """Reads books and puts them on the shelf; one is in memory at a time.

    Args:
        files: plain text, Markdown, EPUB, HTML or TEI.
        shelf: the folder for their arrays.
        clauses: whether colons, semicolons and ellipses end sentences, as in the paper.

    Raises:
        InputError: a file is not text or damaged; or two are the same book.
    """
    books_read: list[ReadBook] = []
    earlier: list[tuple[TextFile, Any]] = []
    for file in tqdm(files, desc="books", unit="book", leave=False):
        book, hashes = _read(file, shelf, clauses)
        for text_file, others in earlier:
            shared = len(np.intersect1d(hashes, others, assume_unique=True))
            least = min(len(hashes), len(others))
            if least and shared > _SAME * least:
                raise InputError(
                    f"the same book as {text_file.path}: {100 * shared / least:.0f} % of the sentences"
                    " of the shorter one are in both",
                    file=file.path,
                    remedy="leave one of the two out",
                )
        earlier.append((file, hashes))
        books_read.append(book)
    return books_read


def _read(file: TextFile, shelf: Path, clauses: bool) -> tuple[ReadBook, Any]:
    data = file.read()
    with errors_in(file.path):
        if form_of(data) == "text":
            check_encoding(lambda: iter([data]))
        novel = novel_of(data, file.path.stem, name=file.name, file=file.path.name)
    sentences = list(in_clauses(novel.sentences)) if clauses else list(novel.sentences)
    content = digest(*sentences)
    folder = shelf / f"{file.name}-{content[:8]}"
    if not _beside(folder).exists():
        with atomic_text(_beside(folder)) as out:
            json.dump(sentences, out, ensure_ascii=False)
    title, author = _credits(data, novel.title, novel.author)
    book = ReadBook(
        ShelvedBook.put(folder, file.name, sentences),
        str(file.path),
        title,
        author,
        novel.lang,
        novel.encoding,
        content,
        len(sentences),
    )
    lines = (line for sentence in sentences if len(line := Words.of(sentence).line) > 30)
    hashes = np.fromiter((int(digest(line)[:15], 16) for line in lines), np.int64)
    return book, np.unique(hashes)


def _credits(data: bytes, title: str, author: str) -> tuple[str, str]:
    """Returns title and author, which the first headings of Markdown may name, too."""
    head = data[:2000].decode("utf-8", errors="replace")
    fields = {
        match[1].lower(): match[2].strip()
        for match in re.finditer(r"^#*\s*(title|author):\s*(.+)$", head, re.I | re.M)
    }
    return fields.get("title", title), fields.get("author", author)


def in_clauses(sentences: Sequence[str]) -> Iterator[str]:
    """Yields sentences cut after colons, semicolons and ellipses (§2.1, note 5)."""
    for sentence in sentences:
        rest = ""
        for part in _CLAUSE.split(sentence):
            rest = f"{rest} {part}".strip()
            if re.search(r"\w", rest):
                yield rest
                rest = ""
        if rest:
            yield rest

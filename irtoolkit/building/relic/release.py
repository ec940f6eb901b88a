"""The files of a benchmark in the form of RELiC's release."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import write_json_lines
from irtoolkit.building.relic.books import ReadBook

# Values of a list that are written at once.
_PART = 10_000


@dataclass(frozen=True, slots=True)
class WindowAt:
    """A window of the benchmark; its texts stay in the file of its work.

    Attributes:
        query_id: its id.
        article: the name of the work of criticism.
        book: the quoted book.
        start, length: the quoted sentences of the book.
        file: the windows of the work.
        at: its position there, in bytes.
    """

    query_id: str
    article: str
    book: str
    start: int
    length: int
    file: Path
    at: int

    @property
    def gold(self) -> str:
        """The id of the quoted passage."""
        return f"{self.book}:{self.start}+{self.length}"

    def read(self) -> dict[str, Any]:
        """Returns the window as the file of its work has it."""
        with open(self.file, "rb") as lines:
            lines.seek(self.at)
            record: dict[str, Any] = json.loads(lines.readline())
        return record


def write_split(
    path: Path, books: Sequence[ReadBook], windows: Sequence[WindowAt], longest: int, hidden: bool
) -> None:
    """Writes the file of a split atomically, one book after the other.

    Args:
        path: for example train.json.
        books: those of the split.
        windows: those of the split.
        longest: sentences of the longest candidates.
        hidden: whether the places of the quotations are null, as in the test split of the release.
    """
    by_book: dict[str, list[WindowAt]] = {book.name: [] for book in books}
    for window in windows:
        by_book[window.book].append(window)
    with atomic_text(path) as out:
        for number, book in enumerate(books):
            out.write(", \n" if number else "{")
            out.write(f"{_json(book.name)}: ")
            out.writelines(_record(book, by_book[book.name], longest, hidden))
        out.write("}\n")


def _record(
    book: ReadBook, windows: Sequence[WindowAt], longest: int, hidden: bool
) -> Iterator[str]:
    """Yields a book in parts, as the release has it: quotes, sentences, starts of candidates."""
    yield '{"quotes": {'
    for number, window in enumerate(windows):
        record = window.read()
        start = None if hidden else window.start
        quote = _json([record["left"], start, window.length, record["right"]])
        yield f"{', ' if number else ''}{_json(window.query_id)}: {quote}"
    yield '}, "sentences": '
    sentences = book.sentences()
    yield from _list(sentences)
    yield ', "candidates": {'
    for length in range(1, min(longest, len(sentences)) + 1):
        yield f'{", " if length > 1 else ""}"{length}_sentence{"s" * (length > 1)}": '
        yield from _list(range(len(sentences) - length + 1))
    yield "}}"


def _list(values: Sequence[Any]) -> Iterator[str]:
    """Yields a list as JSON, some thousand values at a time."""
    yield "["
    for start in range(0, len(values), _PART):
        yield (", " if start else "") + _json(list(values[start : start + _PART]))[1:-1]
    yield "]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def write_qrels(path: Path, windows: Sequence[WindowAt]) -> None:
    """Writes the quoted passages of windows as TREC qrels."""
    with atomic_text(path) as out:
        for window in windows:
            out.write(f"{window.query_id} 0 {window.gold} 1\n")


def write_provenance(path: Path, windows: Sequence[WindowAt], split_of: Mapping[str, str]) -> None:
    """Writes the source of each window, as JSON lines."""
    fields = ("begin", "end", "kind", "words", "ratio", "leaks", "quoted")

    def line(window: WindowAt) -> dict[str, Any]:
        record = window.read()
        origin = {
            "query_id": window.query_id,
            "split": split_of[window.book],
            "passage": window.gold,
            "article": window.article,
        }
        return origin | {name: record[name] for name in fields}

    write_json_lines(path, map(line, windows))

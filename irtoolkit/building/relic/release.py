"""The files of a benchmark in the form of RELiC's release."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.files import atomic_text
from irtoolkit.building.relic.books import ReadBook


@dataclass(frozen=True)
class Kept:
    """A window of the benchmark.

    Attributes:
        query_id: its id.
        article: the name of the work of criticism.
        record: the window as the file of the work has it.
    """

    query_id: str
    article: str
    record: Mapping[str, Any]

    @property
    def book(self) -> str:
        """The book that is quoted."""
        return str(self.record["book"])

    @property
    def gold(self) -> str:
        """The id of the quoted passage."""
        return f"{self.book}:{self.record['start']}+{self.record['length']}"


def write_split(
    path: Path, books: Sequence[ReadBook], windows: Sequence[Kept], longest: int, hidden: bool
) -> None:
    """Writes the file of a split, one book after the other; it appears whole.

    Args:
        path: such as train.json.
        books: those of the split.
        windows: those of the split.
        longest: sentences of the longest candidates.
        hidden: whether the places of the quotations are null, as in the test split of the release.
    """
    by_book: dict[str, list[Kept]] = {book.name: [] for book in books}
    for window in windows:
        by_book[window.book].append(window)
    with atomic_text(path) as out:
        for number, book in enumerate(books):
            out.write(", \n" if number else "{")
            record = _record(book.sentences(), by_book[book.name], longest, hidden)
            out.write(f"{json.dumps(book.name, ensure_ascii=False)}: ")
            json.dump(record, out, ensure_ascii=False)
        out.write("}\n")


def _record(
    sentences: Sequence[str], windows: Sequence[Kept], longest: int, hidden: bool
) -> dict[str, Any]:
    """A book as the release has it: quotes, sentences, and the starts of all candidates."""
    candidates = {
        f"{length}_sentence{'s' * (length > 1)}": list(range(len(sentences) - length + 1))
        for length in range(1, min(longest, len(sentences)) + 1)
    }
    quotes = {
        window.query_id: [
            list(window.record["left"]),
            None if hidden else window.record["start"],
            window.record["length"],
            list(window.record["right"]),
        ]
        for window in windows
    }
    return {"quotes": quotes, "sentences": list(sentences), "candidates": candidates}


def write_qrels(path: Path, windows: Sequence[Kept]) -> None:
    """Writes the quoted passages of windows as TREC qrels."""
    with atomic_text(path) as out:
        for window in windows:
            out.write(f"{window.query_id} 0 {window.gold} 1\n")


def write_provenance(path: Path, windows: Sequence[Kept], split_of: Mapping[str, str]) -> None:
    """Writes where each window is from, as JSON lines."""
    fields = ("begin", "end", "kind", "words", "ratio", "leaks", "quoted")
    with atomic_text(path) as out:
        for window in windows:
            about = {name: window.record[name] for name in fields}
            line = {
                "query_id": window.query_id,
                "split": split_of[window.book],
                "passage": window.gold,
                "article": window.article,
                **about,
            }
            out.write(json.dumps(line, ensure_ascii=False) + "\n")

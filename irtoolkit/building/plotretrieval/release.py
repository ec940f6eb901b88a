"""The files of a benchmark in PlotRetrieval's form."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irtoolkit.base.jsons import write_json, write_json_lines
from irtoolkit.building.plotretrieval.comments import Comment
from irtoolkit.building.relic.books import ReadBook
from irtoolkit.building.splits import SPLITS


@dataclass(frozen=True)
class Pair:
    """A comment and its passage.

    Attributes:
        comment: the comment.
        query: its text, perhaps shortened by a reader.
        passage: the text of the passage.
        record: the comment's record in the pieces of the build.
        verdict: a reader's verdict; empty if no reader was asked.
    """

    comment: Comment
    query: str
    passage: str
    record: Mapping[str, Any]
    verdict: str = ""

    @property
    def book(self) -> str:
        """The book."""
        return self.comment.book

    @property
    def span(self) -> tuple[int, int]:
        """The sentences of the passage, the first and one past the last."""
        return self.record["start"], self.record["stop"]

    @property
    def gold(self) -> str:
        """The id of the passage."""
        start, stop = self.span
        return f"{self.book}:{start}+{stop - start}"


def write_release(
    folder: Path,
    books: Sequence[ReadBook],
    pairs: Sequence[Pair],
    splits: Mapping[str, Sequence[str]],
) -> None:
    """Writes the queries of each split, and the books that have any.

    Args:
        folder: the folder of the benchmark.
        books: all books.
        pairs: those of the benchmark.
        splits: the books of each split.
    """
    used = {name for names in splits.values() for name in names}
    shutil.rmtree(folder / "books", ignore_errors=True)
    for book in books:
        if book.name in used:
            record = {"book": book.name, "sentences": book.sentences()}
            write_json(folder / "books" / f"{book.name}.json", record)
    for split in SPLITS:
        path = folder / f"queries-{split}.jsonl"
        path.unlink(missing_ok=True)
        if split in splits:
            split_pairs = [pair for pair in pairs if pair.book in splits[split]]
            write_json_lines(path, _queries(split_pairs))


def _queries(pairs: Sequence[Pair]) -> Iterable[dict[str, Any]]:
    """Returns the queries of a split; equal comments on several passages are one query."""
    queries: dict[tuple[str, str], dict[str, Any]] = {}
    for pair in pairs:
        new = {"query_id": pair.comment.id, "book": pair.book, "query": pair.query, "spans": []}
        query = queries.setdefault((pair.book, pair.query), new)
        if list(pair.span) not in query["spans"]:
            query["spans"].append(list(pair.span))
    return queries.values()


def write_provenance(path: Path, pairs: Sequence[Pair], split_of: Mapping[str, str]) -> None:
    """Writes the source of each pair and the decision on it, as JSON lines."""
    fields = ("plot", "score", "margin", "overlap", "decision")
    write_json_lines(
        path,
        (
            {
                "query_id": pair.comment.id,
                "split": split_of.get(pair.book, ""),
                "passage": pair.gold,
                "source": pair.comment.source,
                "at": pair.comment.at,
                "exact": pair.comment.is_exact,
                **{name: pair.record[name] for name in fields},
                "verdict": pair.verdict,
                "comment": pair.comment.text,
            }
            for pair in pairs
        ),
    )

"""What a benchmark in RELiC's form is like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from irtoolkit.building.quality import (
    Quality,
    Sample,
    histogram,
    mean,
    near_duplicates,
    sampled,
)
from irtoolkit.building.relic.books import ReadBook
from irtoolkit.building.relic.release import Kept
from irtoolkit.building.relic.words import Words

# Table 1 and section A.3 of the submission.
_PAPER = {
    "windows for training": 71395, "windows for validation": 9036, "windows for testing": 9034,
    "words of a query, mean": 154.1, "words of a candidate, mean": 45.5,
    "candidates of a query, mean": 10648.8, "books": 79, "works of criticism": 9127,
    "windows of a work, mean": 6,
}  # fmt: skip


@dataclass
class Gathered:
    """The quotations of a benchmark and the texts that they are from.

    Attributes:
        books: all books, quoted or not.
        articles: the record of each work of criticism by name.
        windows: those that make the benchmark.
        left_out: quotations that do not, by the reason.
        splits: the books of each split.
        continued: works that an earlier build had done.
    """

    books: list[ReadBook]
    articles: dict[str, dict[str, Any]] = field(default_factory=dict)
    windows: list[Kept] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    splits: dict[str, list[str]] = field(default_factory=dict)
    continued: int = 0

    def of_split(self, split: str) -> list[Kept]:
        """The windows of a split."""
        names = self.splits.get(split, ())
        return [window for window in self.windows if window.book in names]

    def notes(self) -> Iterator[str]:
        """What a user should know: other encodings than UTF-8, and works without a quotation."""
        read = [(book.path, book.encoding) for book in self.books]
        read += [(record["path"], record["encoding"]) for record in self.articles.values()]
        for path, encoding in read:
            if encoding != "utf-8":
                yield f"{path}: not UTF-8, read as {encoding}"
        used = {window.article for window in self.windows}
        for name in self.articles:
            if name not in used:
                yield f"{self.articles[name]['path']}: no quotation of these books is kept"


def quality(gathered: Gathered) -> Quality:
    """The figures of a benchmark."""
    windows = gathered.windows
    shared = [100 * _overlap(window) for window in windows]
    removed = sum((Counter(record["removed"]) for record in gathered.articles.values()), Counter())
    split_of = {book: split for split, books in gathered.splits.items() for book in books}
    return Quality(
        counts=_counts(gathered),
        paper=_PAPER,
        tables={
            "books": dict(Counter(window.book for window in windows).most_common()),
            "left out": dict(gathered.left_out.most_common()),
            "removed from criticism": dict(removed),
            "kinds": dict(Counter(str(window.record["kind"]) for window in windows).most_common()),
            "sentences of a quotation": histogram([w.record["length"] for w in windows], 1),
            "words of a query": histogram([_query_words(w) for w in windows], 50),
            "ratio of quotation and book": histogram(
                [w.record["ratio"] for w in windows], 5, most=100
            ),
            "percent of the quotation's words in its context": histogram(shared, 10, most=100),
        },
        findings={
            "runs of quoted words cut out of contexts": sum(w.record["leaks"] for w in windows),
            "near duplicates across splits": near_duplicates(
                ((window.query_id, _context_words(window)) for window in windows),
                {window.query_id: split_of[window.book] for window in windows},
            ),
        },
        sample=[_shown(window) for window in sampled(windows)],
    )


def _counts(gathered: Gathered) -> dict[str, float]:
    used = {window.article for window in gathered.windows}
    quoted = Counter(window.book for window in gathered.windows)
    sizes = {book.name: book.count for book in gathered.books}
    candidates = [sizes[w.book] - w.record["length"] + 1 for w in gathered.windows]
    words = [len(str(w.record["quoted"]).split()) for w in gathered.windows]
    return {
        "windows for training": len(gathered.of_split("train")),
        "windows for validation": len(gathered.of_split("val")),
        "windows for testing": len(gathered.of_split("test")),
        "words of a query, mean": mean([_query_words(w) for w in gathered.windows]),
        "words printed of a quotation, mean": mean(words),
        "candidates of a query, mean": mean(candidates),
        "books": len(gathered.books),
        "books that are quoted": len(quoted),
        "works of criticism": len(used),
        "windows of a work, mean": len(gathered.windows) / max(1, len(used)),
    }


def _query_words(window: Kept) -> int:
    return sum(len(s.split()) for s in (*window.record["left"], *window.record["right"]))


def _context_words(window: Kept) -> list[str]:
    return Words.of(" ".join((*window.record["left"], *window.record["right"]))).line.split()


def _overlap(window: Kept) -> float:
    """The share of the quotation's distinct words that its context has."""
    quoted = set(Words.of(window.record["quoted"]).line.split())
    return len(quoted & set(_context_words(window))) / max(1, len(quoted))


def _shown(window: Kept) -> Sample:
    record = window.record
    about = {"passage": window.gold, "article": window.article, "ratio": record["ratio"]}
    left, right = " ".join(record["left"]), " ".join(record["right"])
    return Sample(window.query_id, about, left, record["quoted"], right)

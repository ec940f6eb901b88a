"""The quality report of a benchmark in RELiC's form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

from irtoolkit.base.plurals import number_of
from irtoolkit.building.pipeline import encoding_notes
from irtoolkit.building.quality import (
    Quality,
    Sample,
    histogram,
    mean,
    near_duplicates,
    sampled,
)
from irtoolkit.building.relic.books import ReadBook
from irtoolkit.building.relic.release import WindowAt
from irtoolkit.building.relic.words import Words
from irtoolkit.building.splits import TRAIN

# Table 1 and section A.3 of the submission.
_PAPER = {
    "windows for training": 71395,
    "windows for validation": 9036,
    "windows for testing": 9034,
    "words of a query, mean": 154.1,
    "words of a candidate, mean": 45.5,
    "candidates of a query, mean": 10648.8,
    "books": 79,
    "works of criticism": 9127,
    "windows of a work, mean": 6,
}


@dataclass
class Gathered:
    """The quotations of a benchmark with their texts.

    Attributes:
        books: all books, quoted or not.
        articles: the record of each work of criticism by name.
        windows: those that make the benchmark.
        left_out: quotations that do not, by the reason.
        unused: the paths of the works without a window, by the reason.
        splits: the books of each split.
        continued: works that an earlier build had done.
        report: the quality report, once the benchmark is built.
    """

    books: list[ReadBook]
    articles: dict[str, dict[str, Any]] = field(default_factory=dict)
    windows: list[WindowAt] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unused: dict[str, list[str]] = field(default_factory=dict)
    splits: dict[str, list[str]] = field(default_factory=dict)
    continued: int = 0
    report: Quality | None = None

    def of_split(self, split: str) -> list[WindowAt]:
        """Returns the windows of a split."""
        names = self.splits.get(split, ())
        return [window for window in self.windows if window.book in names]

    def notes(self) -> Iterator[str]:
        """Yields notes for the user: other encodings, what is left out and why, uneven splits."""
        read = [(book.path, book.encoding) for book in self.books]
        read += [(record["path"], record["encoding"]) for record in self.articles.values()]
        yield from encoding_notes(read)
        for reason, paths in self.unused.items():
            names = ", ".join(Path(path).name for path in paths[:_NAMED])
            more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
            works = number_of(len(self.articles), "works")
            yield f"{len(paths)} of {works} without a window: {reason}: {names}{more}"
        if self.left_out:
            counts = (f"{count:,} {reason}" for reason, count in self.left_out.most_common())
            total = number_of(self.left_out.total(), "quotations", ",")
            yield f"{total} left out: {', '.join(counts)}"
        for split in self.splits if len(self.splits) > 1 else ():
            count = len(self.of_split(split))
            if count < _UNEVEN * len(self.windows):
                option_note = "" if split == TRAIN else f"; --{split} names other ones"
                yield f"{split} has {count} of {len(self.windows)} windows, as books stay whole{option_note}"


# Works without a window that are named for each reason.
_NAMED = 3
# A split with a smaller share of the windows gets a note.
_UNEVEN = 0.05


class _Facts(NamedTuple):
    """The counts of a window; words are counts, `shared` is a percentage."""

    kind: str
    ratio: float
    leaks: int
    words: int
    quoted: int
    shared: float


def quality(gathered: Gathered) -> Quality:
    """Returns the figures of a benchmark; the texts of the windows are read once, one by one."""
    windows = gathered.windows
    split_of = {book: split for split, books in gathered.splits.items() for book in books}
    facts: list[_Facts] = []
    near = near_duplicates(
        _read(windows, facts), {window.query_id: split_of[window.book] for window in windows}
    )
    removed = sum((Counter(record["removed"]) for record in gathered.articles.values()), Counter())
    return Quality(
        counts=_counts(gathered, facts),
        paper=_PAPER,
        tables={
            "books": dict(Counter(window.book for window in windows).most_common()),
            "left out": dict(gathered.left_out.most_common()),
            "removed from criticism": dict(removed),
            "kinds": dict(Counter(fact.kind for fact in facts).most_common()),
            "sentences of a quotation": histogram([window.length for window in windows], 1),
            "words of a query": histogram([fact.words for fact in facts], 50),
            "ratio of quotation and book": histogram([fact.ratio for fact in facts], 5, most=100),
            "percent of the quotation's words in its context": histogram(
                [fact.shared for fact in facts], 10, most=100
            ),
        },
        findings={
            "runs of quoted words cut out of contexts": sum(fact.leaks for fact in facts),
            "near duplicates across splits": near,
        },
        sample=[_shown(window) for window in sampled(windows)],
    )


def _read(windows: Sequence[WindowAt], facts: list[_Facts]) -> Iterator[tuple[str, list[str]]]:
    """Yields the ids of windows and the words of their contexts; the facts of each go to a list."""
    for window in windows:
        record = window.read()
        sides = (*record["left"], *record["right"])
        context = Words.of(" ".join(sides)).line.split()
        quoted = set(Words.of(record["quoted"]).line.split())
        facts.append(
            _Facts(
                intern(record["kind"]),
                record["ratio"],
                record["leaks"],
                sum(len(sentence.split()) for sentence in sides),
                len(record["quoted"].split()),
                100 * (len(quoted & set(context)) / max(1, len(quoted))),
            )
        )
        yield window.query_id, context


def _counts(gathered: Gathered, facts: Sequence[_Facts]) -> dict[str, float]:
    used = {window.article for window in gathered.windows}
    quoted = Counter(window.book for window in gathered.windows)
    sizes = {book.name: book.count for book in gathered.books}
    candidates = [sizes[window.book] - window.length + 1 for window in gathered.windows]
    return {
        "windows for training": len(gathered.of_split("train")),
        "windows for validation": len(gathered.of_split("val")),
        "windows for testing": len(gathered.of_split("test")),
        "words of a query, mean": mean([fact.words for fact in facts]),
        "words printed of a quotation, mean": mean([fact.quoted for fact in facts]),
        "candidates of a query, mean": mean(candidates),
        "books": len(gathered.books),
        "books that are quoted": len(quoted),
        "works of criticism": len(used),
        "windows of a work, mean": len(gathered.windows) / max(1, len(used)),
    }


def _shown(window: WindowAt) -> Sample:
    record = window.read()
    details = {"passage": window.gold, "article": window.article, "ratio": record["ratio"]}
    left, right = " ".join(record["left"]), " ".join(record["right"])
    return Sample(window.query_id, details, left, record["quoted"], right)

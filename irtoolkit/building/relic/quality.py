"""What a benchmark is like: counts beside the paper's, lengths, overlap, leaks, a sample to read."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base import html
from irtoolkit.base.files import atomic_text
from irtoolkit.base.tables import TextTable
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
_SAMPLE = 20
# Windows are near duplicates where they share so much of the smaller one's runs of five words.
_NEAR, _RUN = 0.5, 5
_BAR = 40


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
        for name in self.articles.keys() - used:
            yield f"{self.articles[name]['path']}: no quotation of these books is kept"


def write_quality(place: Path, gathered: Gathered) -> None:
    """Writes quality.json, quality.txt and quality.html."""
    report = quality(gathered)
    with atomic_text(place / "quality.json") as out:
        json.dump(report, out, indent=1, ensure_ascii=False)
        out.write("\n")
    with atomic_text(place / "quality.txt") as out:
        out.write("\n".join(as_text(report)) + "\n")
    with atomic_text(place / "quality.html") as out:
        out.write(as_html(report))


def quality(gathered: Gathered) -> dict[str, Any]:
    """The figures of a benchmark, as JSON values."""
    windows = gathered.windows
    shared = [_overlap(window) for window in windows]
    return {
        "counts": [{"what": what, "value": value, "paper": _PAPER.get(what)} for what, value in _counts(gathered).items()],
        "books": dict(Counter(window.book for window in windows).most_common()),
        "left out": dict(gathered.left_out.most_common()),
        "removed from criticism": dict(
            sum((Counter(record["removed"]) for record in gathered.articles.values()), Counter())
        ),
        "kinds": dict(Counter(str(window.record["kind"]) for window in windows).most_common()),
        "sentences of a quotation": _histogram([w.record["length"] for w in windows], 1),
        "words of a query": _histogram([_query_words(w) for w in windows], 50),
        "ratio of quotation and book": _histogram([w.record["ratio"] for w in windows], 5, most=100),
        "percent of the quotation's words in its context": _histogram([100 * s for s in shared], 10, most=100),
        "leaks cut out of contexts": sum(w.record["leaks"] for w in windows),
        "near duplicates across splits": near_duplicates(gathered),
        "sample": [_shown(window) for window in _sample(windows)],
    }  # fmt: skip


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
        "words of a query, mean": _mean([_query_words(w) for w in gathered.windows]),
        "words printed of a quotation, mean": _mean(words),
        "candidates of a query, mean": _mean(candidates),
        "books": len(gathered.books),
        "books that are quoted": len(quoted),
        "works of criticism": len(used),
        "windows of a work, mean": len(gathered.windows) / max(1, len(used)),
    }


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 1) if values else 0.0


def _query_words(window: Kept) -> int:
    return sum(len(s.split()) for s in (*window.record["left"], *window.record["right"]))


def _overlap(window: Kept) -> float:
    """The share of the quotation's distinct words that its context has."""
    quoted = set(Words.of(window.record["quoted"]).line.split())
    context = " ".join((*window.record["left"], *window.record["right"]))
    return len(quoted & set(Words.of(context).line.split())) / max(1, len(quoted))


def _histogram(values: Sequence[float], step: int, most: int | None = None) -> dict[str, int]:
    """Counts of values in steps, by their bounds; what a step of 1 counts is the value itself.

    Args:
        most: the greatest value that there can be.
    """
    counts = Counter(int(value // step) * step for value in values)
    low, high = (min(counts), max(counts)) if counts else (0, -1)
    return {_bounds(at, step, most): counts[at] for at in range(low, high + 1, step)}


def _bounds(low: int, step: int, most: int | None) -> str:
    high = low + step - 1 if most is None else min(low + step - 1, most)
    return str(low) if low == high else f"{low}-{high}"


def near_duplicates(gathered: Gathered) -> list[list[str]]:
    """Pairs of windows of different splits whose texts share most of their runs of words."""
    runs: dict[str, list[int]] = {}
    sets: list[set[str]] = []
    split_of = {book: split for split, books in gathered.splits.items() for book in books}
    found = []
    for number, window in enumerate(gathered.windows):
        words = Words.of(" ".join((*window.record["left"], *window.record["right"]))).line.split()
        own = {" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}
        sets.append(own)
        shared = Counter(other for run in own for other in runs.get(run, ()))
        for other, count in shared.items():
            twin = gathered.windows[other]
            apart = split_of[twin.book] != split_of[window.book]
            if apart and count > _NEAR * min(len(own), len(sets[other])):
                found.append([twin.query_id, window.query_id])
        for run in own:
            runs.setdefault(run, []).append(number)
    return found


def _sample(windows: Sequence[Kept]) -> list[Kept]:
    chosen = random.Random(0).sample(range(len(windows)), min(_SAMPLE, len(windows)))
    return [windows[number] for number in sorted(chosen)]


def _shown(window: Kept) -> dict[str, Any]:
    record = window.record
    return {
        "query_id": window.query_id, "article": window.article, "passage": window.gold,
        "ratio": record["ratio"], "left": " ".join(record["left"]), "quoted": record["quoted"],
        "right": " ".join(record["right"]),
    }  # fmt: skip


def _tables(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    for title, values in report.items():
        if isinstance(values, dict):
            yield title, values


def as_text(report: dict[str, Any], sample: bool = True) -> Iterator[str]:
    """The lines of the report."""
    rows = [[row["what"], _number(row["value"]), _number(row["paper"])] for row in report["counts"]]
    yield TextTable(["", "here", "paper"], rows).render("text").rstrip()
    for title, values in _tables(report):
        yield ""
        yield f"{title}:" if values else f"{title}: none"
        most = max(values.values(), default=0)
        width = max(map(len, values), default=0)
        for name, count in values.items():
            yield f"  {name:<{width}} {count:>7,} {'#' * round(_BAR * count / max(1, most))}".rstrip()
    yield ""
    yield f"runs of quoted words cut out of contexts: {report['leaks cut out of contexts']:,}"
    yield f"near duplicates across splits: {len(report['near duplicates across splits']):,}"
    for window in report["sample"] if sample else ():
        yield ""
        yield f"{window['query_id']} {window['passage']} in {window['article']}, ratio {window['ratio']}"
        yield f"  {window['left']} [[ {window['quoted']} ]] {window['right']}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def as_html(report: dict[str, Any]) -> str:
    """The report as a page."""
    rows = [[row["what"], _number(row["value"]), _number(row["paper"])] for row in report["counts"]]
    parts = [html.table(["", "here", "paper"], rows, right=[False, True, True])]
    for title, values in _tables(report):
        most = max(values.values(), default=1)
        bars = "".join(
            f"<tr><td>{escape(name)}</td><td>{count:,}</td>"
            f'<td><meter max="{most}" value="{count}"></meter></td></tr>'
            for name, count in values.items()
        )
        parts.append(f"<h2>{escape(title)}</h2><table>{bars}</table>")
    parts.append(
        f"<p>Runs of quoted words cut out of contexts: {report['leaks cut out of contexts']:,}."
    )
    parts.append(
        f"Near duplicates across splits: {len(report['near duplicates across splits']):,}.</p>"
    )
    parts.append("<h2>Sample</h2>")
    parts += [
        f"<p><b>{escape(w['query_id'])}</b> {escape(w['passage'])}, ratio {w['ratio']}<br>"
        f"{escape(w['left'])} <mark>{escape(w['quoted'])}</mark> {escape(w['right'])}</p>"
        for w in report["sample"]
    ]
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Quality</title>'
    style = "<style>body{font-family:sans-serif;max-width:60em;margin:2em auto}td{padding:0 .5em}</style>"
    return f"{head}{style}<h1>Quality of the benchmark</h1>{''.join(parts)}</html>\n"

"""The report on a built benchmark: counts beside the paper's, histograms, findings, a sample.

Each builder makes a `Quality`; this module shows it as JSON, text and a page.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, TypeVar

from irtoolkit.base.files import atomic_text
from irtoolkit.base.jsons import write_json
from irtoolkit.base.markup import html_table
from irtoolkit.base.tables import TextTable
from irtoolkit.building.near import near_duplicates as near_duplicates

T = TypeVar("T")

_SAMPLE = 20
_BAR = 40


@dataclass(frozen=True)
class Sample:
    """A query for a reader to check.

    Attributes:
        query_id: its id.
        about: further facts, by name: the relevant document, a score.
        left, marked, right: its text; the relevant part is marked.
    """

    query_id: str
    about: Mapping[str, Any]
    left: str
    marked: str = ""
    right: str = ""

    def as_json(self) -> dict[str, Any]:
        """Returns the sample as JSON values."""
        texts = {"left": self.left, "marked": self.marked, "right": self.right}
        return {"query_id": self.query_id, **self.about, **texts}

    @property
    def heading(self) -> str:
        """Returns the facts about it in one line."""
        return ", ".join(f"{name} {value}" for name, value in self.about.items())


@dataclass
class Quality:
    """The quality report of a benchmark.

    Attributes:
        counts: figures by name; None for one that only the paper has.
        paper: those that the paper reports for its own benchmark.
        tables: titled tables of counts, histograms among them.
        findings: titled numbers, or lists, for example of near duplicates.
        sample: some queries.
    """

    counts: Mapping[str, float | None]
    paper: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    findings: Mapping[str, int | Sequence[Any]] = field(default_factory=dict)
    sample: Sequence[Sample] = ()

    def write(self, folder: Path) -> None:
        """Writes quality.json, quality.txt and quality.html."""
        write_json(folder / "quality.json", self.as_json(), indent=1)
        with atomic_text(folder / "quality.txt") as out:
            out.write("\n".join(self.as_text()) + "\n")
        with atomic_text(folder / "quality.html") as out:
            out.write(self.as_html())

    def as_json(self) -> dict[str, Any]:
        """Returns the report as JSON values."""
        counts = [
            {"what": name, "value": value, "paper": self.paper.get(name)}
            for name, value in self.counts.items()
        ]
        sample = [item.as_json() for item in self.sample]
        return {"counts": counts, **self.tables, **self.findings, "sample": sample}

    def as_text(self, sample: bool = True) -> Iterator[str]:
        """Yields the lines of the report.

        Args:
            sample: whether the sample follows.
        """
        yield TextTable(["", "here", "paper"], self._rows()).render("text").rstrip()
        for title, values in self.tables.items():
            yield ""
            yield f"{title}:" if values else f"{title}: none"
            most = max(values.values(), default=0)
            width = max(map(len, values), default=0)
            for name, count in values.items():
                bar = "#" * round(_BAR * count / max(1, most))
                yield f"  {name:<{width}} {count:>7,} {bar}".rstrip()
        yield ""
        yield from self._found()
        for item in self.sample if sample else ():
            yield ""
            yield f"{item.query_id} {item.heading}"
            marked = f" [[ {item.marked} ]] " if item.marked else " "
            yield f"  {item.left}{marked}{item.right}".rstrip()

    def as_html(self) -> str:
        """Returns the report as a page."""
        parts = [html_table(["", "here", "paper"], self._rows(), right=[False, True, True])]
        for title, values in self.tables.items():
            most = max(values.values(), default=1)
            bars = "".join(
                f"<tr><td>{escape(name)}</td><td>{count:,}</td>"
                f'<td><meter max="{most}" value="{count}"></meter></td></tr>'
                for name, count in values.items()
            )
            parts.append(f"<h2>{escape(title)}</h2><table>{bars}</table>")
        parts += [f"<p>{escape(line)}</p>" for line in self._found()]
        parts.append("<h2>Sample</h2>")
        parts += [
            f"<p><b>{escape(item.query_id)}</b> {escape(item.heading)}<br>"
            f"{escape(item.left)} <mark>{escape(item.marked)}</mark> {escape(item.right)}</p>"
            for item in self.sample
        ]
        head = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Quality</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
        )
        style = (
            "<style>:root{color-scheme:light dark}td{padding:0 .5em}"
            "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
            "overflow-wrap:break-word}</style>"
        )
        return f"{head}{style}<h1>Quality of the benchmark</h1>{''.join(parts)}</html>\n"

    def _rows(self) -> list[list[str]]:
        return [
            [name, _number(value), _number(self.paper.get(name))]
            for name, value in self.counts.items()
        ]

    def _found(self) -> Iterator[str]:
        for title, values in self.findings.items():
            yield f"{title}: {values if isinstance(values, int) else len(values):,}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return f"{value:,}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.2f}"


def mean(values: Sequence[float]) -> float:
    """Returns the mean to one decimal; 0 without values."""
    return round(sum(values) / len(values), 1) if values else 0.0


def histogram(values: Sequence[float], step: int, most: int | None = None) -> dict[str, int]:
    """Returns counts of values in steps, by their bounds; a step of width 1 is named by its value.

    Args:
        values: the values, at least 0.
        step: the width of a step.
        most: the greatest possible value.
    """
    return steps(Counter(int(value // step) * step for value in values), step, most)


def steps(counts: Mapping[int, int], step: int, most: int | None = None) -> dict[str, int]:
    """Counts by the least value of a step, as `histogram` has them: by bounds, without gaps."""
    low, high = (min(counts), max(counts)) if counts else (0, -1)
    return {
        _bounds(value, step, most): counts.get(value, 0) for value in range(low, high + 1, step)
    }


def _bounds(low: int, step: int, most: int | None) -> str:
    high = low + step - 1 if most is None else min(low + step - 1, most)
    return str(low) if low == high else f"{low}-{high}"


def sampled(items: Sequence[T]) -> list[T]:
    """Returns some of the items at random, the same ones each time, in their order."""
    chosen = random.Random(0).sample(range(len(items)), min(_SAMPLE, len(items)))
    return [items[number] for number in sorted(chosen)]

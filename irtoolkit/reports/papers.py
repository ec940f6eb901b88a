"""Tables of a report for papers and notes: LaTeX with booktabs, and Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irtoolkit.base.arguments import check_fields
from irtoolkit.base.errors import InputError
from irtoolkit.base.markup import (
    latex_comments,
    latex_table,
    latex_text,
    markdown_table,
    markdown_text,
)
from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.formatting import (
    OF_PARTS,
    caution,
    format_figure,
    how_averaged,
    how_tested,
    places_for,
)

# Decimals that a figure may have.
_DIGITS = 8


@dataclass(frozen=True)
class TableStyle:
    """How tables for papers show figures.

    Attributes:
        intervals: whether figures have their intervals.
        percent: whether figures between 0 and 1 are shown in percent.
        digits: decimals of figures; by default four, two in percent, and one for ranks and counts.
        caption: the caption of the LaTeX table; by default the dataset and how figures were tested.

    Raises:
        InputError: a number of digits that is not from 0 to 8.
    """

    intervals: bool = False
    percent: bool = False
    digits: int | None = None
    caption: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.digits is not None and not 0 <= self.digits <= _DIGITS:
            raise InputError(f"digits {self.digits} is not from 0 to {_DIGITS}")

    def format(self, values: Sequence[float]) -> FigureFormat:
        """Returns a function that formats the figures of one column."""
        finite = [value for value in values if math.isfinite(value)]
        scaled = self.percent and all(-1 <= value <= 1 for value in finite)
        usual = 2 if scaled else places_for(values)
        places = usual if self.digits is None else self.digits
        return lambda value: format_figure(100 * value if scaled else value, places)


FigureFormat = Callable[[float], str]


def as_latex(report: ReportContent, style: TableStyle = TableStyle()) -> str:
    """LaTeX tables of the systems and of each breakdown, as wide as a column at most.

    They need the packages booktabs and graphicx.
    """
    headers, rows = _systems(report, style, _latex_cell)
    lines = [
        "% \\usepackage{booktabs,graphicx}",
        *latex_comments(report.notes),
        *_float(
            latex_table(headers, rows, _labels(headers)),
            style.caption or f"{report.dataset_id}.",
            _key(report, style),
        ),
    ]
    for name, headers, rows in _breakdowns(report, style, latex_text):
        caption = f"{report.chart} by {name}; {OF_PARTS}"
        lines += ["", *_float(latex_table(headers, rows, _labels(headers)), caption)]
    return "\n".join(lines) + "\n"


def _float(tabular: Sequence[str], caption: str, key: Sequence[str] = ()) -> list[str]:
    """Returns a floating table, scaled down to the column if it is wider.

    `key` is what its readers must know; it follows the table in small print.
    """
    small = [rf"\par\smallskip{{\footnotesize {latex_text(' '.join(key))}\par}}"] if key else []
    return [
        r"\begin{table}[t]",
        r"\centering",
        r"\resizebox{\ifdim\width>\columnwidth\columnwidth\else\width\fi}{!}{%",
        *tabular[:-1],
        tabular[-1] + "}",
        *small,
        rf"\caption{{{latex_text(caption)}}}",
        r"\end{table}",
    ]


def as_markdown(report: ReportContent, style: TableStyle = TableStyle()) -> str:
    """Markdown tables of the systems and of each breakdown."""
    headers, rows = _systems(report, style, _markdown_cell)
    lines = [
        f"## {markdown_text(report.dataset_id)}",
        "",
        *markdown_table(headers, rows, _labels(headers)),
        "",
    ]
    lines += [f"{markdown_text(note)}  " for note in (*_key(report, style), *report.notes)]
    for name, headers, rows in _breakdowns(report, style, markdown_text):
        caption = f"{report.chart} by {name}"
        lines += [
            "",
            f"### {markdown_text(caption)}",
            "",
            *markdown_table(headers, rows, _labels(headers)),
            "",
        ]
        lines.append(OF_PARTS.capitalize())
    return "\n".join(lines) + "\n"


def _key(report: ReportContent, style: TableStyle) -> list[str]:
    """Returns what readers of the table must know, in words."""
    sentences = [how_averaged(report, intervals=style.intervals)]
    if style.percent:
        sentences.append("Figures between 0 and 1 are in percent.")
    if any(column.pairs for column in report.columns):
        sentences.append(how_tested(report))
    few = caution(report)
    if few is not None:
        sentences.append(few)
    sentences += [f"{c.measure}: not tested: {c.untested}." for c in report.columns if c.untested]
    return sentences


CellFormat = Callable[[str, str, bool, str], str]


def _systems(
    report: ReportContent, style: TableStyle, cell: CellFormat
) -> tuple[list[str], list[list[str]]]:
    headers = ["", "System", *(column.measure for column in report.columns)]
    formats = [style.format(column.figures) for column in report.columns]
    rows = []
    for i, system in enumerate(report.systems):
        row = [cell(system.letter, "", False, ""), cell(system.name, "", False, "")]
        for column, texts in zip(report.columns, formats, strict=True):
            interval = column.intervals[i]
            letters = "".join(report.systems[beaten].letter for beaten in column.beaten_by(i))
            span = ""
            if style.intervals and interval is not None:
                span = f"[{texts(interval[0])}, {texts(interval[1])}]"
            row.append(cell(texts(column.figures[i]), letters, column.is_best(i), span))
        rows.append(row)
    return [cell(header, "", False, "") for header in headers], rows


def _breakdowns(
    report: ReportContent, style: TableStyle, text: Callable[[str], str]
) -> list[tuple[str, list[str], list[list[str]]]]:
    tables = []
    for name, parts in report.breakdowns.items():
        texts = style.format([v for part in parts for v in part.figures[report.chart]])
        headers = [name, "Queries", *(system.name for system in report.systems)]
        rows = [
            [text(part.name), str(part.queries)]
            + [text(texts(v)) for v in part.figures[report.chart]]
            for part in parts
        ]
        tables.append((name, [text(header) for header in headers], rows))
    return tables


def _latex_cell(text: str, letters: str, best: bool, span: str) -> str:
    escaped = r"$\infty$" if text == "\u221e" else latex_text(text)
    escaped = rf"\textbf{{{escaped}}}" if best else escaped
    escaped += rf"\textsuperscript{{{letters}}}" if letters else ""
    return escaped + (rf" {{\scriptsize {span}}}" if span else "")


def _markdown_cell(text: str, letters: str, best: bool, span: str) -> str:
    escaped = markdown_text(text)
    escaped = f"**{escaped}**" if best else escaped
    escaped += f"<sup>{letters}</sup>" if letters else ""
    return escaped + (f" {markdown_text(span)}" if span else "")


def _labels(headers: Sequence[str]) -> int:
    """Returns how many columns name a row."""
    return sum(header in ("", "System") for header in headers[:2]) or 1

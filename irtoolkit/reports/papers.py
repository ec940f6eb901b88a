"""Tables of a report for papers and notes: LaTeX with booktabs, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from irtoolkit.base.tables import latex_text
from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.formatting import (
    format_figure,
    how_averaged,
    how_tested,
    places_for,
    places_of,
)


def as_latex(report: ReportContent, intervals: bool = False) -> str:
    """LaTeX tables of the systems and of each breakdown; they need the package booktabs."""
    headers, rows = _systems(report, intervals, _latex_cell)
    lines = [*_comments(_notes(report)), *_tabular(headers, rows)]
    for name, headers, rows in _breakdowns(report, latex_text):
        what = f"{report.chart} by {name}; means over the queries of each part, without folds"
        lines += ["", *_comments([what]), *_tabular(headers, rows)]
    return "\n".join(lines) + "\n"


def as_markdown(report: ReportContent, intervals: bool = False) -> str:
    """Markdown tables of the systems and of each breakdown."""
    headers, rows = _systems(report, intervals, _markdown_cell)
    lines = [f"## {markdown_text(report.dataset_id)}", "", *_pipes(headers, rows), ""]
    lines += [f"{markdown_text(note)}  " for note in _notes(report)]
    for name, headers, rows in _breakdowns(report, markdown_text):
        what = f"{report.chart} by {name}"
        lines += ["", f"### {markdown_text(what)}", "", *_pipes(headers, rows), ""]
        lines.append("Means over the queries of each part, without folds.")
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    """The text with every character that is special in Markdown escaped."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", " ".join(text.split()))


def _notes(report: ReportContent) -> list[str]:
    said = [f"{report.dataset_id}. {how_averaged(report)}"]
    if any(column.pairs for column in report.columns):
        said.append(how_tested(report))
    said += [f"{c.measure}: not tested: {c.untested}." for c in report.columns if c.untested]
    return [*said, *report.notes]


CellFormat = Callable[[str, str, bool, str], str]


def _systems(
    report: ReportContent, intervals: bool, cell: CellFormat
) -> tuple[list[str], list[list[str]]]:
    headers = ["", "System", *(column.measure for column in report.columns)]
    rows = []
    for i, system in enumerate(report.systems):
        row = [cell(system.letter, "", False, ""), cell(system.name, "", False, "")]
        for column in report.columns:
            places, interval = places_of(column), column.intervals[i]
            letters = "".join(report.systems[other].letter for other in column.beaten_by(i))
            span = ""
            if intervals and interval is not None:
                span = (
                    f"[{format_figure(interval[0], places)}, {format_figure(interval[1], places)}]"
                )
            row.append(
                cell(format_figure(column.figures[i], places), letters, column.is_best(i), span)
            )
        rows.append(row)
    return [cell(header, "", False, "") for header in headers], rows


def _breakdowns(
    report: ReportContent, text: Callable[[str], str]
) -> list[tuple[str, list[str], list[list[str]]]]:
    made = []
    for name, parts in report.breakdowns.items():
        places = places_for([v for part in parts for v in part.figures[report.chart]])
        headers = [name, "Queries", *(system.name for system in report.systems)]
        rows = [
            [text(part.name), str(part.queries)]
            + [text(format_figure(v, places)) for v in part.figures[report.chart]]
            for part in parts
        ]
        made.append((name, [text(header) for header in headers], rows))
    return made


def _latex_cell(text: str, letters: str, best: bool, span: str) -> str:
    said = r"$\infty$" if text == "\u221e" else latex_text(text)
    said = rf"\textbf{{{said}}}" if best else said
    said += rf"\textsuperscript{{{letters}}}" if letters else ""
    return said + (rf" {{\scriptsize {span}}}" if span else "")


def _markdown_cell(text: str, letters: str, best: bool, span: str) -> str:
    said = markdown_text(text)
    said = f"**{said}**" if best else said
    said += f"<sup>{letters}</sup>" if letters else ""
    return said + (f" {markdown_text(span)}" if span else "")


def _tabular(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    left = sum(header in ("", "System") for header in headers[:2]) or 1

    def line(cells: Sequence[str]) -> str:
        text = " & ".join(cells) + r" \\"
        # LaTeX reads an opening bracket after the end of a line as that line's argument.
        return "{}" + text if text.startswith("[") else text

    return [
        rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(headers) - left)}}}",
        r"\toprule",
        line(headers),
        r"\midrule",
        *map(line, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _pipes(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    left = sum(header in ("", "System") for header in headers[:2]) or 1
    rule = [":---"] * left + ["---:"] * (len(headers) - left)
    return [f"| {' | '.join(cells)} |" for cells in (headers, rule, *rows)]


def _comments(notes: Sequence[str]) -> list[str]:
    return [f"% {line}" for note in notes for line in note.splitlines() if line]

"""The result of an analysis, as tables, as text, as LaTeX and as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.papers.analyses.base import Analysis, Column, FigureRow, FigureTable, Findings

MARK = "≠"
# Characters that LaTeX has no glyph for in its usual text fonts.
_LATEX = {MARK: r"$^{\neq}$", "ρ": r"$\rho$", "α": r"$\alpha$", "κ": r"$\kappa$", "≤": r"$\leq$"}
LEGEND = (
    f"reported: the paper's figures; {MARK} one that is not measured again to the printed digit."
    " same: how many are."
)


@dataclass(frozen=True)
class AnalysisResult:
    """The result of an analysis.

    Attributes:
        analysis: the analysis with its settings.
        datasets: ids of the datasets that were analysed.
        findings: the figures, with those of the paper if the data are the paper's.
        systems: names of the systems whose rankings were analysed.
        other: how the data differ from the paper's; None if they do not.
    """

    analysis: Analysis
    datasets: tuple[str, ...]
    findings: Findings
    systems: tuple[str, ...] = ()
    other: str | None = None

    def __str__(self) -> str:
        tables = "\n\n".join(table.to_text() for table in as_tables(self))
        return "\n".join([*([tables] if tables else []), *closing_lines(self)])

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(line)}</p>\n" for line in closing_lines(self))
        return "\n".join([*(table.to_html() for table in as_tables(self)), lines])


def as_tables(result: AnalysisResult) -> list[TextTable]:
    """Returns the tables for a terminal and LaTeX: measured figures above those of the paper."""
    return [_text_table(table, result) for table in result.findings.tables]


def as_latex(result: AnalysisResult) -> str:
    """Returns the tables as LaTeX, the lines below them as comments."""
    tables = "\n\n".join(table.render("latex") for table in as_tables(result))
    for character, command in _LATEX.items():
        tables = tables.replace(character, command)
    return "\n".join([tables, *(f"% {line}" for line in closing_lines(result))])


def closing_lines(result: AnalysisResult) -> list[str]:
    """Returns the lines below the last table."""
    lines = list(result.findings.notes)
    if any(_compared(row) for table in result.findings.tables for row in table.rows):
        lines.append(LEGEND)
    if result.other is not None and result.findings.tables:
        lines.append(result.other)
    return lines


def _compared(row: FigureRow) -> bool:
    return bool(row.values and row.reported)


def _text_table(table: FigureTable, result: AnalysisResult) -> TextTable:
    beside = any(row.reported for row in table.rows)
    compared = any(map(_compared, table.rows))
    headers = [*table.names, *([""] if beside else []), *(c.name for c in table.columns)]
    rows: list[list[TableCell]] = []
    for row in table.rows:
        if row.values:
            cells: list[TableCell] = [
                _shown(value, column.places)
                for value, column in zip(row.values, table.columns, strict=True)
            ]
            same = [_same(row, table.columns)] if compared else []
            rows.append([*row.names, *(["measured"] if beside else []), *cells, *same])
        if row.reported:
            names = [""] * len(row.names) if row.values else list(row.names)
            ends = [""] if compared else []
            rows.append([*names, "reported", *_reported(row, table.columns), *ends])
    title = f"{table.title} ({_about(table, result)})"
    return TextTable([*headers, *(["same"] if compared else [])], rows, title)


def _about(table: FigureTable, result: AnalysisResult) -> str:
    """Returns what was analysed, in short; a system only if the table does not name it."""
    ids = result.datasets
    text = " ".join([table.title, *(name for row in table.rows for name in row.names)])
    systems = [name for name in result.systems if name not in text]
    named = " ".join(ids) if len(ids) < 4 else f"{ids[0]} and {len(ids) - 1} others"
    return ", ".join([named, " and ".join(systems)] if systems else [named])


def _shown(value: TableCell, places: int) -> TableCell:
    if isinstance(value, float):
        return None if math.isnan(value) else f"{value:.{places}f}"
    return value


def _reported(row: FigureRow, columns: tuple[Column, ...]) -> list[TableCell]:
    """Returns the paper's figures as printed, those marked that are not measured again."""
    cells: list[TableCell] = []
    for i, (figure, column) in enumerate(zip(row.reported, columns, strict=True)):
        if figure is None:
            cells.append(None)
            continue
        text = f"{figure:.{column.printed_places}f}" if isinstance(figure, float) else str(figure)
        value = row.values[i] if row.values else None
        off = isinstance(value, int | float) and not column.same(value, figure)
        cells.append(f"{text}{MARK}" if off else text)
    return cells


def _same(row: FigureRow, columns: tuple[Column, ...]) -> str:
    """Returns how many of the row's reported figures are measured again exactly, such as 3/4."""
    pairs = [
        (value, figure, column)
        for value, figure, column in zip(
            row.values, row.reported or [None] * len(columns), columns, strict=True
        )
        if figure is not None and isinstance(value, int | float)
    ]
    equal = sum(column.same(value, figure) for value, figure, column in pairs)
    return f"{equal}/{len(pairs)}" if pairs else ""


def as_json(result: AnalysisResult) -> dict[str, Any]:
    """Returns the result as plain data, with every digit."""
    tables = []
    for table in result.findings.tables:
        rows = []
        for row in table.rows:
            record: dict[str, Any] = dict(zip(table.names, row.names, strict=True))
            heads = [column.name for column in table.columns]
            if row.values:
                record["measured"] = dict(zip(heads, row.values, strict=True))
            if row.reported:
                record["reported"] = dict(zip(heads, row.reported, strict=True))
            rows.append(record)
        tables.append({"name": table.name, "title": table.title, "rows": rows})
    return {
        "analysis": result.analysis.name,
        "title": result.analysis.title,
        "datasets": list(result.datasets),
        "systems": list(result.systems),
        "tables": tables,
        "notes": [*result.findings.notes, *([result.other] if result.other else [])],
    }

"""The result of an analysis as tables of text, and as files."""

from __future__ import annotations

import math
from pathlib import Path

from irtoolkit.analyses.analyse import AnalysisResult
from irtoolkit.analyses.base import Column, FigureRow, FigureTable
from irtoolkit.base.files import atomic_text
from irtoolkit.base.tables import TableCell, TextTable

MARK = "≠"
# Characters that LaTeX has no glyph for in its usual text fonts.
_LATEX = {MARK: r"$^{\neq}$", "ρ": r"$\rho$", "α": r"$\alpha$", "κ": r"$\kappa$", "≤": r"$\leq$"}
LEGEND = (
    f"reported: the paper's figures; {MARK} one that is not measured again to the printed digit."
    " same: how many are."
)


def as_tables(result: AnalysisResult) -> list[TextTable]:
    """The tables for a terminal and LaTeX: measured figures, and below them those of the paper."""
    return [_text_table(table, result) for table in result.findings.tables]


def as_latex(result: AnalysisResult) -> str:
    """The tables as LaTeX, the lines below them as comments."""
    tables = "\n\n".join(table.render("latex") for table in as_tables(result))
    for character, command in _LATEX.items():
        tables = tables.replace(character, command)
    return "\n".join([tables, *(f"% {line}" for line in closing_lines(result))])


def closing_lines(result: AnalysisResult) -> list[str]:
    """The lines below the last table."""
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
    title = f"{table.title} ({_about(result)})"
    return TextTable([*headers, *(["same"] if compared else [])], rows, title)


def _about(result: AnalysisResult) -> str:
    """What was analysed, in short."""
    ids, systems = result.datasets, result.systems
    named = " ".join(ids) if len(ids) < 4 else f"{ids[0]} and {len(ids) - 1} others"
    return ", ".join([named, " and ".join(systems)] if systems else [named])


def _shown(value: TableCell, places: int) -> TableCell:
    if isinstance(value, float):
        return None if math.isnan(value) else f"{value:.{places}f}"
    return value


def _reported(row: FigureRow, columns: tuple[Column, ...]) -> list[TableCell]:
    """The paper's figures as printed, those marked that are not measured again."""
    cells: list[TableCell] = []
    for place, (figure, column) in enumerate(zip(row.reported, columns, strict=True)):
        if figure is None:
            cells.append(None)
            continue
        text = f"{figure:.{column.printed_places}f}" if isinstance(figure, float) else str(figure)
        value = row.values[place] if row.values else None
        off = isinstance(value, int | float) and not column.same(value, figure)
        cells.append(f"{text}{MARK}" if off else text)
    return cells


def _same(row: FigureRow, columns: tuple[Column, ...]) -> str:
    """How many of the row's reported figures are measured again exactly, such as 3/4."""
    pairs = [
        (value, figure, column)
        for value, figure, column in zip(
            row.values, row.reported or [None] * len(columns), columns, strict=True
        )
        if figure is not None and isinstance(value, int | float)
    ]
    equal = sum(column.same(value, figure) for value, figure, column in pairs)
    return f"{equal}/{len(pairs)}" if pairs else ""


def csv_table(table: FigureTable) -> TextTable:
    """A table for CSV, every digit kept: a line for what was measured, and one for the paper."""
    headers = [*table.names, "figures", *(column.name for column in table.columns)]
    rows: list[list[TableCell]] = []
    for row in table.rows:
        if row.values:
            rows.append([*row.names, "measured", *row.values])
        if row.reported:
            rows.append([*row.names, "reported", *row.reported])
    return TextTable(headers, rows, table.title)


def write_files(result: AnalysisResult, folder: Path) -> list[Path]:
    """Writes each table as CSV and each chart as SVG.

    Raises:
        InputError: the folder cannot be written, or matplotlib is not installed.
    """
    written = []
    for table in result.findings.tables:
        path = folder / f"{result.analysis.name}-{table.name}.csv"
        with atomic_text(path) as out:
            out.write(csv_table(table).render("csv") + "\n")
        written.append(path)
    if result.findings.charts:
        from irtoolkit.analyses.drawing import draw

        written += [
            draw(chart, folder / f"{result.analysis.name}-{chart.name}.svg")
            for chart in result.findings.charts
        ]
    return written

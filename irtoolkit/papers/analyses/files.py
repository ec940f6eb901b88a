"""The result of an analysis as files: tables as CSV, charts as SVG, and a page with both."""

from __future__ import annotations

import base64
import tempfile
from html import escape
from pathlib import Path

from irtoolkit.base.files import atomic_text
from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.papers.analyses.base import FigureTable
from irtoolkit.papers.analyses.result import AnalysisResult
from irtoolkit.reports.palette import style

_STYLE = """
body{max-width:60rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;
background:var(--ground);color:var(--text)}
h1{font-size:1.4rem}
table{border-collapse:collapse;margin:1rem 0}
th,td{border:1px solid var(--line);padding:.2rem .6rem;vertical-align:top}
img{max-width:100%;background:#fff;margin:1rem 0}
"""


def csv_table(table: FigureTable) -> TextTable:
    """Returns a table for CSV with all digits: a measured line and a reported one."""
    headers = [*table.names, "figures", *(column.name for column in table.columns)]
    rows: list[list[TableCell]] = []
    for row in table.rows:
        if row.values:
            rows.append([*row.names, "measured", *row.values])
        if row.reported:
            rows.append([*row.names, "reported", *row.reported])
    return TextTable(headers, rows, table.title)


def write_files(result: AnalysisResult, folder: Path) -> list[Path]:
    """Writes each table as CSV, each chart as SVG, and one page with all of them.

    Raises:
        InputError: the folder cannot be written, or matplotlib is not installed.
    """
    name, written = result.analysis.name, []
    for table in result.findings.tables:
        path = folder / f"{name}-{table.name}.csv"
        with atomic_text(path) as out:
            out.write(csv_table(table).render("csv") + "\n")
        written.append(path)
    drawn = _draw_charts(result, folder)
    if not (written or drawn):
        return []
    page = folder / f"{name}.html"
    with atomic_text(page) as out:
        out.write(_page(result, drawn))
    return [*written, *drawn, page]


def section_of(result: AnalysisResult) -> tuple[str, str, str]:
    """Returns a section of a report's page: anchor, title, and tables and charts as HTML."""
    with tempfile.TemporaryDirectory() as folder:
        content = f"{result._repr_html_()}\n{_images(_draw_charts(result, Path(folder)))}"
    return f"analysis-{result.analysis.name}", result.analysis.title, content


def _draw_charts(result: AnalysisResult, folder: Path) -> list[Path]:
    """Returns the files of the charts, which are drawn; matplotlib is imported if there are some."""
    if not result.findings.charts:
        return []
    from irtoolkit.papers.analyses.drawing import draw

    name = result.analysis.name
    return [draw(chart, folder / f"{name}-{chart.name}.svg") for chart in result.findings.charts]


def _images(drawn: list[Path]) -> str:
    return "\n".join(
        f'<img alt="Chart of the figures in the tables: {escape(path.stem)}"'
        f' src="data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}">'
        for path in drawn
    )


def _page(result: AnalysisResult, drawn: list[Path]) -> str:
    """Returns a self-contained HTML page."""
    title = escape(result.analysis.title)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style()}{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n{result._repr_html_()}\n{_images(drawn)}\n</body>\n</html>\n"
    )

"""Reports written to files: an HTML page, LaTeX or Markdown, by the file's name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, atomic_text
from irtoolkit.reports.compose import ReportOptions, compose
from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.papers import TableStyle
from irtoolkit.scoring.score import Scores

FORMS = (".html", ".tex", ".md")


def check_form(path: StrPath) -> str:
    """The form of a report file, from the ending of its name: .html, .tex or .md.

    Raises:
        InputError: the name has another ending.
    """
    form = Path(path).suffix.lower()
    if form not in FORMS:
        raise InputError(
            "not a kind of report", file=path, remedy=f"its name ends in {', '.join(FORMS)}"
        )
    return form


def write_report(
    content: ReportContent,
    path: StrPath,
    style: TableStyle = TableStyle(),  # noqa: B008
) -> None:
    """Writes a report; the file appears only when complete.

    Args:
        content: the content of the report.
        path: a file whose name ends in .html, .tex or .md.
        style: of tables in LaTeX and Markdown.

    Raises:
        InputError: the name has another ending, or the file cannot be written.
    """
    text = _render(content, check_form(path), style)
    with atomic_text(path) as out:
        out.write(text)


def report_scores(
    scores: Scores,
    paths: Sequence[StrPath],
    options: ReportOptions | None = None,
    style: TableStyle = TableStyle(),  # noqa: B008
) -> None:
    """Composes a report from scores and writes it to files.

    Raises:
        InputError: see `compose` and `write_report`; files are checked before any work.
    """
    for path in paths:
        check_form(path)
    content = compose(scores, options)
    for path in paths:
        write_report(content, path, style)


def _render(content: ReportContent, form: str, style: TableStyle) -> str:
    from irtoolkit.reports import page, papers

    if form == ".html":
        return page.render(content)
    return (papers.as_latex if form == ".tex" else papers.as_markdown)(content, style)

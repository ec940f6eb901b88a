"""Tables in LaTeX, Markdown and HTML, and text with the characters escaped that are special there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def latex_text(text: str) -> str:
    """Returns the text with every character that is special in LaTeX escaped."""
    return "".join(_LATEX.get(character, character) for character in text)


def markdown_text(text: str) -> str:
    """Returns the text with every character that is special in Markdown escaped."""
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", " ".join(text.split()))


def latex_comments(texts: Sequence[str]) -> list[str]:
    """Returns the lines of texts as comments."""
    return [f"% {line}" for text in texts for line in text.splitlines() if line]


def latex_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], labels: int = 1
) -> list[str]:
    """Returns the lines of a tabular with the rules of booktabs.

    Args:
        headers: names of the columns, in LaTeX.
        rows: cells, in LaTeX.
        labels: how many columns are aligned to the left; the others are to the right.
    """

    def line(cells: Sequence[str]) -> str:
        text = " & ".join(cells) + r" \\"
        # LaTeX reads an opening bracket after the end of a line as that line's argument.
        return "{}" + text if text.startswith("[") else text

    return [
        rf"\begin{{tabular}}{{{'l' * labels}{'r' * (len(headers) - labels)}}}",
        r"\toprule",
        line(headers),
        r"\midrule",
        *map(line, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def markdown_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], labels: int | None = None
) -> list[str]:
    """Returns the lines of a table; arguments as for `latex_table`, by default all to the left."""
    labels = len(headers) if labels is None else labels
    rule = ["---"] * labels + ["---:"] * (len(headers) - labels)
    return [f"| {' | '.join(cells)} |" for cells in (headers, rule, *rows)]


def html_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    caption: str = "",
    *,
    right: Sequence[bool] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Returns a table in the markup of pandas' data frames, which notebooks style, in light and dark.

    Args:
        headers: names of the columns.
        rows: cells, which are shown by `str` and escaped; floats with four significant digits.
        caption: a line above the table, if any.
        right: for each column, whether it is aligned to the right; by default columns of numbers.
        notes: lines below the table.
    """
    if right is None:
        right = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(headers))]
    head = _html_row("th", headers, right)
    body = "\n".join(_html_row("td", row, right) for row in rows)
    above = f"<p>{escape(caption)}</p>\n" if caption else ""
    below = "".join(f"\n<p>{escape(note)}</p>" for note in notes if note)
    return (
        f'<div style="overflow-x:auto">\n{above}<table border="1" class="dataframe">\n'
        f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>{below}\n</div>"
    )


def _html_row(tag: str, cells: Sequence[object], right: Sequence[bool]) -> str:
    row_cells = (
        f'<{tag} style="text-align:{"right" if is_right else "left"}">{escape(_text(cell))}</{tag}>'
        for cell, is_right in zip(cells, right, strict=True)
    )
    return f"<tr>{''.join(row_cells)}</tr>"


def _text(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)

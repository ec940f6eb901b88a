"""HTML tables for notebooks, in the markup that pandas gives its data frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """An HTML table, which notebooks style as they style a data frame.

    Args:
        columns: names of the columns.
        rows: cells, which are shown by `str` and escaped; floats with four significant digits.
        caption: a line above the table, if any.
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    above = f"<p>{escape(caption)}</p>" if caption else ""
    return (
        f'<div>{above}<table border="1" class="dataframe">'
        f'<thead><tr style="text-align: right;">{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _text(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)

"""HTML tables for notebooks, in the markup that pandas gives its data frames."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_ALIGNMENT = {True: "right", False: "left"}


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    caption: str = "",
    *,
    right: Sequence[bool] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Returns an HTML table, which notebooks style as they style a data frame, in light and dark.

    Args:
        columns: names of the columns.
        rows: cells, which are shown by `str` and escaped; floats with four significant digits.
        caption: a line above the table, if any.
        right: for each column, whether it is aligned to the right; by default columns of numbers.
        notes: lines below the table.
    """
    if right is None:
        right = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    head = _row("th", columns, right)
    body = "\n".join(_row("td", row, right) for row in rows)
    above = f"<p>{escape(caption)}</p>\n" if caption else ""
    below = "".join(f"\n<p>{escape(note)}</p>" for note in notes if note)
    return (
        f'<div style="overflow-x:auto">\n{above}<table border="1" class="dataframe">\n'
        f"<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>{below}\n</div>"
    )


def _row(tag: str, cells: Sequence[object], right: Sequence[bool]) -> str:
    row_cells = (
        f'<{tag} style="text-align:{_ALIGNMENT[side]}">{escape(_text(cell))}</{tag}>'
        for cell, side in zip(cells, right, strict=True)
    )
    return f"<tr>{''.join(row_cells)}</tr>"


def _text(cell: object) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)

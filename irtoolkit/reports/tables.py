"""One table, several formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Cell = str | float | int | None


@dataclass(frozen=True)
class TextTable:
    """Headers and rows; numbers are right-aligned and shown with `places` decimals.

    Attributes:
        headers: column names.
        rows: cells; None is shown as "-".
        title: a line above the table.
        notes: lines below it.
        places: decimals of float cells.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str | None = None
    notes: Sequence[str] = ()
    places: int = 4

    def render(self, form: str) -> str:
        """The table in a format; text and LaTeX round, CSV keeps every digit."""
        return RENDERERS[form](self)

    def shown(self, cell: Cell) -> str:
        if cell is None:
            return "-"
        return f"{cell:.{self.places}f}" if isinstance(cell, float) else str(cell)


def _text(table: TextTable) -> str:
    cells = [[table.shown(cell) for cell in row] for row in table.rows]
    numeric = [
        any(isinstance(row[i], float | int) for row in table.rows)
        for i in range(len(table.headers))
    ]
    widths = [
        max(len(row[i]) for row in [list(table.headers), *cells]) for i in range(len(numeric))
    ]

    def line(row: Sequence[str]) -> str:
        parts = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        )
        return "  ".join(parts).rstrip()

    lines = [line(table.headers), "  ".join("-" * width for width in widths), *map(line, cells)]
    return "\n".join([*([table.title] if table.title else []), *lines, *table.notes])


def _csv(table: TextTable) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.headers)
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    return out.getvalue().rstrip("\n")


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    """A text as LaTeX shows it: every special character escaped."""
    return "".join(_LATEX.get(character, character) for character in text)


def _latex(table: TextTable) -> str:
    def row(cells: Sequence[str]) -> str:
        text = " & ".join(map(latex_text, cells)) + r" \\"
        # After a line's end an opening bracket would be read as its argument.
        return "{}" + text if text.startswith("[") else text

    columns = "l" + "r" * (len(table.headers) - 1)
    said = (text for text in (table.title, *table.notes) if text)
    comments = [f"% {line}" for text in said for line in text.splitlines() if line]
    return "\n".join(
        [
            *comments,
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            row(table.headers),
            r"\midrule",
            *(row([table.shown(cell) for cell in cells]) for cells in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


RENDERERS: dict[str, Callable[[TextTable], str]] = {"text": _text, "csv": _csv, "latex": _latex}

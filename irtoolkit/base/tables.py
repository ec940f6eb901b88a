"""Tables of results as text for a terminal, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irtoolkit.base.layout import TextColumn, lay_out, looks_like_number
from irtoolkit.base.markup import html_table, latex_comments, latex_table, latex_text
from irtoolkit.base.textwidth import harmless, wrap

TableCell = str | float | int | None

# Width of a text table where there is no terminal, and the narrowest one that is supported.
DEFAULT_WIDTH = 100
NARROWEST_TERMINAL = 40


def terminal_width() -> int:
    """Returns the width of the terminal in columns; 100 if the output goes to a file or a pipe."""
    columns = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
    return max(NARROWEST_TERMINAL, columns)


@dataclass(frozen=True)
class TextTable:
    """A table of results that can be printed, saved and shown in a notebook.

    Attributes:
        headers: names of the columns.
        rows: cells of each row, as many as there are headers; None is shown as "-".
        title: text above the table.
        notes: lines of text below the table.
        places: decimals of float cells in text, LaTeX and HTML.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    title: str | None = None
    notes: Sequence[str] = ()
    places: int = 4

    def __str__(self) -> str:
        return self.to_text()

    def render(self, form: str) -> str:
        """Returns the table as "text", "csv" or "latex"; only CSV keeps every digit of a float."""
        return RENDERERS[form](self)

    def to_text(self, width: int | None = None) -> str:
        """Returns the table as lines for a terminal, numbers aligned to the right.

        If the table is too wide, its texts are wrapped, the names of its rows shortened in the
        middle, and, if this is not enough, its columns spread over several blocks.

        Args:
            width: columns of the terminal; by default those of the terminal, or 100 without one.
        """
        return _text(self, terminal_width() if width is None else width)

    def to_html(self) -> str:
        """Returns the table as HTML for a notebook: escaped, complete, in its colours."""
        rows = [[self.shown(cell) for cell in row] for row in self.rows]
        right = self.right_aligned()
        return html_table(self.headers, rows, self.title or "", right=right, notes=self.notes)

    def _repr_html_(self) -> str:
        return self.to_html()

    def shown(self, cell: TableCell) -> str:
        """Returns the text of a cell, floats rounded to `places`."""
        if cell is None:
            return "-"
        return f"{cell:.{self.places}f}" if isinstance(cell, float) else str(cell)

    def right_aligned(self) -> list[bool]:
        """Returns whether each column holds numbers, which are aligned to the right.

        A column after the first also holds numbers if each of its texts looks like one.
        """
        return [self._holds_numbers(i) for i in range(len(self.headers))]

    def _holds_numbers(self, index: int) -> bool:
        cells = [row[index] for row in self.rows]
        if any(isinstance(cell, float | int) for cell in cells):
            return True
        texts = [cell for cell in cells if isinstance(cell, str) and cell not in ("", "-")]
        return index > 0 and bool(texts) and all(map(looks_like_number, texts))

    def label_count(self) -> int:
        """Returns how many columns name a row: at most two texts before the first numbers."""
        numbers = self.right_aligned()
        first = numbers.index(True) if True in numbers else 1
        return min(2, max(1, first))


def _text(table: TextTable, width: int) -> str:
    cells = [[harmless(table.shown(cell)) for cell in row] for row in table.rows]
    columns = [
        TextColumn.of(harmless(header), [row[i] for row in cells], right)
        for i, (header, right) in enumerate(zip(table.headers, table.right_aligned(), strict=True))
    ]
    title = wrap(harmless(table.title), width, cut=False) if table.title else []
    # Notes may hold a command to copy, which a line break would cut in two.
    return "\n".join(
        [*title, *lay_out(columns, table.label_count(), width), *map(harmless, table.notes)]
    )


def _csv(table: TextTable) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.headers)
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    return out.getvalue().rstrip("\n")


def _latex(table: TextTable) -> str:
    rows = [[latex_text(table.shown(cell)) for cell in row] for row in table.rows]
    lines = [text for text in (table.title, *table.notes) if text]
    return "\n".join(
        [*latex_comments(lines), *latex_table([*map(latex_text, table.headers)], rows)]
    )


RENDERERS: dict[str, Callable[[TextTable], str]] = {
    "text": TextTable.to_text,
    "csv": _csv,
    "latex": _latex,
}

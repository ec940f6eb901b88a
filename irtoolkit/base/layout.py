"""Layout of a table in a terminal: which columns share a line, and how wide each one is.

A table that is too wide first wraps the texts in its cells. If that is not enough, it shortens the
names of its rows. If that is not enough either, its columns are spread over several blocks, one
below the other, and each block repeats the names of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from irtoolkit.base.textwidth import pad, shorten, shorten_all, text_width, wrap

GAP = "  "
# Names of rows and wrapped texts are never narrower, unless they are so by themselves.
NARROWEST = 16
_NUMBER = re.compile(r"[<>]?[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?[%*?]*")


@dataclass(frozen=True)
class TextColumn:
    """A column of texts with one width.

    Attributes:
        header: the name of the column.
        cells: one text for each row.
        right: whether texts are aligned to the right, as numbers are.
        width: columns of the terminal that it takes.
    """

    header: str
    cells: tuple[str, ...]
    right: bool
    width: int

    @classmethod
    def of(cls, header: str, cells: Sequence[str], right: bool) -> TextColumn:
        """Returns a column as wide as its widest text."""
        lines = (line for text in (header, *cells) for line in text.split("\n"))
        return cls(header, tuple(cells), right, max(map(text_width, lines)))

    def least(self) -> int:
        """Returns the width that the column can be wrapped to; numbers are not wrapped."""
        return self.width if self.right else min(self.width, NARROWEST)

    def narrowed(self, width: int) -> TextColumn:
        """Returns the column at a width, or unchanged if it is narrower."""
        return self if width >= self.width else replace(self, width=width)

    def shortened(self, width: int) -> TextColumn:
        """Returns the column with shortened texts, which stay different if possible."""
        if width >= self.width:
            return self
        cells = shorten_all([cell.replace("\n", " ") for cell in self.cells], width)
        return TextColumn(shorten(self.header, width), tuple(cells), self.right, width)

    def lines(self, row: int) -> list[str]:
        """Returns padded lines of one cell; row -1 is the header."""
        text = self.header if row < 0 else self.cells[row]
        return [pad(line, self.width, right=self.right) for line in wrap(text, self.width)]


def looks_like_number(text: str) -> bool:
    """Returns whether a text is a number with marks, as "<.0001", "+0.1" or "12.5?"."""
    return _NUMBER.fullmatch(text) is not None


def lay_out(columns: Sequence[TextColumn], labels: int, width: int) -> list[str]:
    """Returns the lines of a table that are no wider than `width`.

    Args:
        columns: at least one.
        labels: how many of the first columns name a row; every block repeats them.
        width: columns of the terminal.
    """
    blocks = [_fitted(block, labels, width) for block in _blocks(columns, labels, width)]
    lines: list[str] = []
    for number, block in enumerate(blocks):
        lines.extend([""] * (number > 0))
        lines.extend(_lines(block))
    return lines


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _blocks(
    columns: Sequence[TextColumn], labels: int, width: int
) -> Iterator[Sequence[TextColumn]]:
    """Columns of each block, the labels first."""
    named, rest = list(columns[:labels]), list(columns[labels:])
    if _total([column.least() for column in columns]) <= width or not rest:
        yield columns
        return
    named = _short_labels(named, max(NARROWEST, width * 2 // 5))
    occupied = _total([column.width for column in named])
    block: list[TextColumn] = []
    used = occupied
    for column in rest:
        needed = len(GAP) + column.least()
        if block and used + needed > width:
            yield [*named, *block]
            block, used = [], occupied
        block.append(column)
        used += needed
    yield [*named, *block]


def _short_labels(labels: Sequence[TextColumn], width: int) -> list[TextColumn]:
    """Returns label columns that together are no wider than `width`; the first gives way first."""
    shortened = list(labels)
    for i in range(len(shortened)):
        over = _total([column.width for column in shortened]) - width
        if over > 0:
            least = min(shortened[i].width, NARROWEST // 2)
            shortened[i] = shortened[i].shortened(max(least, shortened[i].width - over))
    return shortened


def _fitted(columns: Sequence[TextColumn], labels: int, width: int) -> list[TextColumn]:
    """Returns the columns of a block, narrowed to fit; cells that cannot wrap are shortened."""
    fitted = list(columns)
    texts = [i for i in range(labels, len(fitted)) if not fitted[i].right]
    over = _total([column.width for column in fitted]) - width
    if over > 0 and texts:
        room = max(0, sum(fitted[i].width for i in texts) - over)
        for i, share in zip(texts, _shares([fitted[p] for p in texts], room), strict=True):
            fitted[i] = fitted[i].narrowed(share)
    for i in range(len(fitted)):
        over = _total([column.width for column in fitted]) - width
        if over > 0:
            least = NARROWEST if i < labels else 1
            fitted[i] = fitted[i].shortened(max(least, fitted[i].width - over))
    return fitted


def _shares(columns: Sequence[TextColumn], room: int) -> list[int]:
    """Widths of columns that share a room: narrow ones keep theirs, wide ones get equal parts."""
    widths = [0] * len(columns)
    remaining = sorted(range(len(columns)), key=lambda i: columns[i].width)
    for done, i in enumerate(remaining):
        share = room // (len(remaining) - done)
        widths[i] = min(columns[i].width, max(columns[i].least(), share))
        room = max(0, room - widths[i])
    return widths


def _lines(columns: Sequence[TextColumn]) -> Iterator[str]:
    yield from _row(columns, -1)
    yield GAP.join("-" * column.width for column in columns)
    for row in range(len(columns[0].cells)):
        yield from _row(columns, row)


def _row(columns: Sequence[TextColumn], row: int) -> Iterator[str]:
    """Yields the lines of one row; a cell that has fewer than another is filled with spaces."""
    cells = [column.lines(row) for column in columns]
    for line in range(max(map(len, cells))):
        parts = [
            cell[line] if line < len(cell) else " " * column.width
            for cell, column in zip(cells, columns, strict=True)
        ]
        yield GAP.join(parts).rstrip()

"""Pages in two columns, of which the left is read first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import mean

from irtoolkit.datasets.editions.lines import Line
from irtoolkit.datasets.editions.pages import BREAK

# Lines of a page in columns at least, and the share of them that have the space between columns.
_LINES, _SHARE = 6, 0.7
# Lines that are looked at together, at most.
_LONGEST = 2000
# Words of a line of a column, on average at least: cells of tables have fewer.
_WORDS = 3
_GAP = re.compile(r"(?<=\S)[ \t]{3,}(?=\S)")


def in_one_column(lines: Iterable[Line]) -> Iterator[Line]:
    """Yields lines with the right column of each page after its left one; a page is held."""
    for page in _pages(lines):
        if any(_GAP.search(line.text) for line in page):
            yield from _one_column(page)
        else:
            yield from page


def _pages(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yields the lines up to a page break or several blank ones, with these, at most `_LONGEST`."""
    page: list[Line] = []
    blank = 0
    for line in lines:
        page.append(line)
        blank = 0 if line.text.strip() else blank + 1
        if line.text == BREAK or blank == 3 or len(page) == _LONGEST:
            yield page
            page = []
    yield page


def _one_column(page: list[Line]) -> list[Line]:
    filled = [line.text.expandtabs() for line in page if line.text.strip()]
    if len(filled) < _LINES:
        return page
    gutter = _gutter(filled)
    if gutter is None:
        return page
    clipped = [line._replace(text=line.text.expandtabs()[:gutter].rstrip()) for line in page]
    right = [
        Line(line.number, line.text.expandtabs()[gutter:].strip())
        for line in page
        if line.text != BREAK
    ]
    ends = [line for line in page if line.text == BREAK]
    return [*(line for line in clipped if line.text != BREAK), *right, *ends]


def _gutter(lines: Sequence[str]) -> int | None:
    """Returns the character at which a page is divided; None of a page in one column."""
    covered: Counter[int] = Counter()
    for line in lines:
        for gap in _GAP.finditer(line):
            covered.update(range(gap.start() + 1, gap.end()))
    if not covered:
        return None
    gutter, count = max(covered.items(), key=lambda item: (item[1], -item[0]))
    if count < _SHARE * len(lines):
        return None
    # The space must be free in every line: a title across both columns is no line of them.
    if any(
        line[gutter : gutter + 1].strip() and line[gutter - 1 : gutter].strip() for line in lines
    ):
        return None
    sides = [(line[:gutter].split(), line[gutter:].split()) for line in lines]
    both = [side for side in sides if side[0] and side[1]]
    is_prose = all(mean(len(side[n]) for side in both) >= _WORDS for n in (0, 1))
    letters = sum(any(c.isalpha() for c in " ".join(side[1])) for side in both)
    return gutter if is_prose and letters > 0.9 * len(both) else None

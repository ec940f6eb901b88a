"""Tables of any cells as text, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.tables import TextTable
from irtoolkit.base.textwidth import char_width, harmless

CELLS = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0")),
)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6))
def test_columns_of_text_line_up(rows: list[Sequence[str | float | int | None]]) -> None:
    headers = ["name", "", "p(x)"]
    table = TextTable(headers, rows)
    header, rule, *lines = table.to_text(10**6).split("\n")
    assert len(lines) == len(rows)
    widths = [len(dashes) for dashes in rule.split("  ")]
    starts = [0, widths[0] + 2, widths[0] + widths[1] + 4]
    for cells, line in zip([headers, *rows], [header, *lines], strict=True):
        # Where each character is in a terminal: what combines is where the next one begins.
        places = list(itertools.accumulate(map(char_width, line), initial=0))
        for cell, start, width in zip(cells, starts, widths, strict=True):
            found = [c for c, at in zip(line, places, strict=False) if start <= at <= start + width]
            assert "".join(found).strip() == harmless(table.shown(cell)).strip()


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6))
def test_csv_reads_back(rows: list[Sequence[str | float | int | None]]) -> None:
    header, *found = csv.reader(io.StringIO(TextTable(["a", "b"], rows).render("csv")))
    assert header == ["a", "b"]
    for cells, row in zip(rows, found, strict=True):
        for cell, text in zip(cells, row, strict=True):
            if isinstance(cell, float):
                assert repr(float(text)) == repr(cell)
            else:
                assert text == ("" if cell is None else str(cell))

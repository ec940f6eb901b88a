"""Text tables of any cells fit their width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.tables import TextTable
from irtoolkit.base.textwidth import ELLIPSIS, shorten, text_width, wrap
from tests.unit.base.test_text_tables import each_width


@given(st.text(), st.integers(1, 30))
def test_a_shortened_text_fits_and_a_short_one_is_unchanged(text: str, width: int) -> None:
    shortened = shorten(text, width)
    assert text_width(shortened) <= width
    if text_width(text) <= width:
        assert shortened == text
    else:
        assert ELLIPSIS in shortened


@given(st.lists(st.text(st.characters(categories=["L"]), min_size=1)), st.integers(2, 30))
def test_wrapping_keeps_every_character(words: list[str], width: int) -> None:
    text = " ".join(words)
    lines = wrap(text, width)
    assert all(text_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(words)
    whole = wrap(text, width, cut=False)
    assert " ".join(whole).split() == words


@each_width
@given(data=st.data())
def test_any_table_fits(width: int, data: st.DataObject) -> None:
    text = st.text(st.characters(categories=["L", "Nd", "P", "Zs"]), max_size=70)
    cell = st.one_of(st.none(), st.integers(0, 10**6), st.floats(0, 1), text)
    count = data.draw(st.integers(1, 9))
    rows = data.draw(st.lists(st.tuples(text, *[cell] * (count - 1)), max_size=4))
    headers = [f"measure{i}" for i in range(count)]
    table = TextTable(headers, rows)
    # A column of numbers keeps them whole; one that also holds a long text cannot.
    lines = table.to_text(width).split("\n")
    assert max(map(text_width, lines)) <= width

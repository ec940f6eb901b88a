"""Ids of passages: what they say of a place in a book, and which texts are none."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import id_array
from irtoolkit.base.spans import Span, positions

# Book names that hold what an id is made of, and letters of other alphabets.
NAMES = st.text("ab:+01-_é漢😀\u00a0", min_size=1, max_size=8) | st.text(
    st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=8
)
SPANS = st.builds(Span, NAMES, st.integers(0, 10**6), st.integers(1, 10**4))


@given(SPANS)
@example(Span("emma", 120, 3))
@example(Span("a:1+2", 0, 1))
@example(Span(":", 7, 1))
@example(Span("1+1:1+", 10, 12))
def test_an_id_says_what_it_was_made_from(span: Span) -> None:
    assert str(span) == f"{span.book}:{span.start}+{span.length}"
    assert Span.parse(str(span)) == span


@pytest.mark.parametrize(
    ("text", "book", "start", "length"),
    [
        ("emma:120+3", "emma", 120, 3),
        ("emma:0+1", "emma", 0, 1),
        ("война и мир:5+2", "война и мир", 5, 2),
        ("part:2:9+10", "part:2", 9, 10),
        ("c++:3+1:4+1", "c++:3+1", 4, 1),
    ],
)
def test_parse(text: str, book: str, start: int, length: int) -> None:
    span = Span.parse(text)
    assert (span.book, span.start, span.length) == (book, start, length)
    assert span.stop == start + length


BAD = [
    "", "emma", "emma:120", "emma:+3", "emma:120+", "emma:120+0", "emma:120+-3", "emma:-1+3",
    ":1+1", "emma:1+1 ", "emma:1+1\n", "emma: 1+1", "emma:1 +1", "emma:1+1+1x", "emma:1.0+1",
    "emma:١+1", "emma:1+²", "emma;1+1", "emma:1-1", "emma:0x1+1", "1+1",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_a_text_that_is_no_span(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Span.parse(text)
    assert caught.value.found == f"document id {text!r} has no position in a book"
    assert "book:start+length" in str(caught.value.remedy)
    assert (caught.value.file, caught.value.line) == (None, None)
    with pytest.raises(InputError, match="no position in a book"):
        positions(id_array(["emma:1+1", text]))


@given(st.lists(SPANS, max_size=12))
def test_positions(spans: list[Span]) -> None:
    book, middle = positions(id_array([str(span) for span in spans]))
    assert len(book) == len(middle) == len(spans)
    for i, one in enumerate(spans):
        # The mean index of its sentences, by adding the first and the last.
        assert middle[i] / 2 == (one.start + one.stop - 1) / 2
        for k, other in enumerate(spans):
            assert (book[i] == book[k]) == (one.book == other.book)

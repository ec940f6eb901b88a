"""Examples in any text: what is cut out is in its place, and examples do not overlap."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.datasets.examples import extract_examples, sentences
from tests.unit.datasets.test_egret import assert_apart, solid

PIECES = st.sampled_from(
    ["for example", "For example,", "e.g.", "E.G.", "e. g.", "(", ")", "(e.g. ", " ", " ", " ", "\n",
     "\n\n", ". ", "! ", "? ", ".", "…", '"', "”", "A", "cats", "Tom", "Mr. ", "U.S. ", "etc. ",
     "J. ", "- ", "* ", "88 °C. ", "\u3000", "\x1f", "é", "猫"]
)  # fmt: skip


PIECED = st.lists(PIECES, max_size=30).map("".join)


TEXTS = PIECED | st.text()


# Little but markers and what units are cut at.
TANGLED = st.lists(
    st.sampled_from(["for example ", "e.g. ", "(", ") ", "Cats ", "nap. "]), min_size=6, max_size=12
).map("".join)


@given(TEXTS)
@settings(max_examples=300)
def test_the_parts_make_up_the_text(text: str) -> None:
    for unit in extract_examples(text):
        assert solid(unit.left + unit.text + unit.right) == solid(text)
        assert (unit.left, unit.text, unit.right) == (
            unit.left.strip(),
            unit.text.strip(),
            unit.right.strip(),
        )
        assert any(character.isalnum() for character in unit.text)


@given(TANGLED | TEXTS)
@settings(max_examples=600)
def test_examples_are_in_order_and_do_not_overlap(text: str) -> None:
    assert_apart(text)


@given(TANGLED | TEXTS)
@settings(max_examples=600)
def test_every_unit_holds_its_marker(text: str) -> None:
    assert all(unit.marker in unit.text for unit in extract_examples(text))


@given(TEXTS)
@settings(max_examples=300)
def test_sentences_cover_a_text_in_order(text: str) -> None:
    spans = sentences(text)
    done = 0
    for start, stop in spans:
        assert done <= start < stop
        assert not text[done:start].strip()
        assert text[start:stop] == text[start:stop].strip()
        done = stop
    assert not text[done:].strip()


@given(PIECED, PIECED)
def test_paragraphs_are_apart(one: str, two: str) -> None:
    """No sentence reaches over an empty line."""
    text = f"{one}\n\n{two}"
    assert all("\n\n" not in text[start:stop] for start, stop in sentences(text))

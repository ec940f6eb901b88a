"""Terms that are found once for all queries are marked as in each text by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.apps.serve.marks import Marks
from irtoolkit.reports.overlap import Overlap

WORDS = ["lamp", "lamps", "The", "keeper's", "burned", "chairs", "\u706f\u5854\u5b88", "\u5b88\u706f", "\u03a3\u0130x", " ", "-", "."]  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=12)


@pytest.mark.parametrize("lang", ["en", "zh", None])
@given(texts=st.lists(TEXTS, min_size=1, max_size=8), query=TEXTS, first=st.integers(0, 7))
def test_marks_of_a_range_are_those_of_its_texts(
    lang: str | None, texts: list[str], query: str, first: int
) -> None:
    overlap = Overlap(lang)
    terms = overlap.terms(query)
    marks = Marks(texts, overlap)
    found = marks.of(terms)(first, len(texts)) if first < len(texts) else []
    assert found == [overlap.mark(text, terms) for text in texts[first:]]
    for text, pieces in zip(texts[first:], found, strict=True):
        assert "".join(pieces) == text
    for term, count in marks.frequencies.items():
        assert count == sum(term in overlap.terms(text) for text in texts)

"""Report pages with any text."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irtoolkit.base.markup import markdown_text
from irtoolkit.reports import texts
from irtoolkit.reports.overlap import Overlap
from irtoolkit.reports.page_data import packed

TEXTS = st.text(st.characters(codec="utf-8"))


@given(TEXTS, TEXTS)
def test_pieces_are_the_text(text: str, query: str) -> None:
    overlap = Overlap()
    pieces = overlap.mark(text, overlap.terms(query))
    assert "".join(pieces) == text
    assert len(pieces) % 2 == 1
    assert all(pieces[1::2])


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=60), st.integers(1, 70))
def test_a_pick_is_spread_over_the_order(values: list[float], count: int) -> None:
    order = np.array(values)
    places = texts.pick(order, count)
    assert places == sorted(set(places))
    assert len(places) == min(count, len(values))
    if count > 1:
        assert {order[places].min(), order[places].max()} == {order.min(), order.max()}


@given(
    st.recursive(
        TEXTS | st.integers() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
        max_leaves=8,
    )
)
def test_packed_json_reads_back_and_ends_no_element(content: Any) -> None:
    text = packed(content)
    assert json.loads(gzip.decompress(base64.b64decode(text))) == content
    assert not set(text) & set("<>&\u2028\u2029")


@given(TEXTS)
def test_a_markdown_cell_is_one_cell_on_one_line(text: str) -> None:
    said = markdown_text(text)
    assert "\n" not in said
    plain = re.sub(r"\\.", "", said)
    assert not set(plain) & set("|<>*_`[]{}#~\\")

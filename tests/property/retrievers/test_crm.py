"""The context-aware relevance model on any texts, against cosines taken one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtoolkit.retrievers import engine, known_contexts
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.known_contexts import CRM
from irtoolkit.retrievers.task import load_task
from tests.datasets import scores_of
from tests.unit.retrievers.test_crm import QUOTES, Golds, Texts, pair, pooling, restated

WORDS = st.sampled_from(["cat", "dog", "fish", "bird", "newt", "the"])


TEXT = st.lists(WORDS, max_size=6).map(" ".join)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Texts, Golds, Texts]:
    texts = draw(st.lists(TEXT, min_size=1, max_size=7))
    contexts = {f"c{i}": text for i, text in enumerate(texts)}
    own = st.lists(st.sampled_from(sorted(QUOTES)), max_size=3, unique=True)
    golds = {name: draw(own) for name in contexts}
    golds["c0"] = golds["c0"] or ["b"]
    asked = draw(st.lists(TEXT | st.just("unheard cat"), min_size=1, max_size=4))
    return contexts, golds, {f"q{i}": text for i, text in enumerate(asked)}


# What each of up to 8 terms adds to a cosine is rounded to a multiple of 2^-40.
ROUNDING = 8 * 2.0**-40


@pooling
@pytest.mark.parametrize("smooth", [True, False])
@given(case=cases())
@settings(max_examples=40)
def test_scores_are_cosines_of_contexts(
    pooling: Any, smooth: bool, case: tuple[Texts, Golds, Texts]
) -> None:
    contexts, golds, asked = case
    found = scores_of(pair(contexts, golds, asked), CRM(pooling=pooling, smooth=smooth))
    for query, text in asked.items():
        expected = restated(contexts, golds, text, QUOTES, pooling, smooth)
        assert found[query] == pytest.approx(expected, abs=ROUNDING)


@pooling
@given(case=cases(), cells=st.integers(1, 30))
@settings(max_examples=30)
def test_blocks_change_nothing(pooling: Any, case: tuple[Texts, Golds, Texts], cells: int) -> None:
    dataset_id = pair(*case)
    before = scores_of(dataset_id, CRM(pooling=pooling))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_contexts, "_CELLS", cells)
        assert scores_of(dataset_id, CRM(pooling=pooling)) == before
        patch.setattr(engine, "BLOCK_CELLS", cells)
        run = rank(load_task(dataset_id), CRM(pooling=pooling), progress=False)
    assert run == rank(load_task(dataset_id), CRM(pooling=pooling), progress=False)

"""The best of many scores, in single precision as a run is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irtoolkit.base import compiled
from irtoolkit.runs.top_k import TieOrder, top_k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("steps", [0, compiled.STEPS])
def test_a_score_of_minus_zero_is_zero(
    dtype: Any, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled.Work, "steps", steps)
    scores = np.full((1, 600), -1, dtype)
    scores[0, 3] = -0.0
    for k in (None, 5):
        _, singles = top_k(scores, TieOrder(np.arange(600, dtype=np.int32), "trec"), k)
        assert singles[0, 0] == 0
        assert not np.signbit(singles[0, 0])


@pytest.mark.parametrize("k", [3, 400])
def test_of_equal_scores_in_single_precision_the_greatest_keys_are_the_best(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled.Work, "steps", compiled.STEPS)
    keys = np.random.default_rng(3).permutation(1200)
    [places], [singles] = top_k(np.ones((1, 1200), np.float32), TieOrder(keys, "trec"), k)
    assert keys[places].tolist() == list(range(1199, 1199 - k, -1))
    assert (singles == 1).all()

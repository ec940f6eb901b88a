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

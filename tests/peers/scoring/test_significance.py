"""Corrections for multiple tests, against statsmodels."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import example, given
from statsmodels.stats.multitest import multipletests

from irtoolkit.scoring.significance import (
    Correction,
    correct,
)
from tests.property.scoring.test_significance import p_values


@pytest.mark.parametrize("method", ["holm", "bonferroni"])
@given(p=p_values.filter(len))
@example(p=[0.04])
@example(p=[0.01, 0.01, 0.01])
@example(p=[0.03, 0.02, 0.01])
def test_correction_is_statsmodels(method: Correction, p: list[float]) -> None:
    with patch("gc.collect"):  # statsmodels would collect garbage at every call, for seconds
        expected = multipletests(p, method=method)[1]
    assert correct(p, method) == pytest.approx(expected.tolist(), abs=1e-15)

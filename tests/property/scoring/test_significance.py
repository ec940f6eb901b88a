"""Significance of any values: what every test, interval and correction promises."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from irtoolkit.scoring.significance import (
    Correction,
    PairedTest,
    correct,
    effect_size,
    fisher,
    paired_test,
)
from tests.unit.scoring.test_significance import (
    counted_p,
    enumerated_p,
    every_correction,
    every_test,
)

small_integers = st.lists(st.integers(-8, 8), min_size=1, max_size=10)


@given(small_integers)
@example([0])
@example([5])
@example([1, -1])
@example([0, 0, 3])
@example([3] * 10)
def test_fisher_is_the_enumeration_of_all_sign_patterns(differences: list[int]) -> None:
    assert fisher(differences) == enumerated_p(differences)
    assert counted_p(differences) == enumerated_p(differences)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=9), st.sampled_from([3, 7, 10, 20, 100]))
def test_fisher_is_not_led_astray_by_rounding(numerators: list[int], denominator: int) -> None:
    """Sums of decimals tie in exact arithmetic, and count as tied in floating point."""
    exact = [Fraction(n, denominator) for n in numerators]
    assert fisher([float(d) for d in exact]) == enumerated_p(exact)


@given(
    st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=17, max_size=40),
    st.integers(0, 2**32),
)
@settings(max_examples=25)
def test_fisher_is_a_p_value(differences: list[float], seed: int) -> None:
    p = fisher(differences, permutations=500, seed=seed)
    assert 1 / 501 <= p <= 1.0
    assert fisher([-d for d in differences], permutations=500, seed=seed) == p
    assert fisher(differences, permutations=500, seed=seed) == p


unit = st.floats(0, 1, allow_subnormal=False) | st.sampled_from([0.0, 0.05, 0.1, 0.5, 1.0])


pairs = st.lists(st.tuples(unit, unit), min_size=1, max_size=8)


def columns(rows: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [row[0] for row in rows], [row[1] for row in rows]


@every_test
@given(rows=pairs)
@example(rows=[(0.3, 0.0)])
@example(rows=[(0.5, 0.0)] * 3)
@example(rows=[(0.5, 0.5), (0.3, 0.0)])
@example(rows=[(0.3, 0.0), (0.0, 0.3)])
@example(rows=[(1.0, 1.0), (0.0, 0.0), (0.2, 0.1)])
@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
def test_p_is_a_number_between_zero_and_one(
    test: PairedTest, rows: list[tuple[float, float]]
) -> None:
    p = paired_test(*columns(rows), test)
    assert type(p) is float
    assert 0.0 <= p <= 1.0
    if test != "student":
        assert p > 0.0


@every_test
@given(rows=pairs)
@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
def test_p_does_not_depend_on_which_system_comes_first(
    test: PairedTest, rows: list[tuple[float, float]]
) -> None:
    a, b = columns(rows)
    assert paired_test(a, b, test) == pytest.approx(paired_test(b, a, test), abs=1e-15)


@every_test
@given(rows=pairs, random=st.randoms(use_true_random=False))
@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
def test_p_does_not_depend_on_the_order_of_queries(
    test: PairedTest, rows: list[tuple[float, float]], random: Any
) -> None:
    assume(len({a - b for a, b in rows}) > 1)
    a, b = columns(rows)
    random.shuffle(rows)
    assert paired_test(*columns(rows), test) == pytest.approx(paired_test(a, b, test), rel=1e-6)


@every_test
@given(
    counts=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=14),
    whole=st.sampled_from([5, 7, 10, 20, 100]),
    factor=st.sampled_from([5.0, 0.1, 1 / 3]),
)
@example(counts=[(3, 2), (2, 1), (0, 4), (1, 4), (4, 1)], whole=5, factor=5.0)
@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
def test_p_does_not_depend_on_the_unit_of_the_values(
    test: PairedTest, counts: list[tuple[int, int]], whole: int, factor: float
) -> None:
    """Shares and counts of documents: rounding makes other differences of them, but no other p."""
    a, b = (np.array(column) / whole for column in columns(counts))
    p = paired_test(a, b, test)
    assert paired_test(a * factor, b * factor, test) == pytest.approx(p, rel=1e-9, abs=1e-12)
    if test != "student":
        assert paired_test(*columns(counts), test) == p


p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), max_size=12)


@given(p_values)
def test_no_correction_is_the_values_themselves(p: list[float]) -> None:
    assert correct(p, "none") == p


@every_correction
@given(p=p_values)
def test_corrected_values_are_plain_probabilities(method: Correction, p: list[float]) -> None:
    found = correct(p, method)
    assert len(found) == len(p)
    assert all(type(value) is float for value in found)
    assert all(raw <= value <= 1.0 for raw, value in zip(p, found, strict=True))


@given(p_values)
def test_holm_is_never_weaker_than_bonferroni_and_keeps_the_order(p: list[float]) -> None:
    holm, bonferroni = correct(p, "holm"), correct(p, "bonferroni")
    assert all(h <= b + 1e-15 for h, b in zip(holm, bonferroni, strict=True))
    by_raw = [value for _, value in sorted(zip(p, holm, strict=True))]
    assert by_raw == sorted(holm)


@given(st.lists(st.tuples(unit, unit), min_size=2, max_size=20))
def test_effect_size_is_t_over_the_root_of_the_number_of_queries(
    rows: list[tuple[float, float]],
) -> None:
    a, b = (np.array(column) for column in columns(rows))
    assume(np.std(a - b) > 1e-6)
    t = stats.ttest_rel(a, b).statistic
    assert effect_size(a, b) == pytest.approx(t / math.sqrt(len(rows)), rel=1e-9, abs=1e-12)

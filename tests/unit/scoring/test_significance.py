"""Significance and comparison: every p-value, interval and effect, derived a second way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from irtoolkit.base.ids import id_array
from irtoolkit.scoring.compare import Compared, compare
from irtoolkit.scoring.evaluation import Evaluation, parse_measures
from irtoolkit.scoring.significance import (
    Correction,
    PairedTest,
    confidence_interval,
    correct,
    differences,
    effect_size,
    fisher,
    paired_test,
)

# What is documented: exact up to so many queries, and estimated from so many draws beyond.
EXACT_QUERIES = 16
TESTS: tuple[PairedTest, ...] = ("student", "fisher", "wilcoxon")
every_test = pytest.mark.parametrize("test", TESTS)

# ---------------------------------------------------------------------------------------------
# The randomisation test, restated in whole numbers
# ---------------------------------------------------------------------------------------------


def enumerated_p(differences: Sequence[Fraction | int]) -> float:
    """Share of all sign patterns whose sum is as far from zero as the observed one."""
    observed = abs(sum(differences))
    patterns = list(product((1, -1), repeat=len(differences)))
    extreme = sum(
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed
        for signs in patterns
    )
    return extreme / len(patterns)


def counted_p(differences: Sequence[int]) -> float:
    """The same by counting how many patterns give each sum: for any number of queries."""
    ways: Counter[int] = Counter({0: 1})
    for d in differences:
        following: Counter[int] = Counter()
        for total, count in ways.items():
            following[total + d] += count
            following[total - d] += count
        ways = following
    observed = abs(sum(differences))
    extreme = sum(count for total, count in ways.items() if abs(total) >= observed)
    return float(Fraction(extreme, 2 ** len(differences)))


@pytest.mark.parametrize("queries", range(1, EXACT_QUERIES + 1))
def test_fisher_is_exact_up_to_sixteen_queries(queries: int) -> None:
    differences = np.random.default_rng(queries).integers(-5, 8, queries).tolist()
    assert fisher(differences) == counted_p(differences)
    assert fisher(differences, permutations=1) == counted_p(differences)


@pytest.mark.parametrize("draws", [1, 99, 999, 100_000])
def test_fisher_is_never_zero(draws: int) -> None:
    """All fifty differences of one sign: no pattern that is drawn comes near the observed one."""
    p = fisher(np.linspace(1, 2, 50), permutations=draws)
    assert p == 1 / (draws + 1)


# ---------------------------------------------------------------------------------------------
# Paired tests
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("queries", [2, 3, 30, 1000])
def test_student_is_scipys(seed: int, queries: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random(queries), rng.random(queries)
    expected = stats.ttest_rel(a, b).pvalue
    assert paired_test(a, b, "student") == paired_test(a, b) == expected


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("queries", [1, 2, 10, 30, 200])
def test_wilcoxon_is_scipys(seed: int, queries: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random(queries), rng.random(queries)
    assert paired_test(a, b, "wilcoxon") == stats.wilcoxon(a, b).pvalue


@every_test
def test_differences_that_are_only_rounding_are_none(test: PairedTest) -> None:
    a, b = [0.1 + 0.2, 0.7 + 0.1], [0.3, 0.8]
    assert a[0] != b[0]
    assert a[1] != b[1]
    assert paired_test(a, b, test) == 1.0
    assert differences(a, b).tolist() == [0.0, 0.0]


@every_test
@pytest.mark.parametrize("values", [[0.3], [0.0] * 5, [0.1, 0.7, 0.2], list(np.arange(100) / 7)])
def test_equal_systems_have_p_one(test: PairedTest, values: list[float]) -> None:
    assert paired_test(values, values, test) == 1.0
    assert paired_test(values, np.array(values), test) == 1.0


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
def test_a_constant_difference() -> None:
    """Every query better by one quarter: t is infinite, and the others count sign patterns."""
    a, b = [0.25, 0.5, 0.75, 1.0], [0.0, 0.25, 0.5, 0.75]
    assert paired_test(a, b, "student") == pytest.approx(0.0, abs=1e-12)
    assert paired_test(a, b, "fisher") == 2 / 2**4
    # All signed ranks tie, for which scipy does not enumerate.
    assert 0.0 < paired_test(a, b, "wilcoxon") <= 0.125


def test_the_seed_reaches_fisher() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random(50), rng.random(50)
    assert paired_test(a, b, "fisher", seed=1) == fisher(a - b, seed=1)
    assert paired_test(a, b, "fisher", seed=1) != paired_test(a, b, "fisher", seed=2)
    assert paired_test(a, b, "student", seed=1) == paired_test(a, b, "student", seed=2)


@every_test
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([], []),
        ([0.1, 0.2], [0.1]),
        ([[0.1, 0.2]], [[0.1, 0.3]]),
        (np.empty((0, 3)), np.empty((0, 3))),
    ],
)
def test_rows_that_are_no_pairs_are_refused(test: PairedTest, a: Any, b: Any) -> None:
    with pytest.raises(ValueError, match="two equal, non-empty rows"):
        paired_test(a, b, test)


# ---------------------------------------------------------------------------------------------
# Corrections
# ---------------------------------------------------------------------------------------------

every_correction = pytest.mark.parametrize("method", ["holm", "bonferroni", "none"])


def test_holm_by_hand() -> None:
    # In order .01 .03 .04: .01 * 3, .03 * 2, and .04 raised to what stands before it.
    assert correct([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


def test_bonferroni_by_hand() -> None:
    assert correct([0.04, 0.01, 0.5], "bonferroni") == pytest.approx([0.12, 0.03, 1.0])


# ---------------------------------------------------------------------------------------------
# Intervals
# ---------------------------------------------------------------------------------------------


def sample(seed: int, queries: int) -> Any:
    return np.random.default_rng(seed).beta(1, 2, queries)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("queries", [10, 50, 500])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_interval_is_scipys_within_monte_carlo_error(seed: int, queries: int, level: float) -> None:
    """Both ends of two bootstraps of 10,000, within five standard errors of their difference.

    The q-quantile of B draws from a density f has standard error sqrt(q (1 - q) / B) / f; means
    of resamples are close to normal, so f is the normal density there over the error of the mean.
    """
    values = sample(seed, queries)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, confidence_level=level, method="percentile", rng=7
    ).confidence_interval
    q = (1 - level) / 2
    density = stats.norm.pdf(stats.norm.ppf(q)) / (values.std() / math.sqrt(queries))
    error = math.sqrt(2 * q * (1 - q) / 10_000) / density
    assert confidence_interval(values, level) == pytest.approx(
        (theirs.low, theirs.high), abs=5 * error
    )


def test_interval_by_enumeration_of_all_resamples() -> None:
    """Two values have three means: 0, 1/2 and 1, with shares 1/4, 1/2 and 1/4."""
    assert confidence_interval([0.0, 1.0], 0.95) == (0.0, 1.0)
    # Quantiles .3 and .7 both fall among the halves.
    assert confidence_interval([0.0, 1.0], 0.4) == (0.5, 0.5)


# ---------------------------------------------------------------------------------------------
# Effect size
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # Differences 1 2 3: mean 2, standard deviation 1.
        ([1, 2, 3], [0, 0, 0], 2.0),
        # Differences 0 2: mean 1, standard deviation sqrt 2.
        ([0, 2], [0, 0], 1 / math.sqrt(2)),
        # Differences 1 -1 cancel.
        # Differences .5 0 0 0: mean .125, standard deviation .25.
        ([0.5, 0.1, 0.2, 0.3], [0.0, 0.1, 0.2, 0.3], 0.5),
        ([0.3], [0.3], 0.0),
        ([0.2], [0.3], -math.inf),
        ([0.0, 0.25, 0.5], [0.25, 0.5, 0.75], -math.inf),
    ],
)
def test_effect_size_by_hand(a: list[float], b: list[float], expected: float) -> None:
    assert effect_size(a, b) == pytest.approx(expected)


@pytest.mark.parametrize("steps", [20, 50, 100, 1000])
def test_effect_of_a_constant_difference_is_infinite_whatever_the_rounding(steps: int) -> None:
    """P@50 up by one document in every query: .32 - .3 and .94 - .92 differ as floats."""
    better = [k / steps for k in range(1, steps)]
    base = [(k - 1) / steps for k in range(1, steps)]
    assert effect_size(better, base) == math.inf
    assert effect_size(base, better) == -math.inf


# ---------------------------------------------------------------------------------------------
# Systems beside each other
# ---------------------------------------------------------------------------------------------


def evaluation(
    values: Sequence[float],
    folds: Sequence[Sequence[int]] = (),
    others: Sequence[float] | None = None,
) -> Evaluation:
    """An evaluation with these values of AP, and of RR (zero, unless given)."""
    count = len(values)
    parts = folds or [range(count)]
    return Evaluation(
        parse_measures("AP RR"),
        id_array([f"q{i}" for i in range(count)]),
        np.array([values, [0.0] * count if others is None else others]),
        tuple(np.array(part, dtype=np.intp) for part in parts),
    )


BASE = [0.10, 0.20, 0.30, 0.40, 0.50, 0.60]
SYSTEMS = {
    "better": [0.20, 0.35, 0.40, 0.60, 0.55, 0.75],
    "base": BASE,
    "mixed": [0.20, 0.10, 0.30, 0.45, 0.50, 0.50],
    "equal": list(BASE),
    "worse": [0.00, 0.05, 0.25, 0.30, 0.20, 0.55],
}


def compared(**kwargs: Any) -> dict[str, Compared]:
    evaluations = {name: evaluation(values) for name, values in SYSTEMS.items()}
    rows = compare(evaluations, "AP", baseline="base", **kwargs)
    assert [row.system for row in rows] == list(SYSTEMS)
    return {row.system: row for row in rows}


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "none"])
@every_test
def test_each_system_is_tested_and_corrected_over_the_family_only(
    test: PairedTest, correction: Correction
) -> None:
    """Four tests are made of five systems: the family is four, and not five."""
    rows = compared(test=test, correction=correction)
    scipys = {
        "student": lambda x: stats.ttest_rel(x, BASE).pvalue,
        "wilcoxon": lambda x: stats.wilcoxon(x, BASE).pvalue,
        # In twentieths, which these values are all whole numbers of.
        "fisher": lambda x: enumerated_p(
            [round(20 * u) - round(20 * v) for u, v in zip(x, BASE, strict=True)]
        ),
    }
    others = [name for name in SYSTEMS if name != "base"]
    raw = [1.0 if name == "equal" else scipys[test](SYSTEMS[name]) for name in others]
    expected = {
        "holm": lambda: multipletests(raw, method="holm")[1].tolist(),
        "bonferroni": lambda: [min(1.0, 4 * p) for p in raw],
        "none": lambda: raw,
    }[correction]()
    assert [rows[name].p_value for name in others] == pytest.approx(raw)
    assert [rows[name].corrected for name in others] == pytest.approx(expected)


def test_difference_is_of_the_benchmarks_figures_and_tests_are_over_all_queries() -> None:
    """Folds of one and three queries: figures weigh them alike, tests and intervals do not."""
    folds = [[0], [1, 2, 3]]
    base, other = [0.0, 0.25, 0.5, 0.75], [1.0, 0.25, 0.5, 0.5]
    first, second = compare(
        {"b": evaluation(base, folds), "s": evaluation(other, folds)}, "AP", baseline="b"
    )
    assert first.figure == pytest.approx((0 + 0.5) / 2)
    assert second.figure == pytest.approx((1 + 1.25 / 3) / 2)
    assert second.difference == pytest.approx(second.figure - first.figure)
    assert second.p_value == pytest.approx(stats.ttest_rel(other, base).pvalue)
    assert (second.low, second.high) == confidence_interval(other)
    assert (second.wins, second.losses) == (1, 1)


def test_systems_of_different_numbers_of_queries_are_refused() -> None:
    with pytest.raises(ValueError, match="equal"):
        compare({"b": evaluation(BASE), "s": evaluation(BASE[:3])}, "AP", baseline="b")

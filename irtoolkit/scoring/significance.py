"""Significance of differences between systems: paired tests over queries, corrections, intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irtoolkit.base.plurals import number_of

PairedTest = Literal["student", "fisher", "wilcoxon"]
Correction = Literal["holm", "bonferroni", "none"]

# Fewer queries than this give no reliable test (Buckley and Voorhees 2000: at least 25).
FEW = 25
PERMUTATIONS = 100_000
RESAMPLES = 10_000
SEED = 42
# All sign patterns of so many queries, 2^16, are counted: faster than sampling, and exact.
EXACT_QUERIES = 16
# Values that differ by less, relative to the largest, differ by the rounding of floats.
_ROUNDING = 1e-12


def paired_test(
    a: ArrayLike, b: ArrayLike, test: PairedTest = "student", seed: int = SEED
) -> float:
    """Returns the two-sided p-value of the null hypothesis that two systems do not differ.

    Args:
        a, b: (Q,) per-query values of two systems, in the same order of queries.
        test: "student", the paired t-test; "fisher", the randomisation test on the mean
            difference; or "wilcoxon", the signed-rank test, which drops zero differences.
        seed: the seed of the randomisation test.

    Returns:
        The p-value; 1 if the two systems are equal for every query.

    Raises:
        ValueError: the arrays differ in length, are empty or have a value that is not finite; there
            is no such test.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or not len(x):
        raise ValueError(
            f"paired tests need two equal, non-empty rows, not {x.shape} and {y.shape}"
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("paired tests need finite values")
    if test not in get_args(PairedTest):
        raise ValueError(f"no test {test!r}: there are {', '.join(get_args(PairedTest))}")
    d = differences(x, y)
    if not d.any():
        return 1.0
    from scipy import stats

    if test == "student":
        # One query, or a constant difference, leaves t undefined or infinite.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return float(stats.ttest_rel(x, y).pvalue) if len(x) > 1 else 1.0
    if test == "wilcoxon":
        return float(stats.wilcoxon(d).pvalue)
    return fisher(x - y, seed=seed)


def differences(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Returns (Q,) the paired differences, without what rounding makes of them.

    Differences within the rounding of the values are 0, and those whose sizes differ by no more than
    that have one size: P@5 and the number of relevant documents rank the queries alike.

    Args:
        a, b: (Q,) per-query values of two systems, finite.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    d: NDArray[np.float64] = x - y
    rounding = _ROUNDING * float(np.max(np.abs([x, y])))
    # From 0 up, a size begins where the step to it is more than rounding.
    sizes = np.sort(np.append(np.abs(d), 0.0))
    begins = sizes[np.append(True, np.diff(sizes) > rounding)]
    evened = begins[np.searchsorted(begins, np.abs(d), side="right") - 1]
    signed: NDArray[np.float64] = np.copysign(evened, d)
    return signed


def leaning(a: ArrayLike, b: ArrayLike, test: PairedTest) -> float:
    """Returns the sum that a paired test is of: above 0 it favours `a`, below 0 the other.

    It is the sum that the test is of: of the ranks of differences with their signs for wilcoxon, which may
    have another sign than that of the differences themselves.
    """
    d = differences(a, b)
    if test == "wilcoxon":
        from scipy import stats

        d = d[d != 0]
        return float((np.sign(d) * stats.rankdata(np.abs(d))).sum())
    return float(d.sum())


def wins_and_losses(a: ArrayLike, b: ArrayLike, *, lower_is_better: bool) -> tuple[int, int]:
    """Returns on how many queries a system is better than another, and on how many worse."""
    d = differences(a, b)
    more, less = int((d > 0).sum()), int((d < 0).sum())
    return (less, more) if lower_is_better else (more, less)


def fisher(differences: ArrayLike, permutations: int = PERMUTATIONS, seed: int = SEED) -> float:
    """Returns the p-value of Fisher's randomisation test, which flips signs (Smucker et al. 2007).

    Up to 16 queries, the value is exact, over all 2^Q sign patterns. For more, it is a Monte Carlo
    estimate that counts the observed pattern too, so that p is never 0 (Phipson and Smyth 2010).

    Args:
        differences: (Q,) per-query differences.
        permutations: number of sign patterns to draw.
        seed: the seed of the draws; p is the same for any number of threads.
    """
    d = np.asarray(differences, dtype=np.float64)
    # Sums that differ only by rounding count as equal.
    bound = abs(d.sum()) - _ROUNDING * np.abs(d).sum()
    if len(d) <= EXACT_QUERIES:
        patterns = (np.arange(2 ** len(d))[:, None] >> np.arange(len(d))) & 1
        return float(np.mean(np.abs((1 - 2 * patterns) @ d) >= bound))
    generator = np.random.default_rng(seed)
    extreme, width = 0, -(-len(d) // 8)
    block = max(1, (1 << 24) // len(d))
    for start in range(0, permutations, block):
        count = min(block, permutations - start)
        bits = np.frombuffer(generator.bytes(count * width), dtype=np.uint8).reshape(count, width)
        flips = np.unpackbits(bits, axis=1, count=len(d))
        # sum of d with flipped signs = sum(d) - 2 * sum(d where flipped)
        sums = d.sum() - 2 * (flips @ d)
        extreme += int(np.count_nonzero(np.abs(sums) >= bound))
    return (extreme + 1) / (permutations + 1)


def correct(p_values: Sequence[float], method: Correction = "holm") -> list[float]:
    """Returns the p-values of a family of comparisons, adjusted for their number.

    Args:
        p_values: the p-values of the single tests.
        method: "holm" (step-down, never less powerful than Bonferroni), "bonferroni", or "none".

    Raises:
        ValueError: there is no such correction.
    """
    if method not in get_args(Correction):
        raise ValueError(f"no correction {method!r}: there are {', '.join(get_args(Correction))}")
    p = np.asarray(p_values, dtype=np.float64)
    if method == "none" or not len(p):
        return [float(value) for value in p]
    if method == "bonferroni":
        return [float(value) for value in np.minimum(1.0, p * len(p))]
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, stepped)
    return [float(value) for value in adjusted]


def confidence_interval(
    values: ArrayLike,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    *,
    figures: Callable[[NDArray[np.float64]], NDArray[Any]] | None = None,
) -> tuple[float, float]:
    """Returns the percentile bootstrap interval of a mean, or another figure, over queries.

    Args:
        values: (Q,) per-query values, or differences.
        level: the coverage of the interval.
        resamples: number of bootstrap samples.
        seed: the seed of the samples.
        figures: from (N, Q) values the N figures, as in `irtoolkit.measures.traits.Summary`; by
            default means.
    """
    v = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    block = max(1, (1 << 23) // len(v))
    for start in range(0, resamples, block):
        stop = min(start + block, resamples)
        drawn = v[generator.integers(0, len(v), (stop - start, len(v)))]
        means[start:stop] = drawn.mean(axis=1) if figures is None else figures(drawn)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def effect_size(a: ArrayLike, b: ArrayLike) -> float:
    """Returns Cohen's d of paired values: the mean difference over the differences' standard deviation.

    It is 0 for equal systems, and infinite where every query differs by the same amount.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    d = x - y
    # Differences within the rounding of the values count as 0.
    rounding = _ROUNDING * float(np.max(np.abs([x, y])))
    if np.abs(d).max() <= rounding:
        return 0.0
    spread = float(np.std(d, ddof=1)) if len(d) > 1 else 0.0
    mean = float(np.mean(d))
    return mean / spread if spread > rounding else float(np.copysign(np.inf, mean))


def caution_on_few(queries: int, test: PairedTest) -> str | None:
    """Returns a caution about a test on few queries; None if there are enough."""
    if queries >= FEW:
        return None
    is_t_test, least = test == "student", 2 / 2**queries
    if least < 0.05:
        kind = "t-test, which assumes normal differences" if is_t_test else "significance test"
        found = f"{queries} queries are few for a {kind}"
    elif is_t_test:
        found = f"p below {least:.2g} on {number_of(queries, 'queries')} rests on normal differences alone"
    else:
        found = f"on {number_of(queries, 'queries')} this test cannot give p below {least:.2g}"
    return f"Caution: {found}. Use {FEW} queries or more."

"""Agreement of raters: ρ, α, κ and equal judgments, beside slow plain formulas."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from irtoolkit.base.errors import InputError
from irtoolkit.scoring.agreement import agreement, alpha

GRADES = (0, 1, 2, 3)
NAN = float("nan")


def slow_alpha(raters: list[list[float]]) -> float:
    """Krippendorff's ordinal α by his definition, from pairs of values within units."""
    units = [[v for v in unit if not math.isnan(v)] for unit in zip(*raters, strict=True)]
    pairs: Counter[tuple[float, float]] = Counter()
    for unit in units:
        for one, other in permutations(unit, 2):
            pairs[one, other] += 1 / (len(unit) - 1)  # type: ignore[assignment]
    sums = {v: sum(n for (one, _), n in pairs.items() if one == v) for v in {a for a, _ in pairs}}
    total = sum(sums.values())

    def distance(low: float, high: float) -> float:
        low, high = min(low, high), max(low, high)
        between = sum(n for v, n in sums.items() if low <= v <= high)
        return float(between - (sums[low] + sums[high]) / 2) ** 2

    seen = sum(n * distance(one, other) for (one, other), n in pairs.items())
    expected = sum(sums[a] * (sums[b] - (a == b)) * distance(a, b) for a in sums for b in sums) / (
        total - 1
    )
    return 1 - seen / expected


def slow_kappa(first: list[float], second: list[float]) -> float:
    n = len(first)
    seen = sum(a == b for a, b in zip(first, second, strict=True)) / n
    chance = sum(first.count(g) * second.count(g) for g in GRADES) / n**2
    return (seen - chance) / (1 - chance)


def slow_rho(first: list[float], second: list[float]) -> float:
    def ranks(values: list[float]) -> list[float]:
        return [sum(o < v for o in values) + (sum(o == v for o in values) + 1) / 2 for v in values]

    x, y = np.array(ranks(first)), np.array(ranks(second))
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / math.sqrt((x * x).sum() * (y * y).sum()))


def rated(seed: int, size: int = 40) -> tuple[list[float], list[float]]:
    draw = random.Random(seed)
    first = [float(draw.choices(GRADES, (6, 3, 2, 1))[0]) for _ in range(size)]
    second = [v if draw.random() < 0.6 else float(draw.choice(GRADES)) for v in first]
    return first, second


@pytest.mark.parametrize("seed", range(8))
def test_each_statistic_is_that_of_its_definition(seed: int) -> None:
    first, second = rated(seed)
    equal = 100 * sum(a == b for a, b in zip(first, second, strict=True)) / len(first)
    slow = [slow_rho(first, second), slow_alpha([first, second]), slow_kappa(first, second), equal]
    assert agreement(first, second).tolist() == pytest.approx(slow)


def test_alpha_of_three_raters_of_whom_some_judged_less() -> None:
    first, second = rated(3)
    third = [NAN if i % 4 else v for i, v in enumerate(second)]
    first[2] = NAN
    assert alpha([first, second, third]) == pytest.approx(slow_alpha([first, second, third]))


def test_raters_who_agree_in_everything() -> None:
    assert agreement([0, 1, 2], [0, 1, 2]).tolist() == pytest.approx([1, 1, 1, 100])


@pytest.mark.parametrize("second", [[], [1.0]])
def test_raters_must_have_judged_the_same_things(second: list[float]) -> None:
    with pytest.raises(InputError, match="cannot be compared"):
        agreement([1.0, 2.0] if second else [], second)

"""Tests of every pair of systems on a measure, and the letters that show their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from ir_measures.measures.base import MeanAgg

from irtoolkit.base.ids import Floats
from irtoolkit.measures.traits import traits
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.significance import (
    Correction,
    PairedTest,
    confidence_interval,
    correct,
    effect_size,
    paired_test,
    wins_and_losses,
)

# Corrected p-values below this count as significant.
ALPHA = 0.05


@dataclass(frozen=True)
class Pair:
    """Two systems compared on one measure.

    Attributes:
        first: the position of the first system.
        second: the position of the second system.
        difference: the difference of the benchmark's figures, first minus second.
        p_value: the p-value of the paired test over all queries.
        corrected: the p-value after correction over all tested pairs of the measure.
        effect: Cohen's d of the paired differences.
        wins: the number of queries on which the first system is better.
        losses: the number of queries on which the first system is worse.
        better: the position of the significantly better system, or None.
    """

    first: int
    second: int
    difference: float
    p_value: float
    corrected: float
    effect: float
    wins: int
    losses: int
    better: int | None


@dataclass(frozen=True)
class MeasureColumn:
    """The results of all systems on one measure.

    Attributes:
        measure: the name of the measure.
        lower: whether lower values are better.
        figures: the benchmark's figure of each system.
        intervals: the 95% bootstrap interval of each system's plain mean over queries; None where
            the figure is not a mean or a value is not finite.
        pairs: the pairs of systems that were tested.
        untested: the reason why no pair was tested, or None.
    """

    measure: str
    lower: bool
    figures: tuple[float, ...]
    intervals: tuple[tuple[float, float] | None, ...]
    pairs: tuple[Pair, ...]
    untested: str | None = None

    def beaten_by(self, system: int) -> tuple[int, ...]:
        """Positions of the systems that a system is significantly better than."""
        return tuple(
            sorted(
                p.second if p.better == p.first else p.first
                for p in self.pairs
                if p.better == system
            )
        )

    def is_best(self, system: int) -> bool:
        """Whether no other system has a better figure."""
        best = min(self.figures) if self.lower else max(self.figures)
        return len(self.figures) > 1 and math.isfinite(best) and self.figures[system] == best


def measure_column(
    evaluations: Sequence[Evaluation],
    measure: str,
    *,
    test: PairedTest = "student",
    correction: Correction = "holm",
    baseline: int | None = None,
) -> MeasureColumn:
    """Tests systems on one measure.

    Args:
        evaluations: the values of each system, on the same queries.
        measure: one of the evaluations' measures.
        test, correction: see `irtoolkit.scoring.significance`.
        baseline: the position of the system that the others are tested against, as in `irtoolkit
            compare`; None tests every pair.
    """
    asked = evaluations[0].measures[measure]
    lower = traits(asked).lower_is_better
    values = [evaluation.per_query(measure) for evaluation in evaluations]
    figures = tuple(evaluation.figures()[measure] for evaluation in evaluations)
    finite = [bool(np.isfinite(row).all()) for row in values]
    untested = None
    if not isinstance(asked.aggregator(), MeanAgg):
        untested = "its figure is not a mean over queries, as intervals and tests require"
        finite = [False] * len(values)
    elif not all(finite):
        lacking = [int((~np.isfinite(row)).sum()) for row in values]
        untested = (
            f"up to {max(lacking):,} queries have no finite value, because a run is too shallow"
        )
    intervals = tuple(
        confidence_interval(row) if known else None
        for row, known in zip(values, finite, strict=True)
    )
    pairs = () if untested else _pairs(values, figures, lower, test, correction, baseline)
    return MeasureColumn(measure, lower, figures, intervals, pairs, untested)


def _pairs(
    values: list[Floats],
    figures: tuple[float, ...],
    lower: bool,
    test: PairedTest,
    correction: Correction,
    baseline: int | None,
) -> tuple[Pair, ...]:
    if baseline is None:
        asked = list(combinations(range(len(values)), 2))
    else:
        asked = [(i, baseline) for i in range(len(values)) if i != baseline]
    raw = [paired_test(values[a], values[b], test) for a, b in asked]
    found = []
    for (a, b), p, corrected in zip(asked, raw, correct(raw, correction), strict=True):
        # The test compares plain means; the benchmark's own averages may differ in the other direction.
        gain = float(np.mean(values[a] - values[b])) * (-1 if lower else 1)
        better = (a if gain > 0 else b) if corrected < ALPHA and gain else None
        wins, losses = wins_and_losses(values[a], values[b], lower_is_better=lower)
        effect = effect_size(values[a], values[b])
        difference = figures[a] - figures[b]
        found.append(Pair(a, b, difference, p, corrected, effect, wins, losses, better))
    return tuple(found)


def letter(place: int) -> str:
    """The letter of a system by its position: a, b, ..., z, aa, ab, ..."""
    name = ""
    while place >= 0:
        place, last = divmod(place, 26)
        name = chr(ord("a") + last) + name
        place -= 1
    return name

"""Which systems are better than which: every pair tested on a measure, as letters in a table."""

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
)

# Corrected p-values below this count as significant.
ALPHA = 0.05


@dataclass(frozen=True)
class Pair:
    """Two systems on one measure, by their places among the systems.

    Attributes:
        first, second: the systems.
        difference: of the benchmark's figures, first minus second.
        p_value, corrected: of the paired test over all queries, before and after correction over
            all pairs of the measure that are tested.
        effect: Cohen's d of the paired differences.
        wins, losses: queries on which the first is better or worse.
        better: the place of the system that is significantly better, or None.
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
    """One measure over all systems.

    Attributes:
        measure: its name.
        lower: whether lower is better.
        figures: the benchmark's figure of each system.
        intervals: 95% bootstrap interval of each system's plain mean over queries; None where
            the figure is no mean, or a value is not finite.
        pairs: those that were tested.
        untested: why nothing was tested, or None.
    """

    measure: str
    lower: bool
    figures: tuple[float, ...]
    intervals: tuple[tuple[float, float] | None, ...]
    pairs: tuple[Pair, ...]
    untested: str | None = None

    def beaten_by(self, system: int) -> tuple[int, ...]:
        """The systems that one is significantly better than."""
        return tuple(
            sorted(
                p.second if p.better == p.first else p.first
                for p in self.pairs
                if p.better == system
            )
        )

    def is_best(self, system: int) -> bool:
        """Whether a system has the best figure, alone or with others."""
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
    """Tests the systems on one measure.

    Args:
        evaluations: of each system, on the same queries.
        measure: one of the evaluations' measures.
        test, correction: see `irtoolkit.scoring.significance`.
        baseline: the system that each other is tested against, as `irtoolkit compare` does; None
            tests every pair.
    """
    asked = evaluations[0].measures[measure]
    lower = traits(asked).lower_is_better
    values = [evaluation.per_query(measure) for evaluation in evaluations]
    figures = tuple(evaluation.figures()[measure] for evaluation in evaluations)
    finite = [bool(np.isfinite(row).all()) for row in values]
    untested = None
    if not isinstance(asked.aggregator(), MeanAgg):
        untested = "its figure is no mean over queries, and intervals and tests are of means"
        finite = [False] * len(values)
    elif not all(finite):
        lacking = [int((~np.isfinite(row)).sum()) for row in values]
        untested = (
            f"up to {max(lacking):,} queries have no finite value: a run is too shallow to tell"
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
        # The test is of plain means; a benchmark's own averaging may lean the other way.
        gain = float(np.mean(values[a] - values[b])) * (-1 if lower else 1)
        better = (a if gain > 0 else b) if corrected < ALPHA and gain else None
        more, less = int((values[a] > values[b]).sum()), int((values[a] < values[b]).sum())
        wins, losses = (less, more) if lower else (more, less)
        effect = effect_size(values[a], values[b])
        difference = figures[a] - figures[b]
        found.append(Pair(a, b, difference, p, corrected, effect, wins, losses, better))
    return tuple(found)


def letter(place: int) -> str:
    """a, b, ..., z, aa, ab, ... for the systems in order."""
    name = ""
    while place >= 0:
        place, last = divmod(place, 26)
        name = chr(ord("a") + last) + name
        place -= 1
    return name

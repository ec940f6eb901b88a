"""Tests of every pair of systems on a measure, and the letters that show their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from ir_measures import Measure

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.measures.traits import summary_of, traits
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.pairs import PairResult, interval_of, summary_for, tested_pairs
from irtoolkit.scoring.significance import Correction, PairedTest

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
        effect: Cohen's d of the paired differences, those of logarithms for a geometric mean; None
            where the figure is no kind of mean.
        wins: the number of queries on which the first system is better.
        losses: the number of queries on which the first system is worse.
        better: the position of the significantly better system; None also where the test favours one and
            the figures over all queries the other.
    """

    first: int
    second: int
    difference: float
    p_value: float
    corrected: float
    effect: float | None
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
        intervals: for each system, the 95% bootstrap interval over all queries, without folds, of what
            the figure is; None where a value is not finite, or nothing is known of the figure.
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

    def ranked(self) -> list[int]:
        """Positions of the systems from the best figure to the worst, without infinite ones."""
        return best_first(self.figures, lower=self.lower)

    def pair_of(self, first: int, second: int) -> Pair | None:
        """The test of two systems, in either order, or None."""
        return next((p for p in self.pairs if {p.first, p.second} == {first, second}), None)

    def is_best(self, system: int) -> bool:
        """Whether no other system has a better figure, and one has a worse."""
        figures = set(self.figures)
        best = min(figures) if self.lower else max(figures)
        return len(figures) > 1 and math.isfinite(best) and self.figures[system] == best


def best_first(figures: Sequence[float], *, lower: bool) -> list[int]:
    """Returns the positions of finite figures from the best to the worst, equal ones as they are."""
    finite = [i for i, figure in enumerate(figures) if math.isfinite(figure)]
    return sorted(finite, key=lambda i: figures[i] if lower else -figures[i])


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
    measure_object = evaluations[0].measures[measure]
    lower, summary = traits(measure_object).lower_is_better, summary_of(measure_object)
    values = [evaluation.per_query(measure) for evaluation in evaluations]
    figures = tuple(evaluation.figures()[measure] for evaluation in evaluations)
    finite = [bool(np.isfinite(row).all()) for row in values]
    intervals = tuple(
        interval_of(evaluation, measure, summary) if summary and finite_values else None
        for evaluation, finite_values in zip(evaluations, finite, strict=True)
    )
    # Nobody misses the tests of a single system.
    missed = len(values) > 1 or not all(intervals)
    untested = _reason(values, measure_object, measure, test) if missed else None
    pairs: tuple[Pair, ...] = ()
    if summary and not untested:
        asked_pairs = _asked(len(values), baseline)
        results = tested_pairs(
            values, asked_pairs, summary, lower_is_better=lower, test=test, correction=correction
        )
        pairs = tuple(
            _pair(a, b, figures, summary.figures(np.array([values[a], values[b]])), result, lower)
            for (a, b), result in zip(asked_pairs, results, strict=True)
        )
    return MeasureColumn(measure, lower, figures, intervals, pairs, untested)


def _reason(values: Sequence[Floats], measure: Measure, name: str, test: PairedTest) -> str | None:
    """Why systems cannot be tested on a measure; None where they can."""
    undefined = max(int((~np.isfinite(row)).sum()) for row in values)
    if undefined:
        return f"up to {undefined:,} queries have no finite value, because a run is too shallow"
    try:
        summary_for(measure, name, test)
    except InputError as error:
        return error.found
    return None


def _asked(systems: int, baseline: int | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(range(systems), 2))
    return [(i, baseline) for i in range(systems) if i != baseline]


def _pair(
    first: int,
    second: int,
    figures: Sequence[float],
    plain: Floats,
    result: PairResult,
    lower: bool,
) -> Pair:
    """Returns the comparison of two systems by query; `plain` has the figures over all queries, without folds."""
    # A test by ranks may favour one system, and the figures the other: then neither is better.
    gain = float(plain[0] - plain[1]) * (-1 if lower else 1)
    better = None
    if result.corrected < ALPHA and gain * result.gain > 0:
        better = first if gain > 0 else second
    return Pair(
        first,
        second,
        figures[first] - figures[second],
        result.p_value,
        result.corrected,
        result.effect,
        result.wins,
        result.losses,
        better,
    )


def letter(index: int) -> str:
    """The letter of a system by its position: a, b, ..., z, aa, ab, ..."""
    name = ""
    while index >= 0:
        index, last = divmod(index, 26)
        name = chr(ord("a") + last) + name
        index -= 1
    return name

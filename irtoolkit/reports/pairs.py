"""Tests of every pair of systems on a measure, and the letters that show their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from ir_measures import Measure

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.measures.traits import summary_of, traits
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.pairs import comparable, tested_pairs
from irtoolkit.scoring.significance import Correction, PairedTest, confidence_interval

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
        effect: Cohen's d of the paired differences; None where the figure is no kind of mean.
        wins: the number of queries on which the first system is better.
        losses: the number of queries on which the first system is worse.
        better: the position of the significantly better system, or None.
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
    lower, summary = traits(asked).lower_is_better, summary_of(asked)
    values = [evaluation.per_query(measure) for evaluation in evaluations]
    figures = tuple(evaluation.figures()[measure] for evaluation in evaluations)
    finite = [bool(np.isfinite(row).all()) for row in values]
    intervals = tuple(
        confidence_interval(row, figures=summary.figures) if summary and known else None
        for row, known in zip(values, finite, strict=True)
    )
    untested = None
    if not all(finite):
        lacking = [int((~np.isfinite(row)).sum()) for row in values]
        untested = (
            f"up to {max(lacking):,} queries have no finite value, because a run is too shallow"
        )
    else:
        try:
            comparable(asked, measure, test)
        except InputError as error:
            untested = str(error)
    pairs = () if untested else _pairs(values, figures, asked, test, correction, baseline)
    return MeasureColumn(measure, lower, figures, intervals, pairs, untested)


def _pairs(
    values: list[Floats],
    figures: tuple[float, ...],
    measure: Measure,
    test: PairedTest,
    correction: Correction,
    baseline: int | None,
) -> tuple[Pair, ...]:
    if baseline is None:
        asked = list(combinations(range(len(values)), 2))
    else:
        asked = [(i, baseline) for i in range(len(values)) if i != baseline]
    results = tested_pairs(values, asked, measure, test=test, correction=correction)
    # The test compares figures over all queries; the benchmark's own averages may differ in the
    # other direction.
    plain = comparable(measure, str(measure), test).figures(np.array(values))
    found = []
    for (a, b), result in zip(asked, results, strict=True):
        gain = float(plain[a] - plain[b]) * (-1 if traits(measure).lower_is_better else 1)
        better = (a if gain > 0 else b) if result.corrected < ALPHA and gain else None
        found.append(Pair(a, b, figures[a] - figures[b], better=better, **asdict(result)))
    return tuple(found)


def letter(place: int) -> str:
    """The letter of a system by its position: a, b, ..., z, aa, ab, ..."""
    name = ""
    while place >= 0:
        place, last = divmod(place, 26)
        name = chr(ord("a") + last) + name
        place -= 1
    return name

"""Systems beside each other, each held against a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.scoring.evaluation import Evaluation, lower_is_better
from irtoolkit.scoring.significance import (
    Correction,
    Test,
    confidence_interval,
    correct,
    effect_size,
    paired_test,
)


@dataclass(frozen=True)
class Compared:
    """One system on one measure.

    Attributes:
        system: its name.
        figure: the benchmark's figure of the measure.
        low, high: 95% bootstrap interval of the plain mean over queries.
        difference: of the figures, against the baseline; None for the baseline itself.
        p_value, corrected: of the paired test over all queries, before and after correction.
        effect: Cohen's d of the paired differences.
        wins, losses: queries on which the system is better or worse than the baseline.
    """

    system: str
    figure: float
    low: float
    high: float
    difference: float | None = None
    p_value: float | None = None
    corrected: float | None = None
    effect: float | None = None
    wins: int | None = None
    losses: int | None = None


def compare(
    evaluations: Mapping[str, Evaluation],
    measure: str,
    *,
    baseline: str,
    test: Test = "student",
    correction: Correction = "holm",
) -> list[Compared]:
    """Tests every system against the baseline on one measure.

    Args:
        evaluations: by system name; all on the same queries.
        measure: one of the evaluations' measures.
        baseline: name of the system to test against.
        test, correction: see `irtoolkit.scoring.significance`.

    Raises:
        InputError: the baseline is not among the systems, or a value is not finite.
    """
    if baseline not in evaluations:
        raise InputError(
            f"baseline {baseline} is not among the systems", remedy=", ".join(evaluations)
        )
    for name, evaluation in evaluations.items():
        unknown = int((~np.isfinite(evaluation.per_query(measure))).sum())
        if unknown:
            raise InputError(
                f"{measure} of {name} is not finite for {unknown} queries",
                remedy="the run is too shallow to tell: rank deeper",
            )
    base = evaluations[baseline].per_query(measure)
    others = [name for name in evaluations if name != baseline]
    raw = [paired_test(evaluations[name].per_query(measure), base, test) for name in others]
    tested = dict(zip(others, zip(raw, correct(raw, correction), strict=True), strict=True))
    figure = {name: evaluation.figures()[measure] for name, evaluation in evaluations.items()}
    rows = []
    for name, evaluation in evaluations.items():
        values = evaluation.per_query(measure)
        low, high = confidence_interval(values)
        if name == baseline:
            rows.append(Compared(name, figure[name], low, high))
            continue
        p_value, corrected = tested[name]
        more, less = int((values > base).sum()), int((values < base).sum())
        wins, losses = (less, more) if lower_is_better(measure) else (more, less)
        rows.append(
            Compared(
                name, figure[name], low, high, figure[name] - figure[baseline], p_value, corrected,
                effect_size(values, base), wins, losses,
            )
        )  # fmt: skip
    return rows

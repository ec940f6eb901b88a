"""Pairs of systems on one measure: the test that suits its figure, and the test's result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from ir_measures import Measure

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Floats
from irtoolkit.base.near import did_you_mean
from irtoolkit.measures.traits import Summary, summary_of
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.significance import (
    Correction,
    PairedTest,
    confidence_interval,
    correct,
    effect_size,
    leaning,
    paired_test,
    wins_and_losses,
)


@dataclass(frozen=True)
class PairResult:
    """The result of a paired test of two systems over all queries.

    Attributes:
        p_value, corrected: before and after correction for the number of pairs.
        effect: Cohen's d of the paired differences, those of logarithms for a geometric mean; None
            if the figure is not a mean, or there is one query.
        wins, losses: queries on which the first system is better or worse than the second.
        gain: above 0 if the test favours the first system, below 0 if the second.
    """

    p_value: float
    corrected: float
    effect: float | None
    wins: int
    losses: int
    gain: float


def tested_pairs(
    values: Sequence[Floats],
    pairs: Sequence[tuple[int, int]],
    summary: Summary,
    *,
    lower_is_better: bool,
    test: PairedTest,
    correction: Correction,
) -> list[PairResult]:
    """Tests pairs of systems, one result each.

    Args:
        values: for each system, (Q,) finite per-query values of one measure.
        pairs: places of systems in `values`, first and second.
        summary: how values become the measure's figure; see `summary_for`.
        lower_is_better: of the measure.
        test, correction: see `irtoolkit.scoring.significance`.
    """
    tested = [summary.tested(row) for row in values]
    raw = [paired_test(tested[a], tested[b], test) for a, b in pairs]
    sign = -1 if lower_is_better else 1
    has_effect = summary.effect and len(values[0]) > 1  # one difference has no deviation
    results = []
    for (a, b), p_value, corrected in zip(pairs, raw, correct(raw, correction), strict=True):
        effect = effect_size(tested[a], tested[b]) if has_effect else None
        wins, losses = wins_and_losses(values[a], values[b], lower_is_better=lower_is_better)
        gain = sign * leaning(tested[a], tested[b], test)
        results.append(PairResult(p_value, corrected, effect, wins, losses, gain))
    return results


def interval_of(evaluation: Evaluation, measure: str, summary: Summary) -> tuple[float, float]:
    """Returns the 95% bootstrap interval of a figure, over all queries without folds.

    A sum over folds is that of a fold in the mean, and so is its interval.
    """
    low, high = confidence_interval(evaluation.per_query(measure), figures=summary.figures)
    parts = len(evaluation.folds) if summary.adds else 1
    return low / parts, high / parts


def first_test(measure: Measure) -> PairedTest:
    """Returns the first paired test that suits a measure's figure; the t-test if none does."""
    summary = summary_of(measure)
    return cast(PairedTest, summary.tests[0]) if summary and summary.tests else "student"


def check_test(test: Any, correction: Any) -> None:
    """Raises InputError for a test or a correction that there is not."""
    for name, choice, kind in (("test", test, PairedTest), ("correction", correction, Correction)):
        options = get_args(kind)
        if choice not in options:
            raise InputError(
                f"{name} {choice!r} is none of {', '.join(options)}",
                remedy=did_you_mean(str(choice), options).strip() or None,
            )


def summary_for(measure: Measure, name: str, test: PairedTest) -> Summary:
    """Returns how the figure of a measure is computed from values that a test compares.

    Raises:
        InputError: the test does not compare such figures, or the figure has no summary.
    """
    summary = summary_of(measure)
    if summary is None:
        raise InputError(
            f"the figure of {name} is neither a mean nor a sum over queries, as tests require",
            remedy="declare the summary of its figure in the measure's traits",
        )
    if test in summary.tests:
        return summary
    ways = [f"--test {test_name}" for test_name in summary.tests]
    ways += [f"--measure {summary.instead}"] if summary.instead else []
    raise InputError(
        f"the figure of {name} is a {summary.name} over queries, which no test compares"
        if not summary.tests
        else f"the figure of {name} is a {summary.name} over queries, which the test {test} does"
        " not compare",
        remedy=" or ".join(ways) or None,
    )

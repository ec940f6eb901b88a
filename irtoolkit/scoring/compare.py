"""Systems beside each other, each tested against a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast, get_args

import numpy as np
from ir_measures import Measure

from irtoolkit.base.errors import InputError
from irtoolkit.base.tables import TextTable
from irtoolkit.measures.traits import Summary, summary_of, traits
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


@dataclass(frozen=True)
class Compared:
    """One system on one measure.

    Attributes:
        system: its name.
        figure: the benchmark's figure of the measure.
        low, high: 95% bootstrap interval over all queries, without folds, of what the figure is: a
            mean, sum, geometric mean or median.
        difference: of the figures, against the baseline; None for the baseline itself.
        p_value, corrected: of the paired test over all queries, before and after correction.
        effect: Cohen's d of the paired differences, those of logarithms for a geometric mean; None
            where the figure is no kind of mean.
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


@dataclass(frozen=True)
class Comparison:
    """Systems on one measure, each tested against the baseline.

    Attributes:
        rows: the systems in the order given.
        measure: the name of the measure.
        baseline: the name of the system that others are tested against.
        test, correction: the paired test, and the correction for several comparisons.
        title: what was compared on, above the table.
    """

    rows: tuple[Compared, ...]
    measure: str
    baseline: str
    test: PairedTest
    correction: Correction
    title: str = ""

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Compared:
        return self.rows[place]

    def table(self, *, exact: bool = False) -> TextTable:
        """The comparison as a table; p-values are rounded for reading unless `exact`."""
        headers = ["run", self.measure, "95% low", "high", "diff", f"p({self.test})",
                   f"p({self.correction})", "d", "+", "-"]  # fmt: skip
        cells = [list(asdict(row).values()) for row in self.rows]
        if not exact:
            cells = [[*row[:5], *map(_p_value, row[5:7]), *row[7:]] for row in cells]
        title = f"{self.title}; baseline {self.baseline}" if self.title else None
        return TextTable(headers, cells, title)

    def __str__(self) -> str:
        return self.table().render("text")

    def _repr_html_(self) -> str:
        return self.table().to_html()


def _p_value(p: float | None) -> str | None:
    """A p-value for reading: none is shown as zero, however many decimals are shown."""
    return None if p is None else "<.0001" if p < 0.0001 else f"{p:.4f}"


def compare(
    evaluations: Mapping[str, Evaluation],
    measure: str,
    *,
    baseline: str,
    test: PairedTest = "student",
    correction: Correction = "holm",
    title: str = "",
) -> Comparison:
    """Tests every system against the baseline on one measure.

    Args:
        evaluations: by system name; all on the same queries.
        measure: one of the evaluations' measures.
        baseline: name of the system to test against.
        test, correction: see `irtoolkit.scoring.significance`.
        title: what was compared on, above the table.

    Raises:
        InputError: no such test or correction; the test does not belong to the measure's figure; the
            baseline is not among the systems; or a value is not finite.
    """
    asked: tuple[tuple[str, Any], ...] = ((test, PairedTest), (correction, Correction))
    for choice, known in asked:
        if choice not in get_args(known):
            raise InputError(f"{choice!r} is none of {', '.join(get_args(known))}")
    _refuse(evaluations, measure, baseline)
    summary = _summary(evaluations[baseline].measures[measure], measure, test)
    base = evaluations[baseline].per_query(measure)
    tested_base = summary.tested(base)
    others = [name for name in evaluations if name != baseline]
    raw = [
        paired_test(summary.tested(evaluations[name].per_query(measure)), tested_base, test)
        for name in others
    ]
    tested = dict(zip(others, zip(raw, correct(raw, correction), strict=True), strict=True))
    figure = {name: evaluation.figures()[measure] for name, evaluation in evaluations.items()}
    lower = traits(evaluations[baseline].measures[measure]).lower_is_better
    rows = []
    for name, evaluation in evaluations.items():
        values = evaluation.per_query(measure)
        low, high = confidence_interval(values, figures=summary.figures)
        if name == baseline:
            rows.append(Compared(name, figure[name], low, high))
            continue
        p_value, corrected = tested[name]
        wins, losses = wins_and_losses(values, base, lower_is_better=lower)
        rows.append(
            Compared(
                name, figure[name], low, high, figure[name] - figure[baseline], p_value, corrected,
                effect_size(summary.tested(values), tested_base) if summary.effect else None,
                wins, losses,
            )
        )  # fmt: skip
    return Comparison(tuple(rows), measure, baseline, test, correction, title)


def first_test(measure: Measure) -> PairedTest:
    """The first paired test that belongs to the figure of a measure, where any does."""
    summary = summary_of(measure)
    return cast(PairedTest, summary.tests[0]) if summary and summary.tests else "student"


def _summary(asked: Measure, measure: str, test: PairedTest) -> Summary:
    """How the figure of a measure is made of values that a test compares.

    Raises:
        InputError: the test does not compare such figures, or nothing is known of them.
    """
    summary = summary_of(asked)
    if summary is None:
        raise InputError(
            f"the figure of {measure} is neither a mean nor a sum over queries, as tests require",
            remedy="declare the summary of its figure in the measure's traits",
        )
    if test in summary.tests:
        return summary
    ways = [f"--test {one}" for one in summary.tests]
    ways += [f"--measure {summary.instead}"] if summary.instead else []
    raise InputError(
        f"the figure of {measure} is a {summary.name} over queries, which no test compares"
        if not summary.tests
        else f"the figure of {measure} is a {summary.name} over queries, which the test {test} does"
        " not compare",
        remedy=" or ".join(ways) or None,
    )


def _refuse(evaluations: Mapping[str, Evaluation], measure: str, baseline: str) -> None:
    """Raises InputError where systems cannot be tested against the baseline."""
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

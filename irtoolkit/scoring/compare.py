"""Systems beside each other, each tested against a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.base.plurals import number_of
from irtoolkit.base.tables import TextTable
from irtoolkit.measures.traits import traits
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.notes import Note
from irtoolkit.scoring.pairs import (
    PairResult,
    check_test,
    first_test,
    interval_of,
    summary_for,
    tested_pairs,
)
from irtoolkit.scoring.significance import Correction, PairedTest, caution_on_few


@dataclass(frozen=True)
class Compared:
    """The values of a system on one measure, and its comparison with the baseline.

    Attributes:
        system: its name.
        figure: the benchmark's figure of the measure.
        low, high: 95% bootstrap interval of the figure (a mean, sum, geometric mean or median) over
            all queries, without folds; of a sum over folds, that of an average fold.
        difference: from the baseline's figure; None for the baseline itself.
        p_value, corrected: of the paired test over all queries, before and after correction.
        effect: Cohen's d of the paired differences, those of logarithms for a geometric mean; None
            if the figure is not a mean, or there is one query.
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
    """The systems on one measure, each tested against the baseline.

    Attributes:
        rows: the systems in the given order.
        measure: the name of the measure.
        baseline: the name of the system that others are tested against.
        test, correction: the paired test, and the correction for several comparisons.
        title: the dataset, above the table.
        notes: warnings about the runs, below the table.
        alpha: the level of significance; a row whose corrected p-value is at most this is marked. None
            marks none.
        caution: of a test on few queries; None if there are enough.
    """

    rows: tuple[Compared, ...]
    measure: str
    baseline: str
    test: PairedTest
    correction: Correction
    title: str = ""
    notes: tuple[Note, ...] = ()
    alpha: float | None = None
    caution: str | None = None

    def __post_init__(self) -> None:
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise InputError(f"alpha {self.alpha} is not between 0 and 1", remedy="0.05 is usual")

    def significant(self, row: Compared) -> bool | None:
        """Returns whether a row differs at the level alpha after correction.

        None for the baseline.
        """
        if self.alpha is None or row.corrected is None:
            return None
        return row.corrected <= self.alpha

    def to_frame(self) -> Any:
        """Returns the rows as a pandas DataFrame, one for each system."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows]).set_index("system")

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Compared:
        return self.rows[index]

    def table(self, *, exact: bool = False) -> TextTable:
        """Returns the comparison as a table; p-values are rounded for reading unless `exact`."""
        headers = [
            "run",
            self.measure,
            "95% low",
            "high",
            "diff",
            f"p({self.test})",
            f"p({self.correction})",
            "d",
            "+",
            "-",
        ]
        cells = [list(asdict(row).values()) for row in self.rows]
        if not exact:
            cells = [[*row[:5], *map(_p_value, row[5:7]), *row[7:]] for row in cells]
        if self.alpha is not None:
            headers.append(f"p<={self.alpha:g}")
            marks = {True: "yes", False: "no", None: None}
            cells = [
                [*row, marks[self.significant(row_result)]]
                for row, row_result in zip(cells, self.rows, strict=True)
            ]
        title = f"{self.title}; baseline {self.baseline}" if self.title else None
        return TextTable(headers, cells, title)

    def __str__(self) -> str:
        return "\n".join([self.table().render("text"), *self.warnings()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return replace(self.table(), notes=self.warnings()).to_html()

    def warnings(self) -> list[str]:
        """Returns the notes on the runs, and the caution about the test, as sentences."""
        cautions = [] if self.caution is None else [self.caution]
        return [*map(str, self.notes), *cautions]


def _p_value(p: float | None) -> str | None:
    """Returns a p-value for reading, never as zero, however small it is."""
    return None if p is None else "<.0001" if p < 0.0001 else f"{p:.4f}"


def compare(
    evaluations: Mapping[str, Evaluation],
    measure: str,
    *,
    baseline: str,
    test: PairedTest | None = None,
    correction: Correction = "holm",
    title: str = "",
) -> Comparison:
    """Tests every system against the baseline on one measure.

    Args:
        evaluations: by system name; all on the same queries.
        measure: one of the evaluations' measures.
        baseline: name of the system to test against.
        test: by default the first that suits the measure's figure, which is the t-test for a mean.
        correction: see `irtoolkit.scoring.significance`.
        title: the dataset, above the table.

    Raises:
        InputError: no such test or correction; the test does not suit the measure's figure; the
            baseline is not among the systems; or a value is not finite.
    """
    if baseline not in evaluations:
        raise InputError(
            f"baseline {baseline} is not among the systems", remedy=", ".join(evaluations)
        )
    measure_object = evaluations[baseline].measures[measure]
    test = first_test(measure_object) if test is None else test
    check_test(test, correction)
    summary = summary_for(measure_object, measure, test)
    _check_finite(evaluations, measure)
    values = [evaluation.per_query(measure) for evaluation in evaluations.values()]
    base = list(evaluations).index(baseline)
    others = [i for i in range(len(values)) if i != base]
    results = tested_pairs(
        values,
        [(i, base) for i in others],
        summary,
        lower_is_better=traits(measure_object).lower_is_better,
        test=test,
        correction=correction,
    )
    rows = [
        Compared(name, evaluation[measure], *interval_of(evaluation, measure, summary))
        for name, evaluation in evaluations.items()
    ]
    for i, result in zip(others, results, strict=True):
        rows[i] = _beside(rows[i], rows[base].figure, result)
    few = caution_on_few(len(values[base]), test)
    return Comparison(
        tuple(rows), measure, baseline, test, correction, title, caution=few if others else None
    )


def _beside(row: Compared, baseline: float, result: PairResult) -> Compared:
    """Returns a system's row with its difference from the baseline and the test's result."""
    return replace(
        row,
        difference=row.figure - baseline,
        p_value=result.p_value,
        corrected=result.corrected,
        effect=result.effect,
        wins=result.wins,
        losses=result.losses,
    )


def _check_finite(evaluations: Mapping[str, Evaluation], measure: str) -> None:
    """Raises InputError if a value is not finite, as tests require."""
    for name, evaluation in evaluations.items():
        unknown = int((~np.isfinite(evaluation.per_query(measure))).sum())
        if unknown:
            raise InputError(
                f"{measure} of {name} is not finite for {number_of(unknown, 'queries')}",
                remedy="the run is too shallow to tell: rank deeper",
            )

"""Figures, p-values and sentences of a report, formatted alike in pages and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from irtoolkit.base.plurals import number_of
from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.pairs import ALPHA, MeasureColumn
from irtoolkit.scoring.significance import caution_on_few

TESTS = {
    "student": "paired t-test",
    "fisher": "Fisher's randomisation test",
    "wilcoxon": "Wilcoxon signed-rank test",
}
# What is said of figures by part.
OF_PARTS = "figures over the queries of each part, without folds."
CORRECTIONS = {
    "holm": "Holm-corrected",
    "bonferroni": "Bonferroni-corrected",
    "none": "uncorrected",
}


def format_figure(value: float, places: int = 4) -> str:
    """A figure with so many decimals; a dash where it is NaN."""
    if math.isnan(value):
        return "\u2013"
    return f"{value:.{places}f}" if math.isfinite(value) else "\u221e"


def format_difference(value: float, places: int = 4) -> str:
    """A difference with its sign and so many decimals; a dash where it is NaN."""
    if math.isnan(value):
        return format_figure(value)
    return ("\u2212" if value < 0 else "+") + format_figure(abs(value), places)


def places_of(column: MeasureColumn) -> int:
    """Decimals of a measure's figures: four, or one for ranks and counts."""
    return places_for(column.figures)


def places_for(values: Sequence[float]) -> int:
    """Decimals of the figures of one column: four, or one where a figure is 10 or more."""
    return 1 if any(abs(value) >= 10 for value in values if math.isfinite(value)) else 4


def format_p_value(p: float) -> str:
    """Formats a p-value with four decimals, or as "<.0001"."""
    return "<.0001" if p < 0.0001 else f"{p:.4f}"


def how_tested(report: ReportContent) -> str:
    """A sentence on what the letters mean and how pairs were tested."""
    family = (
        "all pairs of systems on the measure"
        if report.baseline is None
        else f"the comparisons with {report.systems[report.baseline].name} on the measure"
    )
    corrected = CORRECTIONS[report.correction]
    over = "" if report.correction == "none" else f" over {family}"
    return (
        f"A letter beside a figure names a system that this one is significantly better than"
        f" (two-sided {TESTS[report.test]} over {number_of(len(report.query_ids), 'queries', ',')}, {corrected}"
        f"{over}, p < {ALPHA})."
    )


def caution(report: ReportContent) -> str | None:
    """Returns a caution about tests on few queries; None if there are enough queries, or no tests."""
    has_tests = any(column.pairs for column in report.columns)
    return caution_on_few(len(report.query_ids), report.test) if has_tests else None


def how_averaged(report: ReportContent, *, intervals: bool = True) -> str:
    """Returns sentences on how figures are averaged and how intervals are computed."""
    sentence = f"Figures: {report.averaging}."
    if not intervals:
        return sentence
    return sentence + " Intervals: 95% percentile bootstrap over queries, without folds."

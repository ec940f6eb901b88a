"""How a report's page opens: a sentence on what happened, and a chart of every system's figure."""

from __future__ import annotations

from html import escape

from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.drawing import means_chart
from irtoolkit.reports.formatting import format_figure, format_p_value, places_of
from irtoolkit.reports.pairs import ALPHA, MeasureColumn, Pair


def summary(report: ReportContent) -> str:
    """Returns the summary as HTML: one paragraph, and the chart of the measure that the report opens with."""
    column = report.column(report.chart)
    names = [system.name for system in report.systems]
    places = places_of(column)
    known = column.ranked()
    chart = means_chart(column, known, names) if known else ""
    spans = any(column.intervals[place] for place in known)
    words = f"{column.measure} of each system" + (" with 95% intervals" if spans else "")
    words += ", lower is better" if column.lower else ""
    figure = f"<figure>{chart}<figcaption>{escape(words)}.</figcaption></figure>" if chart else ""
    return f'<p class="lead">{escape(_sentences(report, column, known, places))}</p>{figure}'


def _sentences(report: ReportContent, column: MeasureColumn, known: list[int], places: int) -> str:
    if not known:
        return f"No system has a figure for {column.measure}."
    names = [system.name for system in report.systems]
    best = known[0]
    figure = format_figure(column.figures[best], places)
    if len(known) == 1:
        return f"{names[best]} has {figure} on {column.measure}."
    level = [place for place in known if column.figures[place] == column.figures[best]]
    if len(level) > 1:
        listed = ", ".join(names[place] for place in level[:-1]) + f" and {names[level[-1]]}"
        return f"{listed} have the best {column.measure}, {figure}."
    other = known[1]
    if report.baseline is not None and report.baseline in known and report.baseline != best:
        other = report.baseline
    gap = format_figure(abs(column.figures[best] - column.figures[other]), places)
    said = (
        f"{names[best]} has the best {column.measure}, {figure}: {gap}"
        f" {'below' if column.lower else 'above'} {names[other]}"
    )
    pair = column.pair_of(best, other)
    said += "." if pair is None else f", {_tested(report, pair, best)}."
    won = sum(_is_alone_best(one, best) for one in report.columns)
    several = len(report.columns) > 1
    return said + (f" It is best on {won} of {len(report.columns)} measures." if several else "")


def _is_alone_best(column: MeasureColumn, place: int) -> bool:
    """Whether every other system has a worse figure."""
    return column.is_best(place) and column.figures.count(column.figures[place]) == 1


def _tested(report: ReportContent, pair: Pair, best: int) -> str:
    """Whether a difference is significant, and on how many queries each system is better."""
    wins, losses = pair.wins, pair.losses
    if pair.first != best:
        wins, losses = losses, wins
    p = format_p_value(pair.corrected)
    p = f"p {p[0]} {p[1:]}" if p.startswith("<") else f"p = {p}"
    verdict = (
        "a significant difference" if pair.corrected < ALPHA else "not a significant difference"
    )
    return f"{verdict} ({p}), better on {wins:,} of {len(report.query_ids):,} queries and worse on {losses:,}"

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
    ranked = column.ranked()
    chart = means_chart(column, ranked, names) if ranked else ""
    spans = any(column.intervals[i] for i in ranked)
    words = f"{column.measure} of each system" + (" with 95% intervals" if spans else "")
    words += ", lower is better" if column.lower else ""
    figure = f"<figure>{chart}<figcaption>{escape(words)}.</figcaption></figure>" if chart else ""
    return f'<p class="lead">{escape(_sentences(report, column, ranked, places))}</p>{figure}'


def _sentences(report: ReportContent, column: MeasureColumn, ranked: list[int], places: int) -> str:
    if not ranked:
        return f"No system has a figure for {column.measure}."
    names = [system.name for system in report.systems]
    best = ranked[0]
    figure = format_figure(column.figures[best], places)
    if len(ranked) == 1:
        return f"{names[best]} has {figure} on {column.measure}."
    level = [i for i in ranked if column.figures[i] == column.figures[best]]
    if len(level) > 1:
        listed = ", ".join(names[i] for i in level[:-1]) + f" and {names[level[-1]]}"
        return f"{listed} have the best {column.measure}, {figure}."
    second = ranked[1]
    if report.baseline is not None and report.baseline in ranked and report.baseline != best:
        second = report.baseline
    gap = format_figure(abs(column.figures[best] - column.figures[second]), places)
    sentence = (
        f"{names[best]} has the best {column.measure}, {figure}: {gap}"
        f" {'below' if column.lower else 'above'} {names[second]}"
    )
    pair = column.pair_of(best, second)
    sentence += "." if pair is None else f", {_tested(report, pair, best)}."
    return f"{sentence} {_over_measures(report, best)}".rstrip()


def _over_measures(report: ReportContent, index: int) -> str:
    """On how many measures a system is best, alone or with others; empty for one measure."""
    best = [column for column in report.columns if column.is_best(index)]
    alone = sum(column.figures.count(column.figures[index]) == 1 for column in best)
    level = len(best) - alone
    measures = len(report.columns)
    if measures == 1:
        return ""
    if alone == measures:
        return f"It is best on all {measures} measures."
    sentence = f"It is best on {alone} of {measures} measures"
    if not level:
        return f"{sentence}."
    others = f"{level} more"
    if level == measures - alone:
        others = "the other" if level == 1 else f"the other {level}"
    return f"{sentence}, and shares the best figure on {others}."


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

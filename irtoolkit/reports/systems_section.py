"""The section of a report's page about systems: their figures, every test, how runs were made."""

from __future__ import annotations

import math
import re
from html import escape

from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.drawing import swatch
from irtoolkit.reports.elements import chooser, scroll
from irtoolkit.reports.formatting import (
    CORRECTIONS,
    format_figure,
    format_p_value,
    how_averaged,
    how_tested,
    places_of,
)
from irtoolkit.reports.pairs import MeasureColumn, Pair


def systems_section(report: ReportContent) -> str:
    """The table of systems, what its letters mean, every test, and how the runs were made."""
    heads = "".join(
        f'<th scope="col">{_breakable(c.measure)}{" <small>lower is better</small>" if c.lower else ""}</th>'
        for c in report.columns
    )
    rows = []
    for i, system in enumerate(report.systems):
        cells = "".join(_cell(report, column, i) for column in report.columns)
        name = f'<span class="letter">{system.letter}</span> {swatch(i, system.name)} '
        rows.append(f'<tr><th scope="row">{name}{escape(system.name)}</th>{cells}</tr>')
    several = len(report.systems) > 1
    told = [how_tested(report)] if any(column.pairs for column in report.columns) else []
    told.append(how_averaged(report) + (" The best figures are bold." if several else ""))
    told += [
        f"{c.measure}: no {'tests' if all(c.intervals) else 'intervals or tests'}: {c.untested}."
        for c in report.columns
        if c.untested
    ]
    made = "".join(_made(report, i) for i in range(len(report.systems)))
    return (
        scroll(
            f'<table class="first figures"><thead><tr><th scope="col">System</th>{heads}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table>",
            "Figures of every system",
        )
        + "".join(f'<p class="muted">{escape(line)}</p>' for line in told)
        + _tests(report)
        + f"<details><summary>How the runs were made</summary>{made}</details>"
    )


def _breakable(measure: str) -> str:
    """The name of a measure, which may break before its parameters."""
    return re.sub(r"([(@])", r"<wbr>\1", escape(measure))


def _cell(report: ReportContent, column: MeasureColumn, place: int) -> str:
    places = places_of(column)
    figure, interval = column.figures[place], column.intervals[place]
    beaten = column.beaten_by(place)
    letters = ""
    if beaten:
        names = ", ".join(report.systems[other].name for other in beaten)
        letters = (
            f'<sup aria-hidden="true">{"".join(report.systems[o].letter for o in beaten)}</sup>'
            f'<span class="vh"> significantly better than {escape(names)}</span>'
        )
    best = ' class="best"' if column.is_best(place) else ""
    span = ""
    if interval is not None:
        low, high = (format_figure(bound, places) for bound in interval)
        span = f'<span class="interval">[{low}, {high}]</span>'
    return f"<td{best}>{format_figure(figure, places)}{letters}{span}</td>"


def _tests(report: ReportContent) -> str:
    if not any(column.pairs for column in report.columns):
        return ""
    bodies = []
    for at, column in enumerate(report.columns):
        places = places_of(column)
        rows = []
        for pair in column.pairs:
            first, second = report.systems[pair.first], report.systems[pair.second]
            better = "\u2013" if pair.better is None else report.systems[pair.better].name
            sign = "\u2212" if pair.difference < 0 else "+"
            cells = [
                f"{sign}{format_figure(abs(pair.difference), places)}", format_p_value(pair.p_value),
                format_p_value(pair.corrected), _effect(pair), str(pair.wins), str(pair.losses),
            ]  # fmt: skip
            rows.append(
                f'<tr><th scope="row">{escape(first.name)} \u2212 {escape(second.name)}</th>'
                + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
                + f'<td class="left">{escape(better)}</td></tr>'
            )
        head = f'<tr><th scope="rowgroup" colspan="8">{escape(column.measure)}</th></tr>'
        if rows:
            bodies.append(f'<tbody data-measure="{at}">{head}{"".join(rows)}</tbody>')
    columns = (
        "Pair", "Difference", "p", f"p ({CORRECTIONS[report.correction]})", "Cohen's d",
        "Queries better", "Queries worse", "Significantly better",
    )  # fmt: skip
    heads = "".join(f'<th scope="col">{name}</th>' for name in columns)
    return (
        f"<details><summary>Every test</summary>{chooser('tests', pair=False)}"
        + scroll(
            f'<table class="first"><thead><tr>{heads}</tr></thead>{"".join(bodies)}</table>',
            "Every test",
        )
        + "</details>"
    )


def _effect(pair: Pair) -> str:
    """Cohen's d; a dash where it does not belong to the figure."""
    return format_figure(math.nan if pair.effect is None else pair.effect, 2)


def _made(report: ReportContent, place: int) -> str:
    """How the run of one system was made, and how deep it is."""
    system, ranks = report.systems[place], report.first_relevant
    facts = [("file", system.file), *system.made] if system.file else [*system.made]
    if not system.made:
        unknown = "no ir_metadata file was found beside the run"
        facts.append(("how", unknown if system.file else "The run was not read from a file."))
    depth = f"at most {ranks.depths[place]:,} rows for a query"
    if ranks.exact[place]:
        depth += "; exact ranks of relevant documents over all candidates are known"
    facts.append(("depth", depth))
    lines = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts)
    return f'<h3>{escape(system.name)}</h3><dl class="facts">{lines}</dl>'

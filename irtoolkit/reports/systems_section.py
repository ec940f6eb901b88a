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
    format_difference,
    format_figure,
    format_p_value,
    how_averaged,
    how_tested,
    places_of,
)
from irtoolkit.reports.pairs import MeasureColumn, Pair


def systems_section(report: ReportContent) -> str:
    """The table of systems, what its letters mean, every test, and how the runs were made."""
    several = len(report.systems) > 1
    sentences = [how_tested(report)] if any(column.pairs for column in report.columns) else []
    sentences.append(how_averaged(report) + (BOLD if several else ""))
    sentences += [
        f"{c.measure}: no {'tests' if all(c.intervals) else 'intervals or tests'}: {c.untested}."
        for c in report.columns
        if c.untested
    ]
    origins = "".join(_made(report, i) for i in range(len(report.systems)))
    return (
        (FILTER if several else "")
        + scroll(_table(report), "Figures of every system")
        + "".join(f'<p class="muted">{escape(line)}</p>' for line in sentences)
        + _tests(report)
        + f"<details><summary>How the runs were made</summary>{origins}</details>"
    )


BOLD = " The best figure of a measure is bold, unless all systems share it."
# The script shows it.
FILTER = (
    '<div class="controls filter" hidden><label>Filter systems <input type="search" id="filter"'
    ' autocomplete="off"></label><p class="muted" id="filtered" role="status"></p></div>'
)


def _table(report: ReportContent) -> str:
    """A row for each system: the main measure, the difference from the reference, other measures."""
    main, *others = report.columns
    several = len(report.systems) > 1
    heads = [_head("System", True), _head(_named(main), main.lower, is_sorted=report.sorted)]
    if several:
        name = escape(report.systems[report.reference].name)
        corrected = CORRECTIONS[report.correction]
        heads.append(_head(f"Difference<small>from {name}</small>", main.lower))
        heads.append(_head(f'p<small class="whole">{corrected}</small>', True))
    heads += [_head(_named(column), column.lower) for column in others]
    rows = []
    for i in range(len(report.systems)):
        cells = [_name(report, i), _cell(report, main, i)]
        cells += _against(report, main, i) if several else []
        cells += [_cell(report, column, i) for column in others]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<table class="first figures" id="figures"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _head(text: str, ascending: bool, *, is_sorted: bool | None = None) -> str:
    """A column's head: the order that its first click gives, and whether rows are in it already."""
    first = "ascending" if ascending else "descending"
    order = "" if is_sorted is None else f' aria-sort="{first if is_sorted else "none"}"'
    return f'<th scope="col" data-first="{first}"{order}>{text}</th>'


def _named(column: MeasureColumn) -> str:
    return _breakable(column.measure) + ("<small>lower is better</small>" if column.lower else "")


def _name(report: ReportContent, index: int) -> str:
    """The head of a row: a system's name, and the command that made its run, to be copied."""
    system = report.systems[index]
    name = escape(system.name)
    command = (
        f'<span class="command"><code>{escape(system.command)}</code>'
        '<button type="button" class="copy" hidden>Copy<span class="vh word"> command</span><span class="vh"> of'
        f" {name}</span></button></span>"
    )
    return (
        f'<th scope="row" data-value="{name}"><span class="letter">{system.letter}</span>'
        f" {swatch(index, system.name)} {name}{command if system.command else ''}</th>"
    )


def _against(report: ReportContent, column: MeasureColumn, index: int) -> list[str]:
    """Cells with the difference of a system from the reference, and its corrected p-value."""
    if index == report.reference:
        return [f"<td>{'best' if report.baseline is None else 'baseline'}</td>", "<td></td>"]
    difference = column.figures[index] - column.figures[report.reference]
    pair = column.pair_of(index, report.reference)
    p, text = (
        (math.nan, "\u2013") if pair is None else (pair.corrected, format_p_value(pair.corrected))
    )
    return [
        f'<td data-value="{difference}">{format_difference(difference, places_of(column))}</td>',
        f'<td data-value="{p}">{escape(text)}</td>',
    ]


def _breakable(measure: str) -> str:
    """The name of a measure, which may break before its parameters."""
    return re.sub(r"([(@])", r"<wbr>\1", escape(measure))


def _cell(report: ReportContent, column: MeasureColumn, index: int) -> str:
    places = places_of(column)
    figure, interval = column.figures[index], column.intervals[index]
    beaten = column.beaten_by(index)
    letters = ""
    if beaten:
        names = ", ".join(report.systems[i].name for i in beaten)
        letters = (
            f'<sup aria-hidden="true">{"".join(report.systems[o].letter for o in beaten)}</sup>'
            f'<span class="vh"> significantly better than {escape(names)}</span>'
        )
    best = ' class="best"' if column.is_best(index) else ""
    span = ""
    if interval is not None:
        low, high = (format_figure(bound, places) for bound in interval)
        span = f'<span class="interval">[{low}, {high}]</span>'
    return f'<td{best} data-value="{figure}">{format_figure(figure, places)}{letters}{span}</td>'


def _tests(report: ReportContent) -> str:
    if not any(column.pairs for column in report.columns):
        return ""
    bodies = []
    for i, column in enumerate(report.columns):
        places = places_of(column)
        rows = []
        for pair in column.pairs:
            first, second = report.systems[pair.first], report.systems[pair.second]
            better = "\u2013" if pair.better is None else report.systems[pair.better].name
            cells = [
                format_difference(pair.difference, places),
                format_p_value(pair.p_value),
                format_p_value(pair.corrected),
                _effect(pair),
                str(pair.wins),
                str(pair.losses),
            ]
            rows.append(
                f'<tr><th scope="row">{escape(first.name)} \u2212 {escape(second.name)}</th>'
                + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
                + f'<td class="left">{escape(better)}</td></tr>'
            )
        head = f'<tr><th scope="rowgroup" colspan="8">{escape(column.measure)}</th></tr>'
        if rows:
            bodies.append(f'<tbody data-measure="{i}">{head}{"".join(rows)}</tbody>')
    columns = (
        "Pair",
        "Difference",
        "p",
        f"p ({CORRECTIONS[report.correction]})",
        "Cohen's d",
        "Queries better",
        "Queries worse",
        "Significantly better",
    )
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


def _made(report: ReportContent, index: int) -> str:
    """How the run of one system was made, and how deep it is."""
    system, ranks = report.systems[index], report.first_relevant
    facts = [("file", system.file), *system.made] if system.file else [*system.made]
    if not system.made:
        unknown = "no ir_metadata file was found beside the run"
        facts.append(("how", unknown if system.file else "The run was not read from a file."))
    depth = f"at most {ranks.depths[index]:,} rows for a query"
    if ranks.exact[index]:
        depth += "; exact ranks of relevant documents over all candidates are known"
    facts.append(("depth", depth))
    lines = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts)
    return f'<h3>{escape(system.name)}</h3><dl class="facts">{lines}</dl>'

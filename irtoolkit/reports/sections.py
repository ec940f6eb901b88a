"""Sections of a report's page: pairs of systems, ranks, breakdowns, queries to read."""

from __future__ import annotations

from html import escape

from irtoolkit.base.plurals import number_of
from irtoolkit.reports.content import ReportContent
from irtoolkit.reports.drawing import MOST_PARTS, parts_chart, rank_curves, swatch
from irtoolkit.reports.elements import chooser, legend, scroll
from irtoolkit.reports.first_relevant import described
from irtoolkit.reports.formatting import OF_PARTS, format_figure, places_for


def facts_list(report: ReportContent) -> str:
    """Terms and descriptions at the top of the page: dataset, measures, systems."""

    def line(name: str, value: str) -> str:
        return f"<dt>{escape(name)}</dt><dd>{value}</dd>"

    lines = [line(name, escape(value)) for name, value in report.facts]
    if report.url is not None:
        url = escape(report.url)
        lines.append(line("Source", f'<a href="{url}" rel="noreferrer">{url}</a>'))
    names = ", ".join(column.measure for column in report.columns)
    lines.append(line("Measures", escape(names)))
    lines.append(line("Averaging", escape(report.averaging)))
    lines.append(line("Systems", escape(", ".join(system.name for system in report.systems))))
    return "".join(lines)


def pairs_section(report: ReportContent) -> str:
    """The charts of two systems, which the script draws; empty for one system."""
    if len(report.systems) < 2:
        return ""
    return (
        "<p>The queries on which two systems differ, and whether both systems find the same queries"
        " hard.</p>"
        + chooser("pairs", pair=True)
        + '<div class="plots"><figure><h3>Differences, sorted</h3>'
        '<ul class="legend" id="bars-legend"></ul><div id="bars"></div>'
        '<p class="said" id="bars-said"></p><figcaption id="bars-words"></figcaption></figure>'
        '<figure><h3>Difficulty for each system</h3><div id="scatter"></div>'
        '<p class="said" id="scatter-said"></p><figcaption id="scatter-words"></figcaption>'
        "</figure></div><noscript><p>The page's script draws these two charts. Scripts are turned off"
        " here.</p></noscript>"
    )


def ranks_section(report: ReportContent) -> str:
    """Ranks of the first relevant documents: a chart, a table, and what the runs leave unknown."""
    ranks, names = report.first_relevant, [system.name for system in report.systems]
    if not ranks.asked:
        return f"<p>No query has a document of grade {ranks.rel} or more.</p>"
    kind = described(ranks.rel)
    sentences = [f"Ranks of the first {kind} of {number_of(ranks.asked, 'queries', ',')}."]
    if ranks.lacking:
        sentences.append(f"Left out: {number_of(ranks.lacking, 'queries', ',')} without one.")
    exact = [n for i, n in enumerate(names) if ranks.exact[i] and not ranks.unknown(i)]
    if exact:
        sentences.append(f"Exact over all candidates for {', '.join(exact)}.")
    for i, name in enumerate(names):
        if ranks.unknown(i):
            why = "its exact ranks lack them" if ranks.exact[i] else "there are no exact ranks"
            sentences.append(
                f"For {ranks.unknown(i):,} queries the rank is unknown in the run of {name}: it has"
                f" at most {ranks.depths[i]:,} rows for a query, and {why}."
            )
    heads = "".join(f'<th scope="col">{swatch(i, n)} {escape(n)}</th>' for i, n in enumerate(names))
    rows = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(f"<td>{n:,} <small>({n / ranks.asked:.0%})</small></td>" for n in counts)
        + "</tr>"
        for name, counts in ranks.bins()
    )
    label = (
        f"Share of {ranks.asked} queries whose first {kind} is at each rank or above it,"
        f" for {', '.join(names)}; the table beside the chart has the counts"
    )
    return (
        f'<p>{escape(" ".join(sentences))}</p><div class="beside"><figure>{legend(report)}'
        f"{rank_curves(ranks, names, label)}<figcaption>Share of queries whose first relevant"
        " document is at each rank or above it (logarithmic axis).</figcaption></figure>"
        + scroll(
            f'<table class="first"><thead><tr><th scope="col">Rank</th>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table>",
            "Table of the ranks",
        )
        + "</div>"
    )


def breakdowns_section(report: ReportContent) -> str:
    """A table and a chart of each measure for each breakdown; empty without breakdowns."""
    if not report.breakdowns:
        return ""
    names = [system.name for system in report.systems]
    heads = "".join(f'<th scope="col">{swatch(i, n)} {escape(n)}</th>' for i, n in enumerate(names))
    parts = [f"<p>{OF_PARTS.capitalize()}</p>"]
    parts.append(chooser("breakdowns", pair=False))
    for name, groups in report.breakdowns.items():
        parts.append(f"<h3>By {escape(name)}</h3>")
        for number, column in enumerate(report.columns):
            measure = column.measure
            places = places_for([v for part in groups for v in part.figures[measure]])
            rows = "".join(
                f'<tr><th scope="row">{escape(part.name)}</th><td>{part.queries:,}</td>'
                + "".join(f"<td>{format_figure(v, places)}</td>" for v in part.figures[measure])
                + "</tr>"
                for part in groups
            )
            table = scroll(
                f'<table class="first"><caption class="vh">{escape(measure)} by {escape(name)}'
                f'</caption><thead><tr><th scope="col">{escape(name)}</th>'
                f'<th scope="col">Queries</th>{heads}</tr></thead><tbody>{rows}</tbody></table>',
                f"{measure} by {name}",
            )
            chart = ""
            if len(groups) <= MOST_PARTS:
                chart = (
                    f"<figure>{parts_chart(groups, measure, names)}"
                    f"<figcaption>{escape(measure)}; the number of queries is in brackets."
                    "</figcaption></figure>"
                )
            parts.append(f'<div class="beside" data-measure="{number}">{table}{chart}</div>')
    return "".join(parts)


def texts_section(report: ReportContent) -> str:
    """The browser of queries, which the script fills; or the reason why there are no texts."""
    texts = report.texts
    if not texts.entries:
        return f"<p>{escape(texts.why or '')}</p>"
    why = f"<p>{escape(texts.why)}</p>" if texts.why else ""
    orders = {
        "gain": "first system better",
        "loss": "second system better",
        "hard": "hardest first",
        "easy": "easiest first",
        "id": "dataset order",
    }
    options = "".join(f'<option value="{k}">{v}</option>' for k, v in orders.items())
    return (
        why + "<p>Choose a query to read it, its relevant documents and the first documents of each"
        " system. Marked terms of a document occur in the query. Marked terms of the query occur in"
        " its relevant documents.</p>"
        + chooser("queries", pair=len(report.systems) > 1)
        + '<div class="browser"><div><div class="controls" hidden>'
        '<label>Find <input type="search" id="find" autocomplete="off"></label>'
        f'<label>Order <select id="order">{options}</select></label></div>'
        '<p class="muted" id="found" role="status"></p>'
        '<ul class="queries" id="queries-list" aria-label="Queries"></ul></div>'
        '<div class="detail" id="detail" tabindex="-1" role="region" aria-label="Chosen query">'
        "<noscript><p>The page's script shows the queries. Scripts are turned off here.</p>"
        "</noscript></div></div>"
    )

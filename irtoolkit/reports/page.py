"""A report as one HTML page that holds all it shows."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import irtoolkit
from irtoolkit.reports.content import Report
from irtoolkit.reports.drawing import MOST_PARTS, parts_chart, rank_curves, swatch
from irtoolkit.reports.golds import described
from irtoolkit.reports.pairs import ALPHA, Column
from irtoolkit.reports.palette import MARKS, style
from irtoolkit.reports.texts import Entry, Text

# Decimals of per-query values in the page.
PLACES = 6
# What would end a script element, open a comment in it, or be taken for a line's end by a script.
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
TESTS = {
    "student": "paired t-test",
    "fisher": "Fisher's randomisation test",
    "wilcoxon": "Wilcoxon signed-rank test",
}
CORRECTIONS = {
    "holm": "Holm-corrected",
    "bonferroni": "Bonferroni-corrected",
    "none": "uncorrected",
}


def render(report: Report) -> str:
    """The page."""
    css = style() + "\n" + _resource("page.css")
    script = _resource("page.js")
    shown = [(id_, title, make(report)) for id_, title, make in SECTIONS]
    sections = [(id_, title, body) for id_, title, body in shown if body]
    parts = {
        "policy": escape(
            f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(script)};"
            " img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "version": escape(irtoolkit.__version__),
        "title": escape(f"{report.dataset_id}: {', '.join(s.name for s in report.systems)}"),
        "style": css,
        "dataset": escape(report.dataset_id),
        "facts": _facts(report),
        "notes": "".join(f'<p class="warn">{escape(line)}</p>' for line in report.notes),
        "contents": "".join(f'<li><a href="#{id_}">{title}</a></li>' for id_, title, _ in sections),
        "sections": "\n".join(
            f'<section id="{id_}" aria-labelledby="{id_}-name">'
            f'<h2 id="{id_}-name">{title}</h2>\n{body}\n</section>'
            for id_, title, body in sections
        ),
        "data": embedded(data_of(report)),
        "script": script,
    }
    # All at once: what has been put in is never searched for names again.
    return re.sub(r"\{\{(\w+)\}\}", lambda name: parts[name[1]], _resource("page.html"))


def embedded(content: Any) -> str:
    """JSON that can stand in a script element, whatever its texts hold."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub(r"[<>&\u2028\u2029]", lambda found: _UNSAFE[found[0]], text)


def data_of(report: Report) -> dict[str, Any]:
    """What the page's script reads: per-query values of every measure, ranks of gold, texts."""
    measures = [column.measure for column in report.columns]
    grades = {grade for entry in report.texts.entries for grade in entry.grades.values()}
    return {
        "measures": [{"name": c.measure, "lower": c.lower} for c in report.columns],
        "systems": [{"name": s.name, "letter": s.letter} for s in report.systems],
        "kinds": len(MARKS),
        "queries": [str(query_id) for query_id in report.query_ids],
        "values": [
            [_numbers(evaluation.per_query(name).tolist()) for evaluation in report.evaluations]
            for name in measures
        ],
        "ranks": [_numbers(row.tolist()) for row in report.golds.ranks],
        "rel": report.golds.rel,
        "graded": bool(grades - {0, 1}),
        "chart": measures.index(report.chart),
        "pair": list(report.pair),
        "queryLang": report.texts.query_lang,
        "docLang": report.texts.doc_lang,
        "entries": [_entry(entry) for entry in report.texts.entries],
    }


def _numbers(values: Sequence[float]) -> list[float | int | None]:
    """Values as JSON has them: whole ones without a point, and null for what is not finite."""
    rounded = (round(v, PLACES) if math.isfinite(v) else None for v in values)
    return [int(v) if v is not None and v == int(v) else v for v in rounded]


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "q": entry.query,
        "text": _text(entry.text),
        "docs": {doc_id: _text(doc) for doc_id, doc in entry.docs.items()},
        "grades": dict(entry.grades),
        "gold": list(entry.gold),
        "relevant": entry.relevant,
        "tops": [list(top) for top in entry.tops],
    }


def _text(text: Text | None) -> dict[str, Any] | None:
    if text is None:
        return None
    return {
        "title": text.title,
        "pieces": text.pieces,
        "held": text.held,
        "length": text.length,
        "facts": [[fact.name, fact.value] for fact in text.facts],
    }


def _resource(name: str) -> str:
    return files("irtoolkit.reports").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


# -- figures ---------------------------------------------------------------------------------------


def shown(value: float, places: int = 4) -> str:
    """A figure for reading."""
    if math.isnan(value):
        return "\u2013"
    return f"{value:.{places}f}" if math.isfinite(value) else "\u221e"


def places_of(column: Column) -> int:
    """Decimals of a measure's figures: four, and one where they are ranks or counts."""
    return places_for(column.figures)


def places_for(values: Sequence[float]) -> int:
    """Decimals of figures that stand in one column."""
    return 1 if any(abs(value) >= 10 for value in values if math.isfinite(value)) else 4


def p_value(p: float) -> str:
    """A p-value for reading: none is zero, however many decimals are shown."""
    return "<.0001" if p < 0.0001 else f"{p:.4f}"


def how_tested(report: Report) -> str:
    """What the letters mean, in one or two sentences of plain text."""
    family = (
        "all pairs of systems on the measure"
        if report.baseline is None
        else f"the comparisons with {report.systems[report.baseline].name} on the measure"
    )
    corrected = CORRECTIONS[report.correction]
    over = "" if report.correction == "none" else f" over {family}"
    return (
        f"A letter beside a figure names a system that this one is significantly better than"
        f" (two-sided {TESTS[report.test]} over {len(report.query_ids):,} queries, {corrected}"
        f"{over}, p < {ALPHA})."
    )


def how_averaged(report: Report) -> str:
    """What figures and intervals are means of."""
    return (
        f"Figures: {report.averaging}. Intervals: 95% percentile bootstrap of the plain mean over"
        " queries."
    )


# -- sections --------------------------------------------------------------------------------------


def _facts(report: Report) -> str:
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


def _systems(report: Report) -> str:
    heads = "".join(
        f'<th scope="col">{escape(c.measure)}{" <small>lower is better</small>" if c.lower else ""}</th>'
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
        f"{c.measure}: no intervals or tests, since {c.untested}."
        for c in report.columns
        if c.untested
    ]
    made = "".join(_made(report, i) for i in range(len(report.systems)))
    return (
        _scroll(
            f'<table class="first"><thead><tr><th scope="col">System</th>{heads}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table>",
            "Figures of every system",
        )
        + "".join(f'<p class="muted">{escape(line)}</p>' for line in told)
        + _tests(report)
        + f"<details><summary>How the runs were made</summary>{made}</details>"
    )


def _cell(report: Report, column: Column, place: int) -> str:
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
        low, high = (shown(bound, places) for bound in interval)
        span = f'<span class="interval">[{low}, {high}]</span>'
    return f"<td{best}>{shown(figure, places)}{letters}{span}</td>"


def _tests(report: Report) -> str:
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
                f"{sign}{shown(abs(pair.difference), places)}", p_value(pair.p_value),
                p_value(pair.corrected), shown(pair.effect, 2), str(pair.wins), str(pair.losses),
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
        f"<details><summary>Every test</summary>{_chooser('tests', pair=False)}"
        + _scroll(
            f'<table class="first"><thead><tr>{heads}</tr></thead>{"".join(bodies)}</table>',
            "Every test",
        )
        + "</details>"
    )


def _made(report: Report, place: int) -> str:
    system = report.systems[place]
    lines = [("file", system.file), *system.made]
    if not system.made:
        lines.append(("how", "not recorded: no ir_metadata file stands beside the run"))
    depth = f"at most {report.golds.depths[place]:,} rows for a query"
    if report.golds.exact[place]:
        depth += "; exact ranks of the gold over all candidates stand beside it"
    lines.append(("depth", depth))
    facts = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in lines)
    return f'<h3>{escape(system.name)}</h3><dl class="facts">{facts}</dl>'


def _pairs(report: Report) -> str:
    if len(report.systems) < 2:
        return ""
    return (
        "<p>Which queries make the difference between two systems, and whether they find the same"
        " ones hard.</p>"
        + _chooser("pairs", pair=True)
        + '<div class="plots"><figure><h3>Differences, sorted</h3>'
        '<ul class="legend" id="bars-legend"></ul><div id="bars"></div>'
        '<p class="said" id="bars-said"></p><figcaption id="bars-words"></figcaption></figure>'
        '<figure><h3>Difficulty for each</h3><div id="scatter"></div>'
        '<p class="said" id="scatter-said"></p><figcaption id="scatter-words"></figcaption>'
        "</figure></div><noscript><p>These two charts are drawn by the page's script, which this"
        " reader does not run.</p></noscript>"
    )


def _ranks(report: Report) -> str:
    golds, names = report.golds, [system.name for system in report.systems]
    if not golds.asked:
        return f"<p>No query has a document of grade {golds.rel} or more.</p>"
    kind = described(golds.rel)
    told = [f"Ranks of the first {kind} of {golds.asked:,} queries."]
    if golds.lacking:
        told.append(f"{golds.lacking:,} queries have none, and are left out.")
    exact = [n for i, n in enumerate(names) if golds.exact[i] and not golds.unknown(i)]
    if exact:
        told.append(f"Exact over all candidates for {', '.join(exact)}.")
    for i, name in enumerate(names):
        if golds.unknown(i):
            why = (
                "its exact ranks lack them" if golds.exact[i] else "no exact ranks stand beside it"
            )
            told.append(
                f"For {golds.unknown(i):,} queries the run of {name} does not tell the rank: it"
                f" has at most {golds.depths[i]:,} rows for a query, and {why}."
            )
    heads = "".join(f'<th scope="col">{swatch(i, n)} {escape(n)}</th>' for i, n in enumerate(names))
    rows = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(f"<td>{n:,} <small>({n / golds.asked:.0%})</small></td>" for n in counts)
        + "</tr>"
        for name, counts in golds.bins()
    )
    label = (
        f"Share of {golds.asked} queries whose first {kind} stands at each rank or above it,"
        f" for {', '.join(names)}; the table beside it has the counts"
    )
    return (
        f'<p>{escape(" ".join(told))}</p><div class="beside"><figure>{_legend(report)}'
        f"{rank_curves(golds, names, label)}<figcaption>Share of queries whose gold is found by"
        " each rank (logarithmic axis).</figcaption></figure>"
        + _scroll(
            f'<table class="first"><thead><tr><th scope="col">Rank</th>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table>",
            "Ranks of the gold",
        )
        + "</div>"
    )


def _legend(report: Report) -> str:
    items = "".join(
        f"<li>{swatch(i, system.name)} {escape(system.name)}</li>"
        for i, system in enumerate(report.systems)
    )
    return f'<ul class="legend">{items}</ul>'


def _breakdowns(report: Report) -> str:
    if not report.breakdowns:
        return ""
    names = [system.name for system in report.systems]
    heads = "".join(f'<th scope="col">{swatch(i, n)} {escape(n)}</th>' for i, n in enumerate(names))
    parts = ["<p>Means over the queries of each part, without folds.</p>"]
    parts.append(_chooser("breakdowns", pair=False))
    for number, (name, found) in enumerate(report.breakdowns.items()):
        parts.append(f"<h3>By {escape(name)}</h3>")
        for at, column in enumerate(report.columns):
            measure = column.measure
            places = places_for([v for part in found for v in part.figures[measure]])
            rows = "".join(
                f'<tr><th scope="row">{escape(part.name)}</th><td>{part.queries:,}</td>'
                + "".join(f"<td>{shown(v, places)}</td>" for v in part.figures[measure])
                + "</tr>"
                for part in found
            )
            table = _scroll(
                f'<table class="first"><caption class="vh">{escape(measure)} by {escape(name)}'
                f'</caption><thead><tr><th scope="col">{escape(name)}</th>'
                f'<th scope="col">Queries</th>{heads}</tr></thead><tbody>{rows}</tbody></table>',
                f"{measure} by {name}",
            )
            chart = ""
            if len(found) <= MOST_PARTS:
                chart = (
                    f"<figure>{parts_chart(found, measure, names, f'by-{number}-{at}')}"
                    f"<figcaption>{escape(measure)}; in brackets the number of queries."
                    "</figcaption></figure>"
                )
            parts.append(f'<div class="beside" data-measure="{at}">{table}{chart}</div>')
    return "".join(parts)


def _browser(report: Report) -> str:
    texts = report.texts
    if not texts.entries:
        return f"<p>{escape(texts.why or '')}</p>"
    why = f"<p>{escape(texts.why)}</p>" if texts.why else ""
    orders = {
        "gain": "first system better", "loss": "second system better", "hard": "hardest first",
        "easy": "easiest first", "id": "as in the dataset",
    }  # fmt: skip
    options = "".join(f'<option value="{k}">{v}</option>' for k, v in orders.items())
    return (
        why + "<p>Choose a query to read it, its gold, and what each system put on top. Terms that"
        " a document shares with the query are marked, and those of the query that its gold"
        " has.</p>"
        + _chooser("queries", pair=len(report.systems) > 1)
        + '<div class="browser"><div><div class="controls" hidden>'
        '<label>Find <input type="search" id="find" autocomplete="off"></label>'
        f'<label>Order <select id="order">{options}</select></label></div>'
        '<p class="muted" id="found" role="status"></p>'
        '<ul class="queries" id="queries-list" aria-label="Queries"></ul></div>'
        '<div class="detail" id="detail" tabindex="-1" role="region" aria-label="The chosen query">'
        "<noscript><p>Queries are shown by the page's script, which this reader does not run.</p>"
        "</noscript></div></div>"
    )


def _chooser(where: str, *, pair: bool) -> str:
    """Selects that the script fills; they choose for the whole page."""
    wanted = [("measure", "Measure")]
    wanted += [("a", "First system"), ("b", "Second system")] if pair else []
    labels = "".join(
        f'<label>{label} <select data-chooses="{name}" id="{where}-{name}"></select></label>'
        for name, label in wanted
    )
    return f'<div class="controls" hidden>{labels}</div>'


def _scroll(table: str, label: str) -> str:
    """A table that scrolls by itself where it is too wide, with the keyboard too."""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">{table}</div>'
    )


SECTIONS: tuple[tuple[str, str, Callable[[Report], str]], ...] = (
    ("systems", "Systems", _systems),
    ("differences", "Two systems, query by query", _pairs),
    ("golds", "Ranks of the gold", _ranks),
    ("parts", "Parts of the queries", _breakdowns),
    ("texts", "Queries to read", _browser),
)

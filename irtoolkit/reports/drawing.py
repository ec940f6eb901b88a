"""Static charts of a report's page, as inline SVG; the page's script draws the interactive ones.

Charts of rows are as wide as the page: each row is a label and a track, whose positions are shares of
its width, so that texts keep their size on a phone and on a desk. Curves are 400 units wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from irtoolkit.reports.content import BreakdownPart
from irtoolkit.reports.first_relevant import FirstRelevant, described
from irtoolkit.reports.formatting import format_figure, places_for
from irtoolkit.reports.pairs import MeasureColumn
from irtoolkit.reports.palette import DASHES, MARKS

WIDTH = 400
# The most parts of a breakdown that get a chart; a table shows all parts.
MOST_PARTS = 40


def swatch(index: int, name: str) -> str:
    """The colour, mark and dash of a system, for legends."""
    kind = index % len(MARKS)
    return (
        f'<svg class="swatch s{kind}" viewBox="-14 -7 28 14" width="28" height="14" role="img">'
        f"<title>{escape(name)}</title>"
        f'<path class="curve" d="M-14 0H14"/><path class="dot" d="{MARKS[kind]}"/></svg>'
    )


def rank_curves(golds: FirstRelevant, names: Sequence[str], label: str) -> str:
    """A chart of the share of queries whose first relevant document is at each rank or above it."""
    height, left_edge, right, top, bottom = 230, 38, 10, 8, 40
    last = max(golds.highest(), 2)
    wide, high = WIDTH - left_edge - right, height - top - bottom

    def x(rank: float) -> float:
        return left_edge + wide * math.log(rank) / math.log(last)

    def y(share: float) -> float:
        return top + high * (1 - share)

    parts = _rules(left_edge, WIDTH - right, [(y(s), f"{s:.0%}") for s in (0, 0.25, 0.5, 0.75, 1)])
    ticks = [10**i for i in range(math.floor(math.log10(last)) + 1)]
    ticks = ticks if len(ticks) > 1 else sorted({1, 2, 5, last} & set(range(1, last + 1)))
    for tick in ticks:
        parts.append(_text(x(tick), height - bottom + 15, f"{tick:,}", "middle"))
    parts.append(
        _text(
            left_edge + wide / 2, height - 6, f"rank of the first {described(golds.rel)}", "middle"
        )
    )
    for i in range(len(names)):
        # Below its depth, ranks of a run without exact ranks are unknown, and no line is drawn.
        end = min(last, golds.depths[i]) if golds.unknown(i) else last
        ranks = sorted({*_log_steps(end), end})
        path = f"M{left_edge} {y(golds.share(i, 1)):.1f}"
        for rank in ranks[1:]:
            path += f"H{x(rank):.1f}V{y(golds.share(i, rank)):.1f}"
        parts.append(f'<path class="curve s{i % len(DASHES)}" d="{path}"/>')
        # Marks are apart even where curves coincide.
        label_rank = max(
            r for r in ranks if r <= max(1, last ** (0.2 + 0.6 * (i + 0.5) / len(names)))
        )
        parts.append(_mark(i, x(label_rank), y(golds.share(i, label_rank))))
    return _svg("ranks", height, label, parts)


def _log_steps(last: int) -> list[int]:
    """Ranks that are about one point of the curve apart."""
    return sorted({round(math.exp(math.log(last) * i / 240)) for i in range(241)})


def marks() -> str:
    """The outlines of all marks, which the tracks of rows use."""
    shapes = "".join(f'<path id="mark{kind}" d="{shape}"/>' for kind, shape in enumerate(MARKS))
    return f'<svg class="vh" aria-hidden="true"><defs>{shapes}</defs></svg>'


def means_chart(column: MeasureColumn, order: Sequence[int], names: Sequence[str]) -> str:
    """A chart of the figure of each system, with its interval where it has one.

    Args:
        column: figures and intervals.
        order: the systems to draw, from top to bottom.
        names: the name of each system.
    """
    spans = [span for i in order if (span := column.intervals[i]) is not None]
    last = nice(max([column.figures[i] for i in order] + [high for _, high in spans]))
    places = places_for([column.figures[i] for i in order])
    rows = []
    for i in order:
        figure, span = column.figures[i], column.intervals[i]
        figure_text, title = format_figure(figure, places), f"{names[i]}: {figure:.4g}"
        drawn = ""
        if span is not None:
            low, high = (_percent(bound, last) for bound in span)
            title += f", interval from {span[0]:.4g} to {span[1]:.4g}"
            drawn = f'<line class="span s{i % len(MARKS)}" x1="{low}" x2="{high}" y1="12" y2="12"/>'
        track = _track(24, title, drawn + _mark_at(i, _percent(figure, last), 12))
        label = f"{swatch(i, names[i])} {escape(names[i])}"
        rows.append(_row(label, track, figure_text))
    return _rows(rows, last)


def parts_chart(parts: Sequence[BreakdownPart], measure: str, names: Sequence[str]) -> str:
    """A chart of the figure of each system for each part of the queries, as marks on a line."""
    values = [value for part in parts for value in part.figures[measure] if math.isfinite(value)]
    last = nice(max(values, default=1.0))
    height = 18 + 3 * len(names)
    rows = []
    for part in parts:
        drawn = f'<line class="axis" x1="0" x2="100%" y1="{height / 2}" y2="{height / 2}"/>'
        captions = []
        for i, value in enumerate(part.figures[measure]):
            if not math.isfinite(value):
                continue
            # Equal systems are drawn below each other.
            y = height / 2 + 3 * (i - (len(names) - 1) / 2)
            drawn += _mark_at(i, _percent(value, last), y)
            captions.append(f"{names[i]} {value:.4g}")
        title = f"{part.name}: {', '.join(captions) or 'no figure'}"
        rows.append(_row(f"{escape(part.name)} ({part.queries:,})", _track(height, title, drawn)))
    return _rows(rows, last)


def _rows(rows: Sequence[str], last: float) -> str:
    """Rows above one axis, from 0 to a last value."""
    texts = "".join(
        f'<text x="{25 * i}%" y="12" text-anchor="{anchor}">{last * i / 4:.4g}</text>'
        for i, anchor in enumerate(("start", "middle", "middle", "middle", "end"))
    )
    axis = f'<svg class="track" height="16" aria-hidden="true">{texts}</svg>'
    return f'<ul class="rows">{"".join(rows)}<li aria-hidden="true"><span></span>{axis}</li></ul>'


def _row(label: str, track: str, figure: str = "") -> str:
    value_text = f'<span class="figure">{figure}</span>' if figure else ""
    return f'<li><span class="name">{label}</span>{track}{value_text}</li>'


def _track(height: float, title: str, drawn: str) -> str:
    """A drawing as wide as there is room, with rules at the quarters."""
    rules = "".join(
        f'<line class="rule" x1="{25 * i}%" x2="{25 * i}%" y1="0" y2="100%"/>' for i in range(5)
    )
    return (
        f'<svg class="track" height="{height}" role="img"><title>{escape(title)}</title>'
        f"{rules}{drawn}</svg>"
    )


def _mark_at(index: int, x: str, y: float) -> str:
    kind = index % len(MARKS)
    return f'<use class="dot s{kind}" href="#mark{kind}" x="{x}" y="{y:g}"/>'


def _percent(value: float, last: float) -> str:
    """Where a value is between 0 and a last value, as a share of the width."""
    return f"{100 * max(0.0, value) / last:.2f}%"


def nice(value: float) -> float:
    """The least of 1, 2, 2.5, 4, 5 or 8 times a power of ten that is not below a value."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * s for s in (1, 2, 2.5, 4, 5, 8, 10) if power * s >= value * (1 - 1e-9))


def _rules(start: float, right: float, ticks: Sequence[tuple[float, str]]) -> list[str]:
    rules = []
    for y, label in ticks:
        rules.append(f'<path class="rule" d="M{start} {y:.1f}H{right}"/>')
        rules.append(_text(start - 5, y + 4, label, "end"))
    return rules


def _mark(index: int, x: float, y: float) -> str:
    kind = index % len(MARKS)
    return f'<path class="dot s{kind}" transform="translate({x:.1f} {y:.1f})" d="{MARKS[kind]}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(id_: str, height: float, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{id_}-title">'
        f'<title id="{id_}-title">{escape(label)}</title>{"".join(parts)}</svg>'
    )

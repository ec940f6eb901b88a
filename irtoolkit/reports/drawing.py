"""Static charts of a report's page, as inline SVG; the page's script draws the interactive ones.

Charts are 400 units wide, so that their texts have a readable size on a phone and on a desk.
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


def swatch(place: int, name: str) -> str:
    """The colour, mark and dash of a system, for legends."""
    kind = place % len(MARKS)
    return (
        f'<svg class="swatch s{kind}" viewBox="-14 -7 28 14" width="28" height="14" role="img">'
        f"<title>{escape(name)}</title>"
        f'<path class="curve" d="M-14 0H14"/><path class="dot" d="{MARKS[kind]}"/></svg>'
    )


def rank_curves(golds: FirstRelevant, names: Sequence[str], label: str) -> str:
    """A chart of the share of queries whose first relevant document is at each rank or above it."""
    height, left, right, top, bottom = 230, 38, 10, 8, 40
    last = max(golds.highest(), 2)
    wide, high = WIDTH - left - right, height - top - bottom

    def x(rank: float) -> float:
        return left + wide * math.log(rank) / math.log(last)

    def y(share: float) -> float:
        return top + high * (1 - share)

    parts = _rules(left, WIDTH - right, [(y(s), f"{s:.0%}") for s in (0, 0.25, 0.5, 0.75, 1)])
    ticks = [10**i for i in range(math.floor(math.log10(last)) + 1)]
    ticks = ticks if len(ticks) > 1 else sorted({1, 2, 5, last} & set(range(1, last + 1)))
    for tick in ticks:
        parts.append(_text(x(tick), height - bottom + 15, f"{tick:,}", "middle"))
    parts.append(
        _text(left + wide / 2, height - 6, f"rank of the first {described(golds.rel)}", "middle")
    )
    for i in range(len(names)):
        # Below its depth, ranks of a run without exact ranks are unknown, and no line is drawn.
        end = min(last, golds.depths[i]) if golds.unknown(i) else last
        ranks = sorted({*_log_steps(end), end})
        path = f"M{left} {y(golds.share(i, 1)):.1f}"
        for rank in ranks[1:]:
            path += f"H{x(rank):.1f}V{y(golds.share(i, rank)):.1f}"
        parts.append(f'<path class="curve s{i % len(DASHES)}" d="{path}"/>')
        # Marks are apart even where curves coincide.
        at = max(r for r in ranks if r <= max(1, last ** (0.2 + 0.6 * (i + 0.5) / len(names))))
        parts.append(_mark(i, x(at), y(golds.share(i, at))))
    return _svg("ranks", height, label, parts)


def _log_steps(last: int) -> list[int]:
    """Ranks that are about one point of the curve apart."""
    return sorted({round(math.exp(math.log(last) * i / 240)) for i in range(241)})


def means_chart(
    column: MeasureColumn, order: Sequence[int], names: Sequence[str], label: str
) -> str:
    """A chart of the figure of each system, with its interval where it has one.

    Args:
        column: figures and intervals.
        order: the systems to draw, from top to bottom.
        names: the name of each system.
        label: what the chart shows, for readers who cannot see it.
    """
    step, left, right, top = 34, 10, 10, 4
    height = top + step * len(order) + 22
    values = [column.figures[place] for place in order]
    spans = [span for place in order if (span := column.intervals[place]) is not None]
    last = nice(max([*values, *(high for _, high in spans)]))
    wide = WIDTH - left - right
    drawn = _scale(left, wide, top, height, last)
    places = places_for(values)
    for row, place in enumerate(order):
        y, figure, span = top + step * row + 24, column.figures[place], column.intervals[place]
        drawn.append(_text(left, y - 9, names[place], "start"))
        drawn.append(_text(WIDTH - right, y - 9, format_figure(figure, places), "end"))
        if span is not None:
            low, high = (left + wide * max(0.0, bound) / last for bound in span)
            drawn.append(
                f'<path class="span s{place % len(MARKS)}" d="M{low:.1f} {y}H{high:.1f}"/>'
            )
        drawn.append(_mark(place, left + wide * max(0.0, figure) / last, y, names[place], figure))
    return _svg("means", height, label, drawn)


def parts_chart(
    parts: Sequence[BreakdownPart], measure: str, names: Sequence[str], id_: str
) -> str:
    """A chart of the figure of each system for each part of the queries, as dots on a line."""
    step, left, right, top = 30 + 3 * len(names), 10, 10, 8
    height = top + step * len(parts) + 22
    values = [value for part in parts for value in part.figures[measure] if math.isfinite(value)]
    last = nice(max(values, default=1.0))
    wide = WIDTH - left - right
    drawn = _scale(left, wide, top, height, last)
    for row, part in enumerate(parts):
        middle = top + step * row + (step + 15) / 2
        drawn.append(_text(left, top + step * row + 12, f"{part.name} ({part.queries})", "start"))
        drawn.append(f'<path class="axis" d="M{left} {middle}H{WIDTH - right}"/>')
        for i, value in enumerate(part.figures[measure]):
            # Equal systems are drawn below each other.
            y = middle + 3 * (i - (len(names) - 1) / 2)
            if math.isfinite(value):
                drawn.append(_mark(i, left + wide * value / last, y, names[i], value))
    label = f"{measure} of each system for each part of the queries; the table has the figures"
    return _svg(id_, height, label, drawn)


def _scale(left: float, wide: float, top: float, height: float, last: float) -> list[str]:
    """Five rules from 0 to a last value, which is written below each."""
    drawn = []
    for i in range(5):
        at = left + wide * i / 4
        drawn.append(f'<path class="rule" d="M{at:.1f} {top}V{height - 20}"/>')
        anchor = "start" if i == 0 else "end" if i == 4 else "middle"
        drawn.append(_text(at, height - 6, f"{last * i / 4:.4g}", anchor))
    return drawn


def nice(value: float) -> float:
    """The least of 1, 2, 2.5, 4, 5 or 8 times a power of ten that is not below a value."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * s for s in (1, 2, 2.5, 4, 5, 8, 10) if power * s >= value * (1 - 1e-9))


def _rules(left: float, right: float, at: Sequence[tuple[float, str]]) -> list[str]:
    found = []
    for y, label in at:
        found.append(f'<path class="rule" d="M{left} {y:.1f}H{right}"/>')
        found.append(_text(left - 5, y + 4, label, "end"))
    return found


def _mark(place: int, x: float, y: float, name: str = "", value: float = 0.0) -> str:
    kind = place % len(MARKS)
    said = f"<title>{escape(name)}: {value:.4g}</title>" if name else ""
    return (
        f'<path class="dot s{kind}" transform="translate({x:.1f} {y:.1f})" d="{MARKS[kind]}">'
        f"{said}</path>"
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(id_: str, height: float, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{id_}-title">'
        f'<title id="{id_}-title">{escape(label)}</title>{"".join(parts)}</svg>'
    )

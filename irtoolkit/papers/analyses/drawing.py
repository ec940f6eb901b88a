"""Drawing the charts of analyses as SVG with matplotlib, in the style of reports."""

from __future__ import annotations

from functools import singledispatch
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from irtoolkit.base.errors import needs_extra
from irtoolkit.papers.analyses.base import Bars, Chart, Curves, Grids
from irtoolkit.reports.figures import HIGH, LINES, WIDE, logarithmic, save_figure
from irtoolkit.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches that a group of bars needs, and the letters that fit below one bar.
_GROUP, _LETTERS = 0.32, 5


def can_draw() -> bool:
    """Returns whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(chart: Chart, path: Path) -> Path:
    """Writes a chart as an SVG file.

    Raises:
        InputError: matplotlib is not installed, or the file cannot be written.
    """
    if not can_draw():
        raise needs_extra("matplotlib", "analyse")
    return save_figure(path, _size(chart), lambda figure: _drawn(chart, figure))


def _size(chart: Chart) -> tuple[float, float]:
    if isinstance(chart, Grids):
        return max(WIDE, 2.2 * len(chart.panels)), HIGH
    if isinstance(chart, Bars):
        return max(WIDE, 0.8 + _GROUP * len(chart.groups)), HIGH + 0.9 * _is_slanted(chart)
    return WIDE, HIGH


@singledispatch
def _drawn(chart: Chart, figure: Figure) -> None:
    raise TypeError(f"no drawing of {type(chart).__name__}")


@_drawn.register(Bars)
def _bars(chart: Bars, figure: Figure) -> None:
    axes = figure.add_subplot()
    places = np.arange(len(chart.groups))
    width = 0.8 / max(1, len(chart.series))
    for i, (name, heights) in enumerate(chart.series.items()):
        drawn = [np.nan if height is None else height for height in heights]
        offset = (i - (len(chart.series) - 1) / 2) * width
        axes.bar(places + offset, drawn, width, color=_colour(i), label=name)
    axes.set_xticks(places, chart.groups)
    if _is_slanted(chart):
        for label in axes.get_xticklabels():
            label.set(rotation=60, ha="right", rotation_mode="anchor")
    axes.set_xlabel(chart.x)
    axes.set_ylabel(chart.y)
    if len(chart.series) > 1:
        figure.legend(loc="outside upper center", ncols=min(3, len(chart.series)))


def _is_slanted(chart: Bars) -> bool:
    return len(chart.groups) > 4 and max(map(len, chart.groups), default=0) > _LETTERS


@_drawn.register(Grids)
def _grids(chart: Grids, figure: Figure) -> None:
    steps = np.arange(len(chart.steps))
    for number, ((rows, columns), counts) in enumerate(chart.panels.items(), 1):
        axes = figure.add_subplot(1, len(chart.panels), number)
        table = np.asarray(counts)
        # Most candidates are unrelated in both facets: a linear scale would show nothing else.
        axes.imshow(np.log1p(table), cmap="Blues", origin="lower")
        axes.set_xticks(steps, chart.steps)
        axes.set_yticks(steps, chart.steps)
        axes.set_xlabel(columns)
        axes.set_ylabel(rows)
        for (y, x), count in np.ndenumerate(table):
            dark = np.log1p(count) > 0.6 * np.log1p(table.max())
            ink = LIGHT.ground if dark else LIGHT.text
            axes.text(x, y, str(count), ha="center", va="center", color=ink)


@_drawn.register(Curves)
def _curves(chart: Curves, figure: Figure) -> None:
    axes = figure.add_subplot()
    for i, (name, points) in enumerate(chart.curves.items()):
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=_colour(i),
            linestyle=LINES[i % len(LINES)],
            label=name,
        )
    logarithmic(axes, "x")
    axes.set_xlabel(chart.x)
    axes.set_ylabel(chart.y)
    axes.set_ylim(bottom=0)
    if len(chart.curves) > 1:
        axes.legend(loc="best")


def _colour(index: int) -> str:
    return LIGHT.systems[index % len(LIGHT.systems)]

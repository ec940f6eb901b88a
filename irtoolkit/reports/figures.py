"""A report's charts for papers, as PDF and SVG files drawn by matplotlib."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irtoolkit.base.errors import check_installed
from irtoolkit.base.files import StrPath, atomic_path
from irtoolkit.base.plurals import number_of
from irtoolkit.reports.content import BreakdownPart, ReportContent
from irtoolkit.reports.first_relevant import described
from irtoolkit.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches: one column of a two-column paper.
WIDE, HIGH = 3.4, 2.4
FORMATS = ("pdf", "svg")
# The most queries drawn as bars, and the columns of a chart of more, drawn as one outline.
BARS, COLUMNS = 200, 1000
MARKERS = ("o", "s", "^", "D", "P", "X")
LINES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1.5, 2)),
    (0, (6, 2, 1.5, 2)),
    (0, (3, 1.5)),
    (0, (9, 3)),
)
STYLE: dict[Any, Any] = {
    # Publishers require Type 42 fonts; the salt makes files of one figure identical.
    "pdf.fonttype": 42,
    "svg.hashsalt": "irtoolkit",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "text.parse_math": False,
}


def write_figures(report: ReportContent, folder: StrPath) -> list[Path]:
    """Draws every chart of a report, each as PDF and as SVG.

    Returns:
        The files: for the chart measure, differences and scatter of the report's pair and one chart
        for each breakdown; and the ranks of the first relevant documents.

    Raises:
        InputError: matplotlib is not installed, or the folder cannot be written.
    """
    check_installed("matplotlib", "report")
    charts: list[tuple[str, tuple[float, float], Callable[[Axes], None]]] = []
    if len(report.systems) > 1:
        charts.append(("differences", (WIDE, HIGH), lambda axes: _differences(axes, report)))
        charts.append(("scatter", (WIDE, WIDE), lambda axes: _scatter(axes, report)))
    if report.first_relevant.asked:
        charts.append(("ranks", (WIDE, HIGH), lambda axes: _ranks(axes, report)))
    for name, parts in report.breakdowns.items():
        size = (WIDE, 0.9 + 0.22 * len(parts))
        # Names of breakdowns are free text, and must not become part of a path.
        plain = re.sub(r"\W+", "-", name)
        charts.append((f"by-{plain}", size, lambda axes, p=parts: _parts(axes, report, p)))  # type: ignore[misc]
    return [path for name, size, draw in charts for path in _write(folder, name, size, draw)]


def _write(
    folder: StrPath, name: str, size: tuple[float, float], draw: Callable[[Axes], None]
) -> list[Path]:
    paths = [Path(folder) / f"{name}.{form}" for form in FORMATS]
    return [save_figure(path, size, lambda figure: draw(figure.add_subplot())) for path in paths]


def save_figure(path: Path, size: tuple[float, float], draw: Callable[[Figure], None]) -> Path:
    """Writes a figure as PDF or SVG, by the name of the file; the same figure gives the same bytes.

    Args:
        path: the file.
        size: width and height in inches.
        draw: adds axes to the empty figure and draws on them.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    form = path.suffix[1:]
    dated = {"CreationDate": None} if form == "pdf" else {"Date": None}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=form, metadata=dated)
    return path


def _colour(index: int) -> str:
    return LIGHT.systems[index % len(LIGHT.systems)]


def _differences(axes: Axes, report: ReportContent) -> None:
    gains = report.gains(report.chart)
    finite = np.sort(gains[np.isfinite(gains)])[::-1]
    first, second = report.pair
    sampled = finite
    if len(finite) > COLUMNS:
        # A column of several queries shows the largest difference, so that no extreme is lost.
        parts = np.array_split(finite, COLUMNS)
        sampled = np.array([part[np.abs(part).argmax()] for part in parts])
    places = np.arange(len(sampled))
    for system, subset in ((first, sampled > 0), (second, sampled < 0)):
        drawn = (places[subset], sampled[subset])
        if len(sampled) <= BARS:
            axes.bar(*drawn, width=0.8, color=_colour(system))
        else:
            axes.fill_between(*drawn, step="mid", color=_colour(system), linewidth=0.4)
    axes.set_xlim(-1, len(sampled))
    axes.axhline(0, color=LIGHT.muted, linewidth=0.8)
    axes.set_xticks([])
    per_bar = len(finite) / max(1, len(sampled))
    grouped = (
        f"; each column shows the largest difference of {per_bar:.0f}" if per_bar > 1.5 else ""
    )
    axes.set_xlabel(
        f"{number_of(len(finite), 'queries', ',')}, sorted"
        + grouped
        + _left_out(len(gains) - len(finite))
    )
    sign = "lower is better" if report.column(report.chart).lower else None
    axes.set_ylabel(f"gain in {report.chart}" + (f" ({sign})" if sign else ""))
    for position, edge in ((first, "top"), (second, "bottom")):
        corner = 0.98 if edge == "top" else 0.02
        axes.text(
            corner,
            corner,
            f"{report.systems[position].name} better",
            transform=axes.transAxes,
            ha="right" if edge == "top" else "left",
            va=edge,
            color=LIGHT.text,
        )


def _left_out(count: int) -> str:
    return f"; {count:,} without a value left out" if count else ""


def _scatter(axes: Axes, report: ReportContent) -> None:
    first_values, two = (report.evaluations[i].per_query(report.chart) for i in report.pair)
    finite = np.isfinite(first_values) & np.isfinite(two)
    points, counts = np.unique(
        np.stack([first_values[finite], two[finite]]), axis=1, return_counts=True
    )
    axes.scatter(
        points[0],
        points[1],
        s=9 + 8 * np.minimum(counts - 1, 40),
        color=LIGHT.text,
        alpha=0.5,
        linewidths=0,
    )
    if report.column(report.chart).lower:
        logarithmic(axes, "x", "y")
    low = min(axes.get_xlim()[0], axes.get_ylim()[0])
    high = max(axes.get_xlim()[1], axes.get_ylim()[1])
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal")
    axes.plot([low, high], [low, high], color=LIGHT.muted, linestyle=(0, (3, 3)), linewidth=0.8)
    first, second = (report.systems[i].name for i in report.pair)
    axes.set_xlabel(f"{report.chart}, {first}" + _left_out(int((~finite).sum())))
    axes.set_ylabel(f"{report.chart}, {second}")


def _ranks(axes: Axes, report: ReportContent) -> None:
    golds = report.first_relevant
    last = max(golds.highest(), 2)
    for i, system in enumerate(report.systems):
        # Below its depth, ranks of a run without exact ranks are unknown, and no line is drawn.
        end = min(last, golds.depths[i]) if golds.unknown(i) else last
        ranks = sorted({*np.geomspace(1, end, 400).round().astype(int).tolist(), end})
        shares = [golds.share(i, rank) for rank in ranks]
        axes.step(
            ranks,
            shares,
            where="post",
            color=_colour(i),
            linestyle=LINES[i % len(LINES)],
            label=_label(system.name),
        )
    logarithmic(axes, "x")
    axes.set_xlim(1, last)
    axes.set_ylim(0, 1)
    axes.set_xlabel(f"rank of the first {described(golds.rel)}")
    axes.set_ylabel(f"share of {golds.asked:,} queries")
    axes.legend(loc="best")


def _parts(axes: Axes, report: ReportContent, parts: Sequence[BreakdownPart]) -> None:
    rows = np.arange(len(parts))[::-1]
    for i, system in enumerate(report.systems):
        values = [part.figures[report.chart][i] for part in parts]
        bars = [value if math.isfinite(value) else math.nan for value in values]
        axes.plot(
            bars,
            rows,
            linestyle="none",
            marker=MARKERS[i % len(MARKERS)],
            color=_colour(i),
            markersize=4.5,
            label=_label(system.name),
        )
    axes.set_yticks(rows, [f"{part.name} ({part.queries})" for part in parts])
    axes.set_ylim(-0.6, len(parts) - 0.4)
    axes.set_xlim(left=0)
    axes.grid(axis="y", color=LIGHT.line, linewidth=0.6)
    axes.set_xlabel(report.chart)
    axes.figure.legend(loc="outside upper center", ncols=min(3, len(report.systems)))


def logarithmic(axes: Axes, *sides: Literal["x", "y"]) -> None:
    """Makes axes logarithmic, with plain numbers instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for side in sides:
        axes.set(**{f"{side}scale": "log"})
        axis = axes.xaxis if side == "x" else axes.yaxis
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.set_minor_formatter(NullFormatter())


def _label(name: str) -> str:
    """A name that matplotlib's legend shows even if it begins with an underscore."""
    return f"\u200b{name}" if name.startswith("_") else name

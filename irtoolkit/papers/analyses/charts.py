"""Charts of analyses, as data: bars, grids of counts, and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Bars:
    """Bars side by side for each of some groups.

    Attributes:
        name: the name of its file.
        x, y: labels of the axes.
        groups: names of the groups along the x axis.
        series: name of a series to the height of its bar in each group; None for no bar.
    """

    name: str
    x: str
    y: str
    groups: Sequence[str]
    series: Mapping[str, Sequence[float | None]]


@dataclass(frozen=True)
class Grids:
    """Grids of counts side by side, each count written into its cell.

    Attributes:
        name: the name of its file.
        steps: the labels of rows and columns, both alike.
        panels: names of rows and columns of a grid to its counts, rows first.
    """

    name: str
    steps: Sequence[str]
    panels: Mapping[tuple[str, str], Sequence[Sequence[int]]]


@dataclass(frozen=True)
class Curves:
    """Curves over ranks on a logarithmic axis.

    Attributes:
        name: the name of its file.
        x, y: labels of the axes.
        curves: name of a curve to its points.
    """

    name: str
    x: str
    y: str
    curves: Mapping[str, Sequence[tuple[float, float]]]


Chart = Bars | Grids | Curves

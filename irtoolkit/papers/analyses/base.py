"""The interface of an analysis: a declaration with a method that computes its figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from irtoolkit.base.errors import InputError
from irtoolkit.base.tables import TableCell
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.retrievers.settings import parse_settings
from irtoolkit.runs import Run

T = TypeVar("T")
# The names of a row to the figures that a paper prints in it; None where it prints none.
Printed = Mapping[tuple[str, ...], Sequence[float | None]]


@dataclass(frozen=True)
class Column:
    """A column of figures.

    Attributes:
        name: its heading.
        places: decimals of measured figures.
        printed: decimals that the paper prints; by default as many.
        cut: whether the paper truncates instead of rounding.
    """

    name: str
    places: int = 2
    printed: int | None = None
    cut: bool = False

    @property
    def printed_places(self) -> int:
        """Decimals that the paper prints."""
        return self.places if self.printed is None else self.printed

    def same(self, measured: float, reported: float) -> bool:
        """Returns whether a measured figure equals the reported one at the paper's precision."""
        places = self.printed_places
        if self.cut:
            shift = 10.0**places
            return int(measured * shift + 1e-9) == round(reported * shift)
        return f"{measured:.{places}f}" == f"{reported:.{places}f}"


@dataclass(frozen=True)
class FigureRow:
    """A row of figures.

    Attributes:
        names: the texts that name the row.
        values: measured figures, in the order of the columns; None if not measured. Empty for a
            row that only the paper has.
        reported: the paper's figures in the same order; empty if it prints none.
    """

    names: tuple[str, ...]
    values: tuple[TableCell, ...] = ()
    reported: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class FigureTable:
    """A table of figures.

    Attributes:
        name: the name of its files and of its key in JSON.
        title: its title.
        names: headings of the columns that name a row.
        columns: the columns of figures.
        rows: the rows.
    """

    name: str
    title: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[FigureRow, ...]

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        names: str | tuple[str, ...],
        columns: Sequence[Column],
        figures: Mapping[Any, Sequence[TableCell]],
    ) -> Self:
        """Returns a table of figures by the names of their rows, each one text or several."""
        rows = tuple(FigureRow(_texts(key), tuple(values)) for key, values in figures.items())
        return cls(name, title, _texts(names), tuple(columns), rows)

    def with_reported(self, printed: Printed) -> FigureTable:
        """Returns the table with the paper's figures; rows that only the paper has come last."""
        rows = [
            replace(row, reported=tuple(printed[row.names])) if row.names in printed else row
            for row in self.rows
        ]
        present = {row.names for row in self.rows}
        rows += [
            FigureRow(names, (), tuple(figures))
            for names, figures in printed.items()
            if names not in present
        ]
        return replace(self, rows=tuple(rows))


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


@dataclass(frozen=True)
class Findings:
    """The findings of an analysis.

    Attributes:
        tables: its figures.
        charts: its charts, whose figures are in the tables, too.
        notes: lines of text below the tables.
    """

    tables: tuple[FigureTable, ...]
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Given:
    """The input of an analysis.

    Attributes:
        datasets: the datasets, at least one.
        runs: name of a system to its ranking of the first dataset; empty if none is needed.
        sheets: files that people have filled in, one for each of them.
        sheet: the file that is to be written for people to fill in; None for none.
        system: the name of the system that ranks.
    """

    datasets: tuple[Dataset, ...]
    runs: Mapping[str, Run]
    sheets: tuple[Path, ...] = ()
    sheet: Path | None = None
    system: str = ""

    def check_complete(self, query_ids: Iterable[str]) -> None:
        """Raises InputError for a run without a document for some query; names the first."""
        wanted = list(query_ids)
        for name, run in self.runs.items():
            check_complete(run, name, wanted)


@dataclass(frozen=True)
class Analysis:
    """An analysis of a dataset, of rankings, or of people's judgments.

    A subclass is a dataclass in a module of this package. Its fields are settings of the analysis.

    Attributes:
        name: its name in the command: the benchmark and a word, for example csfcube-agreement.
        title: the paper, the place of the analysis in it, and its subject.
        datasets: ids of the datasets that the paper analysed.
        several: whether several datasets are analysed together.
        reported: name of a table to the figures that the paper prints in it.
        remarks: remarks on the paper's figures, shown with them.
        judgments: the number of judgments in the paper's data, if the dataset does not tell
            its data from others.
        system: the system that ranks if no run is given; empty if none is needed.
        depth: documents of each query that it ranks; None for the usual number.
        prompted: whether it searches for queries of its own, and takes no ranking.
        people: whether people fill in a sheet for it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    datasets: ClassVar[tuple[str, ...]]
    several: ClassVar[bool] = False
    reported: ClassVar[Mapping[str, Printed]] = {}
    remarks: ClassVar[tuple[str, ...]] = ()
    judgments: ClassVar[int | None] = None
    system: ClassVar[str] = ""
    depth: ClassVar[int | None] = None
    prompted: ClassVar[bool] = False
    people: ClassVar[bool] = False

    @classmethod
    def with_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Returns the analysis with settings, whose values may be text.

        Raises:
            InputError: an unknown setting, or a value that is not of its kind.
        """
        return cls(**parse_settings(cls, settings, f"analysis {cls.name}"))

    def differs(self) -> str | None:
        """Returns how the settings make figures incomparable with the paper's.

        None if they do not.
        """
        return None

    def find(self, inputs: Given) -> Findings:
        """Computes the figures.

        Raises:
            InputError: the data lack what the analysis needs.
        """
        raise NotImplementedError


def _texts(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def records(dataset: Dataset, kind: type[T], description: str) -> list[T]:
    """Returns the queries of a dataset, which must be records of a class.

    Raises:
        InputError: it has none, or others.
    """
    queries = dataset.queries
    if not queries or not isinstance(queries[0], kind):
        raise InputError(
            f"dataset {dataset.id} has no {description}",
            remedy="name a dataset of the analysis' benchmark; irtoolkit datasets lists them",
        )
    return queries


def check_complete(run: Run, name: str, query_ids: Sequence[str]) -> None:
    """Raises InputError for a run without a document for some query; names the first."""
    ranked = {str(query_id) for query_id in run.query_ids}
    absent = [query_id for query_id in query_ids if query_id not in ranked]
    if absent:
        raise InputError(
            f"the run {name} lacks {len(absent)} of {len(query_ids)} queries, such as {absent[0]}",
            remedy="give a run of the whole dataset, or name the part that was ranked",
        )

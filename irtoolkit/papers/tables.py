"""Experiment tables: the columns, rows and printed figures of a paper's table.

A table is a TOML file: its top level has the keys of `Table`, and each `[[row]]` those of `Row`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.toml_records import Place, Record, Texts, read_record, record
from irtoolkit.base.tomls import load_toml, table_lines
from irtoolkit.datasets.identity import DatasetId

Paths = tuple[Path, ...]


@record
class Row(Record):
    """A system of a table.

    Attributes:
        system: the system's name in the paper.
        retriever: the retriever that runs it; None if irtoolkit has none.
        settings: settings of the retriever and of the task; the key "set" in the file.
        settings_for: group to the settings that its own run has instead; the key "set_for".
        files: setting to the file that the paper's row reads, by its name in the folder of the
            release; if it exists, it replaces the row's own setting.
        view: the part of a dataset id for what the system sees of a query, for example 1-1 or
            left; None if it sees all.
        unavailable: why irtoolkit cannot run it.
        people: the people who made the choices instead of a system, for example "three experts".
        command: the command that measures its figures, if no run on the table's datasets does.
        ranking: where the published ranking is from which its reported figures are computed.
        reported: group to the figures that the paper prints, in the order of the columns; NaN
            for figures that it does not print.
        spread: group to the standard deviations that the paper prints beside its figures.
        note: how the row differs from the paper's own set-up, or what is wrong with its figures.
        first: the system of the table whose best documents it reranks; None if it ranks all
            candidates.
        rerank_depth: the number of documents that it reranks.
        train: the recipe that trains its model; None if it needs no training here.
        train_set: settings of the recipe.
        train_set_for: group to the settings that the recipe of its own model has instead.
        doubtful: "group.column" of each printed figure that contradicts the paper's other figures.
    """

    system: str
    retriever: str | None = None
    settings: Annotated[dict[str, Any], Field(alias="set")] = field(default_factory=dict)
    settings_for: Annotated[dict[str, dict[str, Any]], Field(alias="set_for")] = field(
        default_factory=dict
    )
    files: dict[str, str] = field(default_factory=dict)
    view: str | None = None
    unavailable: str | None = None
    people: str | None = None
    command: str | None = None
    ranking: str | None = None
    reported: dict[str, list[float]] = field(default_factory=dict)
    spread: dict[str, list[float]] = field(default_factory=dict)
    note: str | None = None
    first: str | None = None
    rerank_depth: int | None = None
    train: str | None = None
    train_set: dict[str, Any] = field(default_factory=dict)
    train_set_for: dict[str, dict[str, Any]] = field(default_factory=dict)
    doubtful: Texts = ()

    @property
    def why_not(self) -> str:
        """Why no retriever runs it; empty if one does."""
        if self.command is not None:
            return f"measured by a command of its own: `{self.command}`"
        if self.ranking is not None:
            return f"scored from a published ranking: {self.ranking}"
        return f"people chose: {self.people}" if self.people is not None else self.unavailable or ""


@record
class Table(Record):
    """An experiment table.

    Attributes:
        name: the name of its file; that of a benchmark's first table is the benchmark's.
        title: the paper and the table of it that this one reproduces.
        columns: printed name of a column to the ir_measures name of its measure.
        groups: printed name of a group to the id of the dataset that runs are scored on.
        scale: factor from a measure's value to the printed figure.
        baseline: the system that others are tested against.
        tested: the column whose measure is tested.
        rows: the systems.
        dataset: id of the dataset that every row is run on, once for all groups; None if each
            group has a run of its own.
        depth: documents of each query's ranking; None is all.
        places: decimals that the paper prints.
        scales: column to its factor, if that is not `scale`.
        view: the view of the rows that have none of their own; see `Row`.
        other_data: group to why its printed figures are of other data than the measured ones.
        editions: group to the edition of the data that its printed figures are of, if there are
            several.
        sources: group to the source of its printed figures, if that is not the title's table.
        rows_of: another table in the same folder, whose rows of the same systems define the rows
            without a retriever.
        candidates: group to the rule for candidates of its N-way dataset that have not been picked:
            the best documents of a "system", for the queries whose gold document it ranks
            "below" a rank.
    """

    name: str
    title: str
    columns: dict[str, str]
    groups: dict[str, str]
    scale: float
    baseline: str
    tested: str
    rows: tuple[Row, ...]
    dataset: str | None = None
    depth: int | None = None
    places: int = 2
    scales: dict[str, float] = field(default_factory=dict)
    view: str | None = None
    other_data: dict[str, str] = field(default_factory=dict)
    editions: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    rows_of: str | None = None
    candidates: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def benchmark(self) -> str:
        """The first part of its datasets' ids."""
        return DatasetId.parse(self.dataset or next(iter(self.groups.values()))).benchmark

    def scale_of(self, column: str) -> float:
        """Returns the factor from a measure's value to the printed figure in a column."""
        return self.scales.get(column, self.scale)

    def find_row(self, system: str) -> Row:
        """Returns the row of a system.

        Raises:
            InputError: the table has no such row; names the nearest ones.
        """
        names = [row.system for row in self.rows]
        if system not in names:
            raise InputError(
                f"no row {system!r} in {self.name}",
                remedy=f"{did_you_mean(system, names)}rows: {', '.join(names)}",
            )
        return self.rows[names.index(system)]

    def select(self, systems: Sequence[str] = (), baseline: str | None = None) -> list[Row]:
        """Returns the rows of some systems, in the table's order; all rows if none is named.

        Raises:
            InputError: the table has no such row, or the baseline is not among the systems.
        """
        for name in [*systems, *([baseline] if baseline else [])]:
            self.find_row(name)
        if baseline and systems and baseline not in systems:
            raise InputError(
                f"the baseline {baseline} is not among the systems to run",
                remedy=f"they are {', '.join(systems)}",
            )
        return [row for row in self.rows if not systems or row.system in systems]


# -- reading a file ----------------------------------------------------------------------------------


def load_table(path: Path, above: Paths = ()) -> Table:
    """Returns the table of a TOML file; `above` are the tables that led to it by `rows_of`."""
    try:
        text = path.read_text("utf-8")
        data = load_toml(text)
    except (OSError, ValueError) as error:
        raise InputError(f"not a table in TOML: {error}", file=path) from None
    rows = tuple(_rows(path, text, data, above))
    whole = Place(path, "the table")
    table = read_record(Table, data, whole, name=path.stem, rows=tuple(row for _, row in rows))
    _check_table(table, whole)
    for location, row in rows:
        _check_row(table, row, location)
    return table


def _rows(path: Path, text: str, data: dict[str, Any], above: Paths) -> Iterator[tuple[Place, Row]]:
    """Yields the rows of a file, taken out of its data, each with its place."""
    row_data = data.pop("row", [])
    if not isinstance(row_data, list) or not all(isinstance(row, dict) for row in row_data):
        raise InputError("the rows are not [[row]] tables", file=path)
    starts = table_lines(text, "row", len(row_data))
    shared = {"view": data["view"]} if "view" in data else {}
    others = _run_as(path, data, above)
    for i, row in enumerate(row_data):
        name = f"row {row.get('system', i + 1)}"
        location = Place(path, name, starts[i])
        theirs = {} if row.keys() & {*_RUN_BY} else others.get(str(row.get("system")), {})
        yield location, read_record(Row, {**shared, **theirs, **row}, location)


# One of these says how a row is measured, or that it is not.
_RUN_BY = ("retriever", "command", "people", "ranking", "unavailable")


def _run_as(path: Path, data: dict[str, Any], above: tuple[Path, ...]) -> dict[str, dict[str, Any]]:
    """Returns, for each system, the run settings of its row in the table that `rows_of` names."""
    if "rows_of" not in data:
        return {}
    name = f"{data['rows_of']}.toml"
    if Path(name).name != name:
        raise InputError(f"rows_of is {name[:-5]!r}, not the name of a table beside it", file=path)
    base_path = path.with_name(name)
    if base_path in (path, *above):
        raise InputError("rows_of names the table itself, or one that names it", file=path)
    figures = {"reported", "spread", "doubtful"}
    rows = load_table(base_path, (path, *above)).rows
    as_written = TypeAdapter(Row).dump_python
    return {
        row.system: as_written(row, by_alias=True, exclude_defaults=True, exclude=figures)
        for row in rows
    }


def _check_table(table: Table, location: Place) -> None:
    """Raises InputError if a table names a column, group or row that it does not have."""
    names = [row.system for row in table.rows]
    for name in names:
        if names.count(name) > 1:
            raise location.error(f"the system {name} has two rows")
    for key, declared in (("columns", table.columns), ("groups", table.groups)):
        if not declared:
            raise location.error(f"it has no {key}")
    for dataset in (*table.groups.values(), *([table.dataset] if table.dataset else [])):
        if not DatasetId.parse(dataset).benchmark:
            raise location.error(f"{dataset!r} names no dataset", remedy="such as relic/test")
    if table.tested not in table.columns:
        raise location.error(f"tested is {table.tested!r}, which is not a column")
    if table.baseline not in names:
        raise location.error(f"the baseline {table.baseline} has no row")
    for column in table.scales:
        if column not in table.columns:
            raise location.error(f"scales has {column!r}, which is not a column")
    for group, rule in table.candidates.items():
        if not isinstance(rule.get("system"), str) or not rule.keys() <= {"system", "below"}:
            raise location.error(
                f"the candidates of {group} need a system, and perhaps a rank below"
            )
    for key in ("candidates", "other_data", "editions", "sources"):
        for group in getattr(table, key):
            if group not in table.groups:
                raise location.error(f"{key} has {group!r}, which is not a group")


def _check_row(table: Table, row: Row, location: Place) -> None:
    """Raises InputError if a row contradicts itself or the table."""
    for key, by_group in (
        ("reported", row.reported),
        ("spread", row.spread),
        ("set_for", row.settings_for),
        ("train_set_for", row.train_set_for),
    ):
        for group in by_group:
            if group not in table.groups:
                raise location.error(
                    f"{key} has {group!r}, which is not a group",
                    remedy=f"groups: {', '.join(table.groups)}",
                )
    for kind, printed in (("reported", row.reported), ("spread", row.spread)):
        for group, figures in printed.items():
            if len(figures) != len(table.columns):
                raise location.error(
                    f"{len(figures)} figures {kind} for {group} and {len(table.columns)} columns"
                )
    for cell in row.doubtful:
        group, _, column = cell.partition(".")
        if group not in row.reported or column not in table.columns:
            raise location.error(f"doubtful has {cell!r}, which is not a reported figure")
    run_by = [name for name in _RUN_BY if getattr(row, name)]
    if len(run_by) != 1:
        raise location.error(
            f"it has {' and '.join(run_by) or 'no retriever'}",
            remedy="it needs one of retriever, command, people, ranking and unavailable",
        )
    if row.train is not None and row.retriever is None:
        raise location.error("it has train and no retriever")
    if row.train is None and (row.train_set or row.train_set_for):
        raise location.error("it has settings of a recipe and no train")
    if (row.first is None) != (row.rerank_depth is None):
        raise location.error("it needs both first and rerank_depth, or neither")
    if row.first is not None and row.first not in [sibling.system for sibling in table.rows]:
        raise location.error(f"it reranks {row.first}, which has no row")

"""Experiment tables: what a paper's table has for columns, rows and printed figures."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.identity import DatasetId

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One system of a table.

    Attributes:
        system: its name in the paper.
        retriever: ours that runs it, or None when nothing can.
        settings: of the retriever and the task.
        settings_for: group to what its own run has instead.
        view: the part of the dataset's id that says what the row is shown, as 1-1 or left.
        unavailable: why nothing can run it.
        reported: group to the figures the paper prints, in the order of the columns; NaN where it
            prints none.
        note: what differs from the paper's own set-up, or about its figures.
        first: the system of the table whose best documents it ranks again; None where it ranks
            all candidates.
        rerank_depth: how many of them.
        train: the recipe that its model is trained by; None where it needs no training here.
        train_set: settings of the recipe.
        train_set_for: group to what its own model's recipe has instead.
        doubtful: "group.column" of printed figures that contradict the paper's own.
    """

    system: str
    retriever: str | None
    settings: dict[str, Any] = field(default_factory=dict)
    unavailable: str | None = None
    reported: dict[str, list[float]] = field(default_factory=dict)
    note: str | None = None
    doubtful: tuple[str, ...] = ()
    settings_for: dict[str, dict[str, Any]] = field(default_factory=dict)
    view: str | None = None
    first: str | None = None
    rerank_depth: int | None = None
    train: str | None = None
    train_set: dict[str, Any] = field(default_factory=dict)
    train_set_for: dict[str, dict[str, Any]] = field(default_factory=dict)


_KEYS = {
    "system", "retriever", "unavailable", "set", "set_for", "view", "first", "rerank_depth",
    "train", "train_set", "train_set_for", "reported", "doubtful", "note",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """An experiment table.

    Attributes:
        name: of its file: the benchmark's for its first table, and more behind it for others.
        title: what it reproduces.
        dataset: id that every row is run on, once for all groups; None where each group is a
            dataset of its own, with a run of its own.
        columns: printed name to ir_measures name.
        groups: printed name to the dataset id that the run is scored on.
        depth: rows kept of each query's ranking; None keeps all.
        scale: factor from a measure to the printed figure.
        scales: column to factor, where it is another one.
        baseline: system that others are tested against.
        tested: column the test is on.
        rows: the systems.
        places: decimals that the paper prints.
        view: what the rows are shown that do not say it themselves; see `Row`.
    """

    name: str
    title: str
    dataset: str | None
    columns: dict[str, str]
    groups: dict[str, str]
    scale: float
    baseline: str
    tested: str
    rows: tuple[Row, ...]
    depth: int | None = None
    places: int = 2
    scales: dict[str, float] = field(default_factory=dict)
    view: str | None = None

    @property
    def benchmark(self) -> str:
        """The first part of its datasets' ids."""
        return DatasetId.parse(self.dataset or next(iter(self.groups.values()))).benchmark

    def scale_of(self, column: str) -> float:
        """The factor from a measure's value to what is printed in a column."""
        return self.scales.get(column, self.scale)


@cache
def tables() -> dict[str, Table]:
    """Every experiment table by name."""
    return {path.stem: _load(path) for path in sorted(FOLDER.glob("*.toml"), key=_stem)}


def _stem(path: Path) -> str:
    return path.stem


def find_row(system: str, dataset: DatasetId) -> Row | None:
    """The row of a paper's system; of the dataset's own table where several have one.

    A benchmark may have several tables: the rows of one are shown less of a query, say. Taken is
    the row that is shown what the dataset shows, else one that is shown all.

    Raises:
        InputError: several papers have such a system, and none of them is the dataset's.
    """
    found = [
        (table, row) for table in tables().values() for row in table.rows if row.system == system
    ]
    found = [pair for pair in found if pair[0].benchmark == dataset.benchmark] or found
    shown = [pair for pair in found if pair[1].view is not None and dataset.shows(pair[1].view)]
    found = shown or [pair for pair in found if pair[1].view is None] or found
    if not found:
        return None
    # A table that is named as the benchmark is its first.
    own = [row for table, row in found if table.name == dataset.benchmark]
    rows = own or [row for _, row in found]
    if all(_runs_as(row) == _runs_as(rows[0]) for row in rows):
        return rows[0]
    raise InputError(
        f"system {system} stands in the tables {', '.join(table.name for table, _ in found)},"
        " each with settings of its own",
        remedy="give the retriever and its settings, or a dataset of one of them",
    )


def _runs_as(row: Row) -> tuple[Any, ...]:
    return (
        row.retriever, row.settings, row.view, row.first, row.rerank_depth, row.train, row.train_set,
    )  # fmt: skip


def find_table(name: str) -> Table:
    """A table by name.

    Raises:
        InputError: there is none.
    """
    if name not in tables():
        raise InputError(f"no experiment {name!r}", remedy=f"there are {', '.join(tables())}")
    return tables()[name]


def _load(path: Path) -> Table:
    data = tomllib.loads(path.read_text("utf-8"))
    rows = tuple(_row(path, data, row) for row in data.pop("row"))
    table = Table(**{"name": path.stem, "rows": rows, "dataset": None, **data})
    names = [row.system for row in rows]
    if len(set(names)) != len(names):
        raise InputError("a system stands twice", file=path)
    for row in rows:
        if row.first is not None and row.first not in names:
            raise InputError(f"{row.system} re-ranks {row.first}, which has no row", file=path)
    return table


def _row(path: Path, data: dict[str, Any], row: dict[str, Any]) -> Row:
    unknown = sorted(row.keys() - _KEYS)
    if unknown:
        raise InputError(f"{row['system']} has a key {unknown[0]!r}, which no row has", file=path)
    reported = row.get("reported", {})
    for group, figures in reported.items():
        if group not in data["groups"] or len(figures) != len(data["columns"]):
            raise InputError(
                f"{row['system']} reports {len(figures)} figures for {group}", file=path
            )
    if not set(row.get("set_for", {})) <= set(data["groups"]):
        raise InputError(f"{row['system']} has settings for a group that is none", file=path)
    if ("retriever" in row) == ("unavailable" in row):
        raise InputError(f"{row['system']} needs either retriever or unavailable", file=path)
    if "train" in row and "retriever" not in row:
        raise InputError(f"{row['system']} is trained, and nothing runs it", file=path)
    if "train" not in row and ("train_set" in row or "train_set_for" in row):
        raise InputError(f"{row['system']} has settings of a recipe and no recipe", file=path)
    if not set(row.get("train_set_for", {})) <= set(data["groups"]):
        raise InputError(f"{row['system']} has a model for a group that is none", file=path)
    if ("first" in row) != ("rerank_depth" in row):
        raise InputError(f"{row['system']} needs both first and rerank_depth, or none", file=path)
    return Row(
        row["system"], row.get("retriever"), row.get("set", {}), row.get("unavailable"), reported,
        row.get("note"), tuple(row.get("doubtful", ())), row.get("set_for", {}),
        row.get("view", data.get("view")), row.get("first"), row.get("rerank_depth"),
        row.get("train"), row.get("train_set", {}), row.get("train_set_for", {}),
    )  # fmt: skip

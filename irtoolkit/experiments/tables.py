"""Experiment tables: what a paper's table has for columns, rows and printed figures."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from irtoolkit.errors import InputError

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """One system of a table.

    Attributes:
        system: its name in the paper.
        retriever: ours that runs it, or None when nothing can.
        settings: of the retriever and the task.
        unavailable: why nothing can run it.
        reported: group to the figures the paper prints, in the order of the columns.
        note: what differs from the paper's own set-up, or about its figures.
        doubtful: "group.column" of printed figures that contradict the paper's own.
    """

    system: str
    retriever: str | None
    settings: dict[str, Any] = field(default_factory=dict)
    unavailable: str | None = None
    reported: dict[str, list[float]] = field(default_factory=dict)
    note: str | None = None
    doubtful: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """An experiment table.

    Attributes:
        name: of its file.
        title: what it reproduces.
        dataset: id that every row is run on.
        columns: printed name to ir_measures name.
        groups: printed name to the dataset id that the run is scored on.
        scale: factor from a measure to the printed figure.
        baseline: system that others are tested against.
        tested: column the test is on.
        rows: the systems.
    """

    name: str
    title: str
    dataset: str
    columns: dict[str, str]
    groups: dict[str, str]
    scale: float
    baseline: str
    tested: str
    rows: tuple[Row, ...]


@cache
def tables() -> dict[str, Table]:
    """Every experiment table by name."""
    return {path.stem: _load(path) for path in sorted(FOLDER.glob("*.toml"))}


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
    table = Table(name=path.stem, rows=rows, **data)
    names = [row.system for row in rows]
    if len(set(names)) != len(names):
        raise InputError("a system stands twice", file=path)
    return table


def _row(path: Path, data: dict[str, Any], row: dict[str, Any]) -> Row:
    reported = row.get("reported", {})
    for group, figures in reported.items():
        if group not in data["groups"] or len(figures) != len(data["columns"]):
            raise InputError(
                f"{row['system']} reports {len(figures)} figures for {group}", file=path
            )
    if ("retriever" in row) == ("unavailable" in row):
        raise InputError(f"{row['system']} needs either retriever or unavailable", file=path)
    return Row(
        row["system"], row.get("retriever"), row.get("set", {}), row.get("unavailable"), reported,
        row.get("note"), tuple(row.get("doubtful", ())),
    )  # fmt: skip

"""The experiment tables by name: irtoolkit's own and those of other packages.

A package adds a table through the entry point group `irtoolkit.tables`. The entry point names the
path of a TOML file, or a function without arguments that returns such a path.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache
from operator import attrgetter
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from irtoolkit.base import plugins
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.models.presets import presets
from irtoolkit.papers.tables import Row, Table, load_table

FOLDER = Path(__file__).parent

_log = logging.getLogger(__name__)


@cache
def tables() -> dict[str, Table]:
    """Returns every experiment table by name: irtoolkit's own, then those of other packages.

    A table of another package that cannot be read logs a warning.
    """
    by_name = dict(_own())
    for name in plugins.of_group(plugins.TABLES):
        try:
            if name in by_name:
                raise InputError(f"another package has a table with the name {name!r} of one here")
            by_name[name] = find_table(name)
        except InputError as error:
            _log.warning("%s", error)
    return by_name


@cache
def _own() -> dict[str, Table]:
    """Returns the tables that irtoolkit comes with."""
    return {
        path.stem: load_table(path)
        for path in sorted(FOLDER.glob("*.toml"), key=attrgetter("stem"))
    }


def find_table(name: str) -> Table:
    """Returns a table by name.

    Raises:
        InputError: no such table; names the nearest ones. Or a table of another package that
            cannot be read.
    """
    others = plugins.of_group(plugins.TABLES)
    if name in _own():
        return _own()[name]
    if name in others:
        return _of_plugin(others[name])
    names = [*_own(), *others]
    raise InputError(
        f"no experiment {name!r}",
        remedy=f"{did_you_mean(name, names)}experiments: {', '.join(names)}",
    )


def _of_plugin(plugin: plugins.Plugin) -> Table:
    """Returns the table of another package under the name of its entry point.

    Raises:
        InputError: the entry point gives no path, or the file is not a valid table.
    """
    value = plugin.load()
    try:
        value = value() if callable(value) else value
    except Exception as error:  # anything may happen in another package's modules
        reason = " ".join(str(error).split())
        raise InputError(f"{plugin.value} fails: {type(error).__name__}: {reason}") from error
    if not isinstance(value, str | PathLike):
        raise InputError(
            f"the entry point {plugin.name} of {plugins.TABLES} gives a {type(value).__name__}",
            remedy="give the path of a TOML file, or a function that returns one",
        )
    return replace(load_table(Path(fspath(value))), name=plugin.name)


def find_row(system: str, dataset: DatasetId) -> tuple[Table, Row] | None:
    """Returns the row of a system with its table; None if no table has it.

    The name TABLE:ROW is that row. Without a table, the row of the dataset's own table is taken if
    several have one. A benchmark may have several tables, whose rows may see less of a query. Of
    these, the row that sees what the dataset shows is taken, or else one that sees all.

    Raises:
        InputError: the named table has no such row; or several tables have one, and none of
            them is the dataset's.
    """
    name, colon, rest = system.partition(":")
    if colon and name in tables():
        return tables()[name], tables()[name].find_row(rest)
    rows = [
        (table, row) for table in tables().values() for row in table.rows if row.system == system
    ]
    rows = [pair for pair in rows if pair[0].benchmark == dataset.benchmark] or rows
    in_view = [pair for pair in rows if pair[1].view is not None and dataset.shows(pair[1].view)]
    rows = in_view or [pair for pair in rows if pair[1].view is None] or rows
    if not rows:
        return None
    # A benchmark's first table has the benchmark's name.
    of_benchmark = [pair for pair in rows if pair[0].name == dataset.benchmark] or rows
    if all(_runs_as(row) == _runs_as(of_benchmark[0][1]) for _, row in of_benchmark):
        return of_benchmark[0]
    names = [table.name for table, _ in rows]
    raise InputError(
        f"the tables {', '.join(names)} each have a system {system} with other settings",
        remedy=f"{did_you_mean(system, presets())}name it with its table:"
        f" {', '.join(f'{table}:{system}' for table in names)}",
    )


def _runs_as(row: Row) -> tuple[Any, ...]:
    """Returns what decides how a row runs, except what differs by group."""
    return (
        row.retriever,
        row.settings,
        row.view,
        row.first,
        row.rerank_depth,
        row.train,
        row.train_set,
    )

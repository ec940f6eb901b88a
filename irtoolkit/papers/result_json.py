"""The result of a paper's table as plain data: the output of `reproduce --format json`.

docs/how-to/reproduce.md lists the keys.
"""

from __future__ import annotations

import math
import platform
from dataclasses import asdict
from datetime import date
from typing import Any

from irtoolkit.base.cores import cores
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.measures.traits import traits
from irtoolkit.papers.data import absent_data
from irtoolkit.papers.listing import row_state
from irtoolkit.papers.rendering import SAMPLE_NOTE, differences
from irtoolkit.papers.results import RowResult, TableResult, dataset_of
from irtoolkit.papers.row_commands import reproduce_command, row_commands, run_name
from irtoolkit.papers.tables import Table
from irtoolkit.version import __version__


def as_json(result: TableResult) -> dict[str, Any]:
    """Returns the results as plain data, figures in the table's scale.

    None if a paper prints none.
    """
    table = result.table
    return {
        "experiment": table.name,
        "title": table.title,
        "benchmark": _benchmark(table),
        "made": {
            "date": date.today().isoformat(),
            "irtoolkit": __version__,
            "device": f"{platform.machine()}, {cores()} cores",
        },
        "sample": result.sample,
        "dataset": dataset_of(table.dataset, result.sample) if table.dataset else None,
        "groups": {group: result.dataset_of(group) for group in table.groups},
        "data": _data(result),
        "incomparable": _incomparable(result),
        "columns": {column: _column(table, column) for column in table.columns},
        "places": table.places,
        "baseline": result.baseline,
        "editions": table.editions,
        "sources": table.sources,
        "test": {"column": table.tested, "test": "student", "correction": "holm"},
        "rows": [_row(result, row) for row in result.rows],
    }


def _benchmark(table: Table) -> dict[str, str | None]:
    benchmark = Dataset.load(table.dataset or next(iter(table.groups.values()))).about
    fields = {key: getattr(benchmark, key, None) for key in ("title", "citation", "url", "licence")}
    return {"name": table.benchmark, **fields}


def _column(table: Table, column: str) -> dict[str, Any]:
    name = table.columns[column]
    try:
        lower = traits(name).lower_is_better
    except (NameError, ValueError, SyntaxError):  # no measure, but an equation of the paper
        lower = False
    return {"measure": name, "scale": table.scale_of(column), "lower_is_better": lower}


def _data(result: TableResult) -> dict[str, dict[str, Any]]:
    """Returns group to the data that it was measured on."""
    foreign, without = result.foreign(), result.without_data() or absent_data(result.table)
    by_group: dict[str, dict[str, Any]] = {}
    for group in result.table.groups:
        dataset = Dataset.load(result.dataset_of(group))
        scored = group in result.scores
        has_editions = dataset.about is not None and bool(dataset.about.editions)
        state = "sample" if result.sample else "other" if group in foreign else "release"
        by_group[group] = {
            "dataset": result.dataset_of(group),
            "state": (state if has_editions or state != "release" else "unverified")
            if scored
            else "none",
            "queries": dataset.queries_count() if scored else None,
            "differs": foreign.get(group),
            "absent": None if scored else without.get(group),
        }
    return by_group


def _incomparable(result: TableResult) -> dict[str, str]:
    """Returns group to why its measured figures may not be compared with the paper's."""
    foreign, other_data = result.foreign(), result.table.other_data
    reasons = {
        group: SAMPLE_NOTE
        if result.sample
        else f"the data here have {foreign[group]}"
        if group in foreign
        else other_data.get(group)
        for group in result.table.groups
    }
    return {group: reason for group, reason in reasons.items() if reason is not None}


def _row(whole: TableResult, result: RowResult) -> dict[str, Any]:
    row, table = result.row, whole.table
    state = row_state(result, table)
    return {
        "system": row.system,
        "status": result.status,
        "reason": result.reason,
        "state": state.state,
        "with": state.how,
        "lacking": result.reasons("no data"),
        "absent": result.reasons("missing"),
        "recipe": row.train,
        "trained": result.each("trained"),
        "foreign": result.each("foreign"),
        "view": row.view,
        "settings": result.settings,
        "settings_for": row.settings_for,
        "runs": {
            cell.group: run_name(table, cell.group, row.system, whole.sample)
            for cell in result.of_status("measured")
        },
        "reproduce": reproduce_command(table, row, sample=whole.sample),
        "commands": {
            group: asdict(row_commands(table, row, group, sample=whole.sample))
            for group in table.groups
        },
        "measured": {cell.group: cell.figures for cell in result.of_status("measured")},
        "reported": _by_column(table, row.reported),
        "differences": _differences(whole, result),
        "spread": _by_column(table, row.spread),
        "doubtful": list(row.doubtful),
        "note": row.note,
        "p": result.each("p_value"),
    }


def _by_column(table: Table, by_group: dict[str, list[float]]) -> dict[str, dict[str, Any]]:
    return {
        group: {
            column: None if math.isnan(figure) else figure
            for column, figure in zip(table.columns, figures, strict=True)
        }
        for group, figures in by_group.items()
    }


def _differences(whole: TableResult, result: RowResult) -> dict[str, dict[str, Any]]:
    """Returns group to column to measured minus reported figure, if they are comparable."""
    apart = _incomparable(whole)
    cells = [cell for cell in result.of_status("measured") if cell.group not in apart]
    reported, places = result.row.reported, whole.table.places
    gaps = {
        cell.group: differences(list(cell.figures.values()), reported[cell.group], places)
        for cell in cells
        if reported.get(cell.group)
    }
    return _by_column(whole.table, gaps)

"""What came of a paper's table, as data and as text."""

from __future__ import annotations

import math
from typing import Any

from irtoolkit.base.tables import TextTable
from irtoolkit.experiments.reproduce import Result, dataset_of
from irtoolkit.experiments.tables import Table


def as_json(table: Table, results: list[Result], sample: bool = False) -> dict[str, Any]:
    """The results as plain data, figures in the table's scale; None where a paper prints none."""
    return {
        "experiment": table.name,
        "title": table.title,
        "dataset": dataset_of(table.dataset, sample) if table.dataset else None,
        "groups": {group: dataset_of(name, sample) for group, name in table.groups.items()},
        "test": {"column": table.tested, "test": "student", "correction": "holm"},
        "rows": [
            {
                "system": result.row.system,
                "status": result.status,
                "reason": result.reason,
                "lacking": result.lacking,
                "absent": result.absent,
                "recipe": result.row.train,
                "trained": result.trained,
                "foreign": result.foreign,
                "view": result.row.view,
                "settings": result.settings,
                "settings_for": result.row.settings_for,
                "measured": result.measured,
                "reported": {
                    group: {
                        column: None if math.isnan(figure) else figure
                        for column, figure in zip(table.columns, figures, strict=True)
                    }
                    for group, figures in result.row.reported.items()
                },
                "doubtful": list(result.row.doubtful),
                "note": result.row.note,
                "p": result.p_values,
            }
            for result in results
        ],
    }


def as_tables(table: Table, results: list[Result], sample: bool, baseline: str) -> list[TextTable]:
    """One table for each group: each system's measured, reported and differing figures."""
    columns = list(table.columns)
    made = []
    for group, dataset_id in table.groups.items():
        rows: list[list[Any]] = []
        for result in results:
            rows.extend(_lines(result, group, columns, sample, table.places))
        title = f"\n{table.name} {group} ({dataset_of(dataset_id, sample)}): {table.title}"
        headers = ["system", "", *columns, f"p({table.tested})"]
        made.append(TextTable(headers, rows, title, places=table.places))
    notes = _notes(results, table, sample, baseline)
    made[-1] = TextTable(made[-1].headers, made[-1].rows, made[-1].title, notes, table.places)
    return made


def _lines(
    result: Result, group: str, columns: list[str], sample: bool, places: int
) -> list[list[Any]]:
    row = result.row
    lines: list[list[Any]] = []
    measured, p = result.measured.get(group), result.p_values.get(group)
    if measured is not None:
        shown = None if p is None else _p_value(p)
        lines.append([row.system, "measured", *(measured[c] for c in columns), shown])
    elif result.status != "measured" or group in result.lacking or group in result.absent:
        status = "missing" if result.status == "measured" else result.status
        lines.append([row.system, status, *(None for _ in columns), None])
    printed = row.reported.get(group)
    if printed is not None and not sample:
        doubt = [f"{group}.{column}" in row.doubtful for column in columns]
        cells = [_cell(v, places, "?" if d else "") for v, d in zip(printed, doubt, strict=True)]
        lines.append(["", "reported", *cells, ""])
        if measured is not None:
            # Rounded first, as the paper did; adding 0.0 turns -0.0 into 0.0.
            gaps = [
                round(round(measured[c], places) - v, places) + 0.0
                for c, v in zip(columns, printed, strict=True)
            ]
            lines.append(["", "difference", *(_cell(gap, places, sign="+") for gap in gaps), ""])
    return lines


def _cell(value: float, places: int, mark: str = "", sign: str = "") -> str:
    """A figure as printed; "-" where the paper has none."""
    return "-" if math.isnan(value) else f"{value:{sign}.{places}f}{mark}"


def _p_value(p: float) -> str:
    return f"{'<.001' if p < 0.001 else f'{p:.3f}'}{'*' if p < 0.05 else ''}"


def _notes(results: list[Result], table: Table, sample: bool, baseline: str) -> list[str]:
    notes = [""]
    if any(result.p_values for result in results):
        notes.append(
            f"p({table.tested}): paired t-test against {baseline} over the group's queries,"
            " Holm-corrected over its systems; * p < 0.05."
        )
    if sample:
        notes.append(
            "Measured on the invented sample: the figures check software and mean nothing else."
        )
    notes += [f"{r.row.system}: {r.row.note}" for r in results if r.row.note and not sample]
    if any(r.row.doubtful for r in results) and not sample:
        notes.append("? a printed figure that contradicts the paper's own aggregate.")
    if any("self" in r.row.settings for r in results):
        choices = [f"{r.row.system} {r.settings['self']}" for r in results if "self" in r.settings]
        notes.append(
            f"The query's own document, where it is a candidate (self): {', '.join(choices)}."
        )
    notes += [
        f"{group}: the data here have {differs}: compare rows with each other, not with the paper."
        for group, differs in results[0].foreign.items()
    ]
    notes += [f"missing {group}: {reason}" for group, reason in results[0].lacking.items()]
    notes += [line for result in results for line in _state(result)]
    return notes


def _state(result: Result) -> list[str]:
    """What a row lacks, and the models that were trained for it, once or for each group."""
    name, failed = result.row.system, result.status == "failed"
    lines = [f"failed {name}: {result.reason}"] if failed else []
    for word, found in (("missing", result.absent), ("trained", result.trained)):
        alike = len(set(found.values())) == 1 and not (result.absent and result.trained)
        lines += (
            [f"{word} {name}: {next(iter(found.values()))}"]
            if alike
            else [f"{word} {name} {group}: {what}" for group, what in found.items()]
        )
    if result.status == "missing" and not result.absent:
        lines.append(f"missing {name}: {result.reason}")
    return lines

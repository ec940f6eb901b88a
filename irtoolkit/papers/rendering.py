"""The result of a paper's table as a full listing in tables of text."""

from __future__ import annotations

import math
from dataclasses import replace

from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.papers.results import RowResult, TableResult
from irtoolkit.papers.tables import Table

SAMPLE_NOTE = "Measured on the invented sample: the figures check software and mean nothing else."


def as_tables(result: TableResult) -> list[TextTable]:
    """Returns one table for each group: each system's measured, reported and differing figures."""
    table = result.table
    tables = []
    for group in table.groups:
        rows = [line for row in result.rows for line in _lines(row, group, table, result.sample)]
        whose = f", figures of the {table.editions[group]}" if group in table.editions else ""
        title = f"\n{table.name} {group} ({result.dataset_of(group)}{whose}): {table.title}"
        headers = ["system", "", *table.columns, f"p({table.tested})"]
        tables.append(TextTable(headers, rows, title, places=table.places))
    tables[-1] = replace(tables[-1], notes=_notes(result))
    return tables


def _lines(result: RowResult, group: str, table: Table, sample: bool) -> list[list[TableCell]]:
    """Returns the lines of a row: measured figures or why not, the paper's, and differences."""
    row, cell = result.row, result[group]
    lines: list[list[TableCell]] = []
    if cell.status == "measured":
        p_text = None if cell.p_value is None else _p_value(cell.p_value)
        lines.append([row.system, "measured", *cell.figures.values(), p_text])
    elif row.people is None and row.command is None:
        status = "failed" if result.status == "failed" else "missing"
        lines.append([row.system, status, *(None for _ in table.columns), None])
    printed = row.reported.get(group)
    if printed is not None and not sample:
        doubt = [f"{group}.{column}" in row.doubtful for column in table.columns]
        marks = ["?" if doubtful else "" for doubtful in doubt]
        cells = [_cell(v, table.places, mark) for v, mark in zip(printed, marks, strict=True)]
        lines.append(["" if lines else row.system, "reported", *cells, ""])
        if group in row.spread:
            lines.append(["", "±", *(_cell(v, table.places) for v in row.spread[group]), ""])
        if cell.status == "measured":
            gaps = differences(list(cell.figures.values()), printed, table.places)
            cells = [_cell(gap, table.places, sign="+") for gap in gaps]
            lines.append(["", "difference", *cells, ""])
    return lines


def differences(measured: list[float], printed: list[float], places: int) -> list[float]:
    """Returns measured minus printed figures, both as printed; NaN if the paper prints none."""
    # Rounded first, as the paper did; adding 0.0 turns -0.0 into 0.0.
    return [
        round(round(figure, places) - round(reported, places), places) + 0.0
        for figure, reported in zip(measured, printed, strict=True)
    ]


def _cell(value: float, places: int, mark: str = "", sign: str = "") -> str:
    """Returns a figure as printed; "-" if the paper has none."""
    return "-" if math.isnan(value) else f"{value:{sign}.{places}f}{mark}"


def _p_value(p: float) -> str:
    return f"{'<.001' if p < 0.001 else f'{p:.3f}'}{'*' if p < 0.05 else ''}"


def _notes(result: TableResult) -> list[str]:
    """Returns the lines below the last table."""
    table, sample, rows = result.table, result.sample, result.rows
    notes = [""]
    if any(row.each("p_value") for row in rows):
        notes.append(
            f"p({table.tested}): paired t-test against {result.baseline} over the group's queries,"
            " Holm-corrected over its systems; * marks p < 0.05, a significant difference."
        )
    if sample:
        notes.append(SAMPLE_NOTE)
    else:
        notes += [origin_note(table, group) for group in table.sources]
    notes += [f"{row.row.system}: {row.row.note}" for row in rows if row.row.note and not sample]
    if any(row.row.doubtful for row in rows) and not sample:
        notes.append("? a printed figure that contradicts the paper's own aggregate.")
    if any("self" in row.row.settings for row in rows):
        choices = [
            f"{row.row.system} {row.settings['self']}" for row in rows if "self" in row.settings
        ]
        notes.append(
            f"The query's own document, where it is a candidate (self): {', '.join(choices)}."
        )
    notes += [foreign_note(group, differs) for group, differs in result.foreign().items()]
    notes += [f"missing {group}: {reason}" for group, reason in result.without_data().items()]
    notes += [line for row in rows for line in state_lines(row)]
    return notes


def origin_note(table: Table, group: str) -> str:
    """Returns a line with the source of a group's printed figures, and their edition."""
    edition = table.editions.get(group)
    data = "" if edition is None else f", on the data of the {edition}"
    return f"{group}: the reported figures are those of {table.sources[group]}{data}."


def foreign_note(group: str, differs: str) -> str:
    """Returns a line on data that are not the paper's."""
    return (
        f"{group}: the data here have {differs}: compare rows with each other, not with the paper."
    )


def state_lines(result: RowResult) -> list[str]:
    """Returns what a row lacks, and the models that were trained for it, once or for each group."""
    name, status = result.row.system, result.status
    if status == "failed":
        return [f"failed {name}: {result.reason}"]
    absent, trained = result.reasons("missing"), result.each("trained")
    lines: list[str] = []
    for word, groups in (("missing", absent), ("trained", trained)):
        alike = len(set(groups.values())) == 1 and not (absent and trained)
        lines += (
            [f"{word} {name}: {next(iter(groups.values()))}"]
            if alike
            else [f"{word} {name} {group}: {remedy}" for group, remedy in groups.items()]
        )
    if status == "missing" and not absent:
        lines.append(f"missing {name}: {result.reason}")
    return lines

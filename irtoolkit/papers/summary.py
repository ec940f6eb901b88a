"""The result of a paper's table on one screen: the rows that ran, and what the others need."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from irtoolkit.base.tables import TableCell, TextTable, terminal_width
from irtoolkit.base.textwidth import wrap
from irtoolkit.measures.traits import traits
from irtoolkit.papers.rendering import SAMPLE_NOTE, differences, foreign_note, origin_note
from irtoolkit.papers.results import GroupResult, Need, RowResult, Status, TableResult
from irtoolkit.papers.tables import Table

# What a row needs to run, as a noun.
_NEEDS: dict[Need, str] = {
    "weights": "weights",
    "training": "training",
    "payment": "payment",
    "recipe": "a recipe",
}

# Of a row that nothing but another command measures, or that people chose, no need is known.
_CANNOT_RUN: tuple[Status, ...] = ("missing", "unavailable")


def as_summary(result: TableResult) -> TextTable:
    """Returns one table of the rows that were measured, by group.

    If the data are the paper's, the tested column has the paper's figure and the difference beside
    it, and a last column says how many of the row's printed figures are reproduced exactly.
    """
    table, groups = result.table, result.measured_groups()
    compared = [group for group in groups if _comparable(result, group)]
    headers = ["system", *table.columns, *(["paper", "diff", "same"] if compared else [])]
    rows: list[list[TableCell]] = []
    for group in groups:
        if len(groups) > 1:  # a line of its own, since a column would widen the table
            rows.append([group, *[""] * (len(headers) - 1)])
        for row in result.rows:
            if row[group].status == "measured":
                name = f"{' ' * (len(groups) > 1)}{row.row.system}"
                paper = _beside_paper(row, group, table, group in compared) if compared else []
                rows.append([name, *_figures(row[group], table), *paper])
    where = f" ({result.dataset_of(groups[0])})" if len(groups) == 1 else ""
    notes = [*_legend(result, compared), *_about_data(result)]
    lines = [line for note in notes for line in folded(note)]
    return TextTable(headers, rows, f"{table.title}{where}", lines, table.places)


def _comparable(result: TableResult, group: str) -> bool:
    """Returns whether a figure measured on a group may be compared with one of the paper."""
    if result.sample or group in result.foreign() or group in result.table.other_data:
        return False
    measured = [row for row in result.rows if row[group].status == "measured"]
    return any(group in row.row.reported for row in measured)


def _figures(cell: GroupResult, table: Table) -> list[TableCell]:
    """Returns the measured figures.

    That of the tested column is marked if its difference is significant.
    """
    figures: list[TableCell] = list(cell.figures.values())
    if cell.p_value is not None and cell.p_value < 0.05:
        column = list(table.columns).index(table.tested)
        figures[column] = f"{cell.figures[table.tested]:.{table.places}f}*"
    return figures


def _beside_paper(result: RowResult, group: str, table: Table, compared: bool) -> list[TableCell]:
    """Returns the paper's tested figure, the difference, and how many figures are equal."""
    printed = result.row.reported.get(group)
    if printed is None or not compared:
        return ["", "", ""]
    gaps = differences(list(result[group].figures.values()), printed, table.places)
    column = list(table.columns).index(table.tested)
    finite = [gap for gap in gaps if not math.isnan(gap)]
    equal = f"{sum(gap == 0 for gap in finite)}/{len(finite)}"
    if math.isnan(printed[column]):
        return ["-", "-", equal]
    doubt = "?" if f"{group}.{table.tested}" in result.row.doubtful else ""
    return [
        f"{printed[column]:.{table.places}f}{doubt}",
        f"{gaps[column]:+.{table.places}f}",
        equal,
    ]


def _legend(result: TableResult, compared: Sequence[str]) -> list[str]:
    """Returns the meaning of the marks and the columns beside the figures."""
    table, notes = result.table, []
    p_values = [p for row in result.rows for p in row.each("p_value").values()]
    test = "in a paired t-test over the queries, Holm-corrected"
    if any(p < 0.05 for p in p_values):
        notes.append(
            f"In the column {table.tested}, * marks a figure that differs significantly from that of"
            f" {result.baseline}: p < 0.05 {test}."
        )
    elif p_values:
        notes.append(
            f"No {table.tested} differs significantly from that of {result.baseline}: p >= 0.05 {test}."
        )
    if compared:
        notes.append(
            f"paper, diff: the paper's {table.tested}, and the measured figure minus it. same: how"
            " many of the figures that the paper prints for the row are measured again exactly."
        )
    notes += [origin_note(table, group) for group in compared if group in table.sources]
    return notes


def _about_data(result: TableResult) -> list[str]:
    """Returns how the data differ from the paper's, and which groups have no data here."""
    if result.sample:
        return [SAMPLE_NOTE]
    foreign = result.foreign()
    notes = [foreign_note(group, differs) for group, differs in foreign.items()]
    notes += [
        f"{group}: no differences, since {why}; --all prints those figures."
        for group, why in result.table.other_data.items()
        if group in result.scores and group not in foreign
    ]
    dropped = [row.row.system for row in result.rows if row.settings.get("self") == "drop"]
    if dropped:
        notes.append(f"{' and '.join(dropped)}: without the query's own document (self=drop).")
    for names, systems in _without_files(result).items():
        notes.append(f"{' and '.join(systems)}: without {names}, which the paper's rows read.")
    notes += [f"{group}: no data: {reason}" for group, reason in result.without_data().items()]
    return notes


def _without_files(result: TableResult) -> dict[str, list[str]]:
    """Returns files that the paper's rows read and this machine lacks, to the systems without them."""
    systems_by_files: dict[str, list[str]] = {}
    for row in result.rows:
        files, settings = row.row.files, row.settings
        absent = [name for key, name in files.items() if Path(str(settings.get(key))).name != name]
        if absent and settings:
            systems_by_files.setdefault(" and ".join(absent), []).append(row.row.system)
    return systems_by_files


def most_telling(result: TableResult, group: str) -> tuple[str, ...]:
    """Returns the two systems to show beside each other: the best of a group, and the baseline.

    Empty if fewer than two systems, or not the baseline, were measured on the group.
    """
    scores, measure = result.scores[group], result.table.columns[result.table.tested]
    others = [system for system in scores.systems if system != result.baseline]
    if len(others) == len(scores) or not others:
        return ()
    sign = -1 if traits(scores.measures[measure]).lower_is_better else 1
    best = max(others, key=lambda system: sign * scores[system].figures()[measure])
    return best, result.baseline


# -- what did not run --------------------------------------------------------------------------------


def closing_lines(result: TableResult) -> list[str]:
    """Returns lines below the table: failed rows, then one line on rows that need something."""
    failed = [row for row in result.rows if row.status == "failed"]
    lines = [line for row in failed for line in folded(f"failed {row.row.system}: {row.reason}")]
    needs = _needs(result)
    weights = needs.get("weights", [])
    if len(weights) > 1 and len(set(weights)) == 1:  # a library that is not installed
        lines += folded(f"{len(needs.pop('weights'))} rows did not run: {weights[0]}")
    count = sum(map(len, needs.values()))
    if count:
        kinds = [f"{_NEEDS[need]} ({len(reasons)})" for need, reasons in needs.items()]
        kinds_text = " or ".join(filter(None, [", ".join(kinds[:-1]), kinds[-1]]))
        kinds_text = kinds_text if len(kinds) > 1 else _NEEDS[next(iter(needs))]
        rows = "1 row needs" if count == 1 else f"{count} rows need"
        lines += folded(
            f"{rows} {kinds_text}: see irtoolkit reproduce {result.table.name} --missing"
        )
    return [*lines, *_published(result)]


def _needs(result: TableResult) -> dict[Need, list[str]]:
    """Returns need to the reasons of the rows that have it.

    A row counts for the first of its groups.
    """
    needs: dict[Need, list[str]] = {}
    for row in result.rows:
        for cell in [cell for cell in row.cells if cell.need is not None][:1]:
            assert cell.need is not None
            needs.setdefault(cell.need, []).append(cell.reason or "")
    return needs


def missing_table(result: TableResult) -> TextTable:
    """Returns what each row and group needs to run here."""
    rows: list[list[TableCell]] = [
        [row.row.system, cell.group, cell.need, cell.reason]
        for row in result.rows
        for cell in _lacking(row)
    ]
    return TextTable(["system", "group", "needs", "reason"], rows)


def missing_lines(result: TableResult) -> list[str]:
    """Returns a line for each row that cannot run here, with its reason or one for each group."""
    lines = []
    for row in result.rows:
        by_group = {cell.group: cell.reason or "" for cell in _lacking(row)}
        if len(by_group) == len(row.cells) and len(set(by_group.values())) == 1:
            lines += folded(f"{row.row.system}: {next(iter(by_group.values()))}")
        else:
            for group, why in by_group.items():
                lines += folded(f"{row.row.system} {group}: {why}")
    return [*lines, *_published(result)]


def _published(result: TableResult) -> list[str]:
    """Returns the line that counts the rows that are published rankings, if there are some."""
    count = sum(row.row.ranking is not None for row in result.rows)
    if not count:
        return []
    rows = "1 row is a published ranking" if count == 1 else f"{count} rows are published rankings"
    return folded(f"{rows}: --all prints the figures")


def _lacking(row: RowResult) -> list[GroupResult]:
    """Returns the cells of a row that lack something to run here; none of a published ranking."""
    cells = row.cells if row.row.ranking is None else ()
    return [cell for cell in cells if cell.status in _CANNOT_RUN]


_COMMAND = re.compile(r"`[^`]*`")


def folded(text: str) -> list[str]:
    """Returns lines of a text that fit the terminal; commands between backticks are not broken."""
    whole = _COMMAND.sub(lambda match: match[0].replace(" ", "\0"), text)
    first, *others = wrap(whole, terminal_width() - 2, cut=False)
    return [line.replace("\0", " ") for line in (first, *(f"  {line}" for line in others))]

"""The figures of the rows of a table that have run, and how sure their differences are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from irtoolkit.papers.results import RowResult
from irtoolkit.papers.tables import Table
from irtoolkit.scoring.compare import compare
from irtoolkit.scoring.score import Scores


def with_figures(
    result: RowResult,
    table: Table,
    scores: Mapping[str, Scores],
    p_values: Mapping[str, Mapping[str, float]],
) -> RowResult:
    """Returns the result of a row with the figures of the groups that it ran on."""
    cells = []
    for cell in result.cells:
        if cell.status == "measured":
            evaluation = scores[cell.group][result.row.system]
            values = evaluation.figures()
            figures = {
                column: values[measure] * table.scale_of(column)
                for column, measure in table.columns.items()
            }
            p_value = p_values[cell.group].get(result.row.system)
            cell = replace(cell, figures=figures, evaluation=evaluation, p_value=p_value)
        cells.append(cell)
    return replace(result, cells=tuple(cells))


def p_values_of(
    scores: Mapping[str, Scores], table: Table, baseline: str
) -> dict[str, dict[str, float]]:
    """Returns group to system to its corrected p against the baseline, if that was measured too."""
    measure = table.columns[table.tested]
    p_values: dict[str, dict[str, float]] = {}
    for group, scored in scores.items():
        compared = (
            compare(scored.evaluations, measure, baseline=baseline, test="student")
            if baseline in scored.evaluations
            else ()
        )
        p_values[group] = {
            result.system: result.corrected for result in compared if result.corrected is not None
        }
    return p_values

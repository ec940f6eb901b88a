"""The result of measuring a paper's table again: a cell for each row and group, with its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from irtoolkit.datasets.identity import DatasetId
from irtoolkit.papers.tables import Row, Table
from irtoolkit.scoring.compare import compare
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.score import Scores

Status = Literal["measured", "ready", "missing", "unavailable", "no data", "failed"]
Need = Literal["weights", "training", "payment", "recipe"]


@dataclass(frozen=True)
class GroupResult:
    """The result of a row of a table on one of its groups.

    Attributes:
        group: the name of the group.
        status: "measured"; "ready" if the row could run here but was not requested; "missing"
            if it lacks something to run here; "unavailable" if `reproduce` has no retriever for
            it; "no data" if the group's data are not here; "failed" if running it raised an error.
        reason: the one thing that is missing, or the error; None for a measured cell.
        need: the kind of thing that a missing or unavailable row needs.
        run: the file of the run; None unless measured.
        figures: column to measured figure, in the table's scale; empty unless measured.
        evaluation: the values of each query; None unless measured.
        p_value: the corrected p-value against the baseline; None for the baseline itself, and
            if there is nothing to compare.
        trained: the folder of the model that irtoolkit trained for it; None for other models.
        foreign: how the data here differ from the paper's; None if no difference is known.
    """

    group: str
    status: Status
    reason: str | None = None
    need: Need | None = None
    run: Path | None = None
    figures: dict[str, float] = field(default_factory=dict)
    evaluation: Evaluation | None = None
    p_value: float | None = None
    trained: str | None = None
    foreign: str | None = None


@dataclass(frozen=True)
class RowResult:
    """The result of a row of a table.

    Attributes:
        row: the row of the table.
        cells: one result for each group of the table, in its order.
        settings: everything that decided the ranking of the first group that was measured.
    """

    row: Row
    cells: tuple[GroupResult, ...]
    settings: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, group: str) -> GroupResult:
        return next(cell for cell in self.cells if cell.group == group)

    def of_status(self, status: Status) -> list[GroupResult]:
        """Returns the cells of one status."""
        return [cell for cell in self.cells if cell.status == status]

    def reasons(self, status: Status) -> dict[str, str]:
        """Returns group to reason, of the cells of one status."""
        return {cell.group: cell.reason or "" for cell in self.of_status(status)}

    def each(self, name: Literal["trained", "foreign", "p_value"]) -> dict[str, Any]:
        """Returns group to the value of an attribute, for the cells in which it is not None."""
        values = ((cell.group, getattr(cell, name)) for cell in self.cells)
        return {group: value for group, value in values if value is not None}

    @property
    def status(self) -> Literal["measured", "missing", "failed"]:
        """The status of the row as a whole: it is measured if one of its groups is."""
        if self.of_status("failed"):
            return "failed"
        return "measured" if self.of_status("measured") else "missing"

    @property
    def reason(self) -> str | None:
        """The reason why the row is not measured; None if it is."""
        if self.status == "measured":
            return None
        reasons = [cell.reason for cell in self.cells if cell.status != "no data" and cell.reason]
        return "; ".join(dict.fromkeys(reasons))


@dataclass(frozen=True)
class TableResult:
    """The result of a table.

    Attributes:
        table: the table of the paper.
        rows: the results of the requested rows, in the table's order.
        sample: whether the shipped sample was used in place of the real collection.
        baseline: the system that others were tested against.
        scores: group to the scores of the rows that were measured on it.
    """

    table: Table
    rows: tuple[RowResult, ...]
    sample: bool
    baseline: str
    scores: dict[str, Scores] = field(default_factory=dict)

    def __getitem__(self, system: str) -> RowResult:
        return next(result for result in self.rows if result.row.system == system)

    def dataset_of(self, group: str) -> str:
        """Returns the id of the dataset that a group was scored on."""
        return dataset_of(self.table.groups[group], self.sample)

    def measured_groups(self) -> list[str]:
        """Returns the groups on which a row was measured, in the table's order."""
        return list(self.scores)

    def foreign(self) -> dict[str, str]:
        """Returns group to how its data differ from the paper's, for groups in which they do."""
        return self.rows[0].each("foreign")

    def without_data(self) -> dict[str, str]:
        """Returns group to why its data are missing, for groups without data here."""
        return self.rows[0].reasons("no data")


def dataset_of(dataset_id: str, sample: bool) -> str:
    """Returns the dataset, or its counterpart in the sample, as csfcube/sample/method."""
    return str(DatasetId.parse(dataset_id).in_sample()) if sample else dataset_id


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

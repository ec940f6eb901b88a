"""Measuring a paper's table again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irtoolkit.comparison import compare
from irtoolkit.datasets import load_judgments, protocol
from irtoolkit.errors import InputError
from irtoolkit.evaluation import Evaluation, evaluate, parse_measures
from irtoolkit.experiments.systems import System, produce
from irtoolkit.experiments.tables import Row, Table
from irtoolkit.report.tables import TextTable

SAMPLE = "sample"


@dataclass(frozen=True)
class Result:
    """What came of one row.

    Attributes:
        row: the row of the table.
        status: "measured", "missing" when it cannot run here, or "failed" when it tried.
        reason: the one thing that is missing.
        settings: everything that decided the ranking.
        measured: group to column to figure, in the table's scale.
        evaluations: group to evaluation, of a measured row.
        p_values: group to corrected p against the table's baseline.
    """

    row: Row
    status: str
    reason: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, dict[str, float]] = field(default_factory=dict)
    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    p_values: dict[str, float] = field(default_factory=dict)


def reproduce(
    table: Table,
    out: Path,
    *,
    systems: Sequence[str] = (),
    sample: bool = False,
    baseline: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """Runs the rows of a table that can run here, writes their runs, and scores them.

    A run that is already in `out`, made from the same data and settings, is taken as it is.

    Args:
        table: the experiment table.
        out: folder for the runs.
        systems: rows to take; all when empty.
        sample: whether to use the shipped sample in place of the real collection.
        baseline: the system that p-values are against; by default the table's.
        say: called with a line of progress.

    Raises:
        InputError: a system that the table does not have, or the collection is not here.
    """
    names = [row.system for row in table.rows]
    for name in [*systems, *([baseline] if baseline else [])]:
        if name not in names:
            raise InputError(f"no row {name!r} in {table.name}", remedy=f"rows: {', '.join(names)}")
    if baseline and systems and baseline not in systems:
        raise InputError(f"the baseline {baseline} is not among the systems to run")
    chosen = [row for row in table.rows if not systems or row.system in systems]
    results = [_measure(table, row, out, sample, say) for row in chosen]
    return _tested(results, table, baseline or table.baseline)


def dataset_of(dataset_id: str, sample: bool) -> str:
    """The dataset, or its counterpart in the sample: csfcube/method, csfcube/sample/method."""
    name, slash, rest = dataset_id.partition("/")
    return f"{name}/{SAMPLE}{slash}{rest}" if sample else dataset_id


def _measure(table: Table, row: Row, out: Path, sample: bool, say: Callable[[str], None]) -> Result:
    if row.retriever is None:
        return Result(row, "missing", row.unavailable)
    system = System.make(row.system, row.retriever, row.settings)
    lacking = system.retriever.missing()
    if lacking is not None:
        return Result(row, "missing", lacking, system.settings())
    # A collection that is not here is no fault of the row.
    judged = {g: load_judgments(dataset_of(d, sample)) for g, d in table.groups.items()}
    path = out / f"{table.name}{'-' + SAMPLE if sample else ''}.{row.system}.run"
    say(f"{row.system}: {path}")
    try:
        run, reused = produce(dataset_of(table.dataset, sample), system, path, reuse=True)
    except InputError as error:
        if error.file is None:  # a damaged model, say; the other rows can still be measured
            return Result(row, "failed", str(error), system.settings())
        raise
    if reused:
        say(f"{row.system}: unchanged, taken from {path}")
    measures = parse_measures(list(table.columns.values()))
    evaluations, measured = {}, {}
    for group, (qrels, dataset) in judged.items():
        evaluation = evaluate(run, qrels, measures, protocol(dataset).folds)
        figures = evaluation.figures()
        evaluations[group] = evaluation
        measured[group] = {
            column: figures[measure] * table.scale for column, measure in table.columns.items()
        }
    return Result(row, "measured", None, system.settings(), measured, evaluations)


def _tested(results: list[Result], table: Table, baseline: str) -> list[Result]:
    """Adds each measured row's corrected p against the baseline, when that was measured too."""
    done = {result.row.system: result for result in results if result.status == "measured"}
    if baseline not in done:
        return results
    measure = table.columns[table.tested]
    for group in table.groups:
        family = {name: result.evaluations[group] for name, result in done.items()}
        for row in compare(family, measure, baseline=baseline):
            if row.corrected is not None:
                done[row.system].p_values[group] = row.corrected
    return results


def as_json(table: Table, results: list[Result], sample: bool = False) -> dict[str, Any]:
    """The results as plain data, figures in the table's scale."""
    return {
        "experiment": table.name,
        "title": table.title,
        "dataset": dataset_of(table.dataset, sample),
        "test": {"column": table.tested, "test": "student", "correction": "holm"},
        "rows": [
            {
                "system": result.row.system,
                "status": result.status,
                "reason": result.reason,
                "settings": result.settings,
                "measured": result.measured,
                "reported": {
                    group: dict(zip(table.columns, figures, strict=True))
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
            rows.extend(_lines(result, group, columns, sample))
        title = f"\n{table.name} {group} ({dataset_of(dataset_id, sample)}): {table.title}"
        headers = ["system", "", *columns, f"p({table.tested})"]
        made.append(TextTable(headers, rows, title, places=2))
    notes = _notes(results, table, sample, baseline)
    made[-1] = TextTable(made[-1].headers, made[-1].rows, made[-1].title, notes, 2)
    return made


def _lines(result: Result, group: str, columns: list[str], sample: bool) -> list[list[Any]]:
    row = result.row
    lines: list[list[Any]] = []
    measured, p = result.measured.get(group), result.p_values.get(group)
    if measured is not None:
        shown = None if p is None else _p_value(p)
        lines.append([row.system, "measured", *(measured[c] for c in columns), shown])
    elif result.status != "measured":
        lines.append([row.system, result.status, *(None for _ in columns), None])
    printed = row.reported.get(group)
    if printed is not None and not sample:
        doubt = [f"{group}.{column}" in row.doubtful for column in columns]
        cells = [f"{v:.2f}{'?' if d else ''}" for v, d in zip(printed, doubt, strict=True)]
        lines.append(["", "reported", *(cells), ""])
        if measured is not None:
            # Rounded first, as the paper did; adding 0.0 turns -0.0 into 0.0.
            gaps = [
                f"{round(round(measured[c], 2) - v, 2) + 0.0:+.2f}"
                for c, v in zip(columns, printed, strict=True)
            ]
            lines.append(["", "difference", *gaps, ""])
    return lines


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
    choices = [f"{r.row.system} {r.settings['self']}" for r in results if "self" in r.settings]
    notes.append(f"The query's own paper, where it is a candidate (self): {', '.join(choices)}.")
    notes += [f"{r.status} {r.row.system}: {r.reason}" for r in results if r.reason]
    return notes

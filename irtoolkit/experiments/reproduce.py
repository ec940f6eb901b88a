"""Measuring a paper's table again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import SAMPLE, DatasetId
from irtoolkit.experiments.papers import Training, of_row
from irtoolkit.experiments.tables import Row, Table
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import Ranks, read_ranks
from irtoolkit.scoring.compare import compare
from irtoolkit.scoring.evaluation import Evaluation, evaluate, parse_measures


@dataclass(frozen=True)
class Result:
    """What came of one row.

    Attributes:
        row: the row of the table.
        status: "measured", "missing" when it cannot run here, or "failed" when it tried.
        reason: the one thing that is missing, or what failed.
        lacking: group to why its data are not here although others' are.
        absent: group to what the row lacks to be run on it.
        trained: group to the folder of the model that was trained for it here; of rows with a
            recipe.
        foreign: group to how its data differ from the paper's own.
        settings: everything that decided the ranking; of the first group that it was run on, where
            the row has settings for some groups.
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
    lacking: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    trained: dict[str, str] = field(default_factory=dict)


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
    groups, lacking = _present(table, sample)
    results = [
        _measure(table, row, groups, out, sample, say, named=bool(systems)) for row in chosen
    ]
    foreign = {
        group: f"{dataset.queries_count()} queries, not the {published} of the published release"
        for group, dataset in groups.items()
        if (published := dataset.published) not in (None, dataset.queries_count())
    }
    results = [replace(result, lacking=lacking, foreign=foreign) for result in results]
    return _tested(results, table, baseline or table.baseline)


def dataset_of(dataset_id: str, sample: bool) -> str:
    """The dataset, or its counterpart in the sample: csfcube/method, csfcube/sample/method."""
    return str(DatasetId.parse(dataset_id).in_sample()) if sample else dataset_id


def _present(table: Table, sample: bool) -> tuple[dict[str, Dataset], dict[str, str]]:
    """The judged datasets of the groups whose data are here, and why others are not.

    Raises:
        InputError: no group's data are here.
    """
    groups, lacking = {}, {}
    for group, dataset_id in table.groups.items():
        try:
            dataset = Dataset.load(dataset_of(dataset_id, sample))
            _ = dataset.qrels  # read now, so that data that are not here are known
            groups[group] = dataset
        except InputError as error:
            lacking[group] = str(error)
            if len(lacking) == len(table.groups):  # a collection that is not here is no row's fault
                raise
    return groups, lacking


def _measure(
    table: Table,
    row: Row,
    groups: dict[str, Dataset],
    out: Path,
    sample: bool,
    say: Callable[[str], None],
    named: bool,
) -> Result:
    if row.retriever is None:
        return Result(row, "missing", row.unavailable)
    measures = parse_measures(list(table.columns.values()))
    evaluations: dict[str, Evaluation] = {}
    measured: dict[str, dict[str, float]] = {}
    settings: dict[str, Any] = {}
    absent: dict[str, str] = {}
    trained: dict[str, str] = {}
    ready: dict[str, tuple[Run, Ranks | None]] = {}
    for group, dataset in groups.items():
        own = {} if table.dataset else row.settings_for.get(group, {})
        system = of_row(row, own, table.groups[group])
        settings = settings if measured else system.settings()
        ranked = dataset_of(table.dataset or table.groups[group], sample)
        name = f"{table.name}{'-' + SAMPLE if sample else ''}"
        path = out / f"{name}.{'' if table.dataset else group + '.'}{row.system}.run"
        try:
            lacking = system.missing()
            if lacking is None and system.asks_others() and not named:
                lacking = (
                    f"it may cost money: name it, --systems {row.system}, to send its requests"
                )
            if lacking is not None:
                absent[group] = lacking
                continue
            if isinstance(system.training, Training):
                trained[group] = str(system.training.folder)
            if ranked not in ready:
                ready[ranked] = _produce(system, ranked, row.view, path, table.depth, say)
        except InputError as error:
            if error.file is None:  # a damaged model, say; the other rows can still be measured
                return Result(row, "failed", str(error), settings)
            raise
        run, ranks = ready[ranked]
        evaluation = evaluate(run, dataset.qrels, measures, dataset.protocol.folds, ranks)
        figures = evaluation.figures()
        evaluations[group] = evaluation
        measured[group] = {
            column: figures[measure] * table.scale_of(column)
            for column, measure in table.columns.items()
        }
    if not measured:
        reasons = "; ".join(dict.fromkeys(absent.values()))
        return Result(row, "missing", reasons, settings, absent=absent)
    return Result(
        row, "measured", None, settings, measured, evaluations, absent=absent, trained=trained
    )


def _produce(
    system: System, dataset_id: str, view: str | None, path: Path, depth: int | None,
    say: Callable[[str], None],
) -> tuple[Run, Ranks | None]:  # fmt: skip
    """The run of a system, made or found, and the exact ranks beside it."""
    say(f"{system.name}: {path}")
    dataset = Dataset.load(dataset_id)
    run, reused = produce(
        dataset.view(view) if view else dataset, system, path, depth=depth, reuse=True
    )
    if reused:
        say(f"{system.name}: unchanged, taken from {path}")
    return run, read_ranks(path)


def _tested(results: list[Result], table: Table, baseline: str) -> list[Result]:
    """Adds each measured row's corrected p against the baseline, when that was measured too."""
    done = {result.row.system: result for result in results if result.status == "measured"}
    if baseline not in done:
        return results
    measure = table.columns[table.tested]
    for group in done[baseline].evaluations:
        family = {
            name: result.evaluations[group]
            for name, result in done.items()
            if group in result.evaluations
        }
        for row in compare(family, measure, baseline=baseline):
            if row.corrected is not None:
                done[row.system].p_values[group] = row.corrected
    return results

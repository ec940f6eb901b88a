"""Measuring a paper's table again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.paths import shown
from irtoolkit.base.progress import tqdm
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.papers.data import pick_candidates
from irtoolkit.papers.results import (
    GroupResult,
    Need,
    RowResult,
    TableResult,
    dataset_of,
    p_values_of,
    with_figures,
)
from irtoolkit.papers.row_commands import ranked_id, run_name
from irtoolkit.papers.systems import Training, lacking_of, of_row
from irtoolkit.papers.tables import Row, Table
from irtoolkit.ranking.produce import produce
from irtoolkit.ranking.systems import System
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import read_ranks
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.scoring.score import Measures, Scores, score

Say = Callable[[str], None]


def reproduce(
    table: Table,
    out: Path,
    *,
    systems: Sequence[str] = (),
    sample: bool = False,
    baseline: str | None = None,
    say: Say = lambda line: None,
) -> TableResult:
    """Runs the rows of a table that can run here, writes their runs, and scores them.

    A run that is already in `out`, made from the same data and settings, is reused.

    Args:
        table: the experiment table.
        out: folder for the runs.
        systems: the rows to run; all when empty.
        sample: whether to use the shipped sample in place of the real collection.
        baseline: the system that the others are tested against; by default the table's.
        say: called with a line of progress.

    Raises:
        InputError: a system that the table does not have, no row that a retriever runs, or no
            group's data are here.
    """
    chosen = table.select(systems, baseline)
    if all(row.retriever is None for row in chosen):
        raise InputError(
            f"none of the chosen rows of {table.name} is run by a retriever",
            remedy=f"irtoolkit reproduce {table.name} --list says what gives their figures, and"
            " --all prints those of the paper",
        )
    measures = parse_measures(list(table.columns.values()))
    bench = _Bench(table, out, sample, frozenset(systems), say)
    bench.find_data()
    ran: list[RowResult] = []
    with tqdm(chosen, table.name, disable=None, unit="row", leave=False) as bar:
        for row in bar:
            bar.set_description(f"{table.name} {row.system}")
            ran.append(bench.run(row))
    scores = {group: bench.score(group, measures) for group in bench.runs}
    against = baseline or table.baseline
    p_values = p_values_of(scores, table, against)
    rows = tuple(with_figures(result, table, scores, p_values) for result in ran)
    return TableResult(table, rows, sample, against, scores)


def survey(table: Table, *, systems: Sequence[str] = ()) -> TableResult:
    """Returns what the rows of a table need to run here. Nothing is run, and no data are read.

    Cells of rows that need nothing have the status "ready".

    Args:
        table, systems: see `reproduce`.

    Raises:
        InputError: a system that the table does not have.
    """
    bench = _Bench(table, Path(), False, frozenset(systems))
    rows = [bench.check(row) for row in table.select(systems)]
    return TableResult(table, tuple(rows), False, table.baseline)


@dataclass(frozen=True)
class _Bench:
    """The workbench for the rows of one table, whose runs are scored together.

    Attributes:
        table, out, sample, say: see `reproduce`.
        named: the systems that were requested by name.
        datasets: group to its dataset, for groups with data on this machine.
        absent: group to why its data are missing.
        foreign: group to how its data differ from the paper's, if they do.
        runs: group to system to its run, for the rows that have run.
    """

    table: Table
    out: Path
    sample: bool
    named: frozenset[str]
    say: Say = print
    datasets: dict[str, Dataset] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    runs: dict[str, dict[str, Run]] = field(default_factory=dict)

    def find_data(self) -> None:
        """Finds the judged dataset of each group.

        Raises:
            InputError: no group's data are here.
        """
        for group, dataset_id in self.table.groups.items():
            try:
                pick_candidates(self.table, group, self.sample, self.out, self.say)
                dataset = Dataset.load(dataset_of(dataset_id, self.sample))
                _ = dataset.qrels  # read now, so that missing data are known before anything runs
            except InputError as error:
                self.absent[group] = str(error)
                if len(self.absent) == len(self.table.groups):  # which is no row's fault
                    raise
                continue
            self.datasets[group] = dataset
            differs = dataset.difference(self.table.editions.get(group))
            if differs is not None:
                self.foreign[group] = differs

    def check(self, row: Row) -> RowResult:
        """Returns what a row needs on each group of the table, whether or not its data are here."""
        if row.retriever is None:
            return RowResult(row, tuple(_unavailable(row, group) for group in self.table.groups))
        systems = {group: self._system(row, group) for group in self.table.groups}
        return RowResult(row, tuple(self._state(row, *pair) for pair in systems.items()))

    def run(self, row: Row) -> RowResult:
        """Runs a row on each group with data here; cells that ran have no figures yet.

        Raises:
            InputError: a file of the data is damaged.
        """
        if row.retriever is None:
            return self._result(row, {group: _unavailable(row, group) for group in self.datasets})
        cells: dict[str, GroupResult] = {}
        runs: dict[str, Run] = {}
        settings: dict[str, Any] = {}
        for group in self.datasets:
            system = self._system(row, group)
            settings = settings if runs else system.settings()
            try:
                cells[group] = self._state(row, group, system)
                if cells[group].status == "ready":
                    runs[group] = self._ranked(row, group, system, runs)
                    cells[group] = _ran(group, system, self._path(row.system, group))
            except InputError as error:
                if error.file is not None:
                    raise
                # A damaged model, say; the other rows can still be measured.
                failed = {name: GroupResult(name, "failed", str(error)) for name in self.datasets}
                return self._result(row, failed, settings)
        for group, run in runs.items():
            self.runs.setdefault(group, {})[row.system] = run
        return self._result(row, cells, settings)

    def score(self, group: str, measures: Measures) -> Scores:
        """Scores the runs of a group."""
        scores = score(self.datasets[group], self.runs[group], measures)
        return replace(scores, files={name: str(self._path(name, group)) for name in scores.runs})

    def _path(self, system: str, group: str) -> Path:
        """Returns the file of a run."""
        return self.out / run_name(self.table, group, system, self.sample)

    def _system(self, row: Row, group: str) -> System:
        """Returns the system of a row for a group, which ranks all candidates, as the papers do."""
        group_settings = {} if self.table.dataset else row.settings_for.get(group, {})
        return of_row(
            self.table, row, group_settings, dataset_of(self.table.groups[group], self.sample)
        ).filled()

    def _state(self, row: Row, group: str, system: System) -> GroupResult:
        """Returns whether a row could run on a group, and what it needs otherwise."""
        remedy = lacking_of(system)
        if remedy is not None:
            untrained = system.training is not None and system.training.missing() is not None
            return GroupResult(group, "missing", remedy, "training" if untrained else "weights")
        if system.asks_others() and row.system not in self.named:
            reason = f"its requests may cost money: --systems {row.system} sends them"
            return GroupResult(group, "missing", reason, "payment")
        return GroupResult(group, "ready")

    def _ranked(self, row: Row, group: str, system: System, runs: Mapping[str, Run]) -> Run:
        """Returns the run of a row, new or existing, with the exact ranks beside it."""
        if self.table.dataset and runs:  # the groups share a run
            return next(iter(runs.values()))
        path = self._path(row.system, group)
        self.say(f"{system.name}: {shown(path)}")
        data = Dataset.load(ranked_id(self.table, row, group, self.sample))
        run, reused = produce(data, system, path, depth=self.table.depth, reuse=True)
        if reused:
            self.say(f"{system.name}: unchanged, taken from {shown(path)}")
        return replace(run, exact_ranks=read_ranks(path, run))

    def _result(
        self, row: Row, cells: Mapping[str, GroupResult], settings: dict[str, Any] | None = None
    ) -> RowResult:
        """Returns the result of a row, with a cell for each group of the table."""
        whole = [
            GroupResult(group, "no data", self.absent[group])
            if group in self.absent
            else replace(cells[group], foreign=self.foreign.get(group))
            for group in self.table.groups
        ]
        return RowResult(row, tuple(whole), settings or {})


def _unavailable(row: Row, group: str) -> GroupResult:
    need: Need | None = None if row.unavailable is None else "recipe"
    return GroupResult(group, "unavailable", row.why_not, need)


def _ran(group: str, system: System, path: Path) -> GroupResult:
    """Returns the cell of a group that a system has ranked."""
    training = system.training
    trained = str(training.folder) if isinstance(training, Training) else None
    return GroupResult(group, "measured", run=path, trained=trained)

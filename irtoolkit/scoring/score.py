"""Scoring of runs: `score`, the one way from runs and judgments to figures, and its `Scores`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import fspath
from typing import Any, get_args

import ir_measures
import numpy as np
from numpy.typing import NDArray

from irtoolkit.base.arguments import shown_value
from irtoolkit.base.errors import InputError
from irtoolkit.base.near import did_you_mean
from irtoolkit.base.progress import DELAY, tqdm
from irtoolkit.base.tables import TableCell, TextTable
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.recognise import dataset_first
from irtoolkit.measures.traits import traits
from irtoolkit.runs import Run
from irtoolkit.runs.columns import Ranks, TiedRank
from irtoolkit.runs.exact_ranks import has_best_ranks, read_ranks
from irtoolkit.runs.parts import without_excluded
from irtoolkit.runs.precision import Precision
from irtoolkit.scoring.check import read_run
from irtoolkit.scoring.evaluation import Evaluation, evaluate, parse_measures
from irtoolkit.scoring.named_runs import is_path, named_runs
from irtoolkit.scoring.notes import Note
from irtoolkit.scoring.run_notes import absent, missing, run_notes, unjudged, unranked

Measures = str | Sequence[str | ir_measures.Measure] | Mapping[str, ir_measures.Measure]


# The grade that excludes a document in BRIGHT's judgments.
_BRIGHT = -100


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of some runs on a dataset.

    Attributes:
        dataset: the dataset.
        measures: the measures by the names under which they were requested.
        evaluations: the values of each system, by its name.
        runs: the run of each system, by its name.
        averaging: how figures are averaged, in words.
        notes: warnings about the runs.
        files: the file of each run that was read from one, by the name of its system.
    """

    dataset: Dataset
    measures: dict[str, ir_measures.Measure]
    evaluations: dict[str, Evaluation]
    runs: dict[str, Run]
    averaging: str
    notes: tuple[Note, ...] = ()
    files: dict[str, str] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """The names of the systems in order."""
        return list(self.evaluations)

    @property
    def main_measure(self) -> str:
        """The dataset's main measure, or the first measure if that is not among them."""
        main = self.dataset.protocol.main
        return main if main in self.measures else next(iter(self.measures))

    @property
    def query_ids(self) -> list[str]:
        """The judged queries in order."""
        return [str(name) for name in next(iter(self.evaluations.values())).query_ids]

    def __getitem__(self, system: str) -> Evaluation:
        if system not in self.evaluations:
            near = did_you_mean(str(system), self.systems)
            raise InputError(
                f"no run {shown_value(system)} among the scores",
                remedy=f"{near}there are {', '.join(self.systems)}",
            )
        return self.evaluations[system]

    def __iter__(self) -> Iterator[str]:
        return iter(self.evaluations)

    def __len__(self) -> int:
        return len(self.evaluations)

    def figures(self) -> dict[str, dict[str, float]]:
        """Returns system to measure to the benchmark's figure."""
        return {name: evaluation.figures() for name, evaluation in self.evaluations.items()}

    def values(self, system: str, measure: str) -> NDArray[np.float64]:
        """Returns (Q,) the value of a measure for each judged query."""
        return self[system].per_query(measure)

    def per_query(self) -> Iterator[tuple[str, str, str, float]]:
        """Yields (system, query id, measure, value) for every value."""
        for name, evaluation in self.evaluations.items():
            for measure in self.measures:
                values = evaluation.per_query(measure).tolist()
                for query_id, value in zip(evaluation.query_ids, values, strict=True):
                    yield name, str(query_id), measure, value

    def by(self, breakdown: str) -> dict[str, dict[str, dict[str, float]]]:
        """Returns system to part of the queries to measure to its mean over the part.

        Raises:
            InputError: the dataset has no such breakdown.
        """
        parts = self.dataset.breakdown(breakdown)
        return {
            name: {part: evaluation.over(queries) for part, queries in parts.items()}
            for name, evaluation in self.evaluations.items()
        }

    def table(self, by: str | None = None) -> TextTable:
        """Returns the figures as a table; with `by` a row for each part of the queries.

        Raises:
            InputError: the dataset has no such breakdown.
        """
        if by is None:
            rows: list[list[TableCell]] = [
                [name, *self._cells(row)] for name, row in self.figures().items()
            ]
            title = f"{self.dataset.id}: {self.averaging}"
            return TextTable(["run", *self.measures], rows, title)
        sizes = {part: len(queries) for part, queries in self.dataset.breakdown(by).items()}
        parts: list[list[TableCell]] = [
            [name, part, sizes[part], *self._cells(row)]
            for name, breakdown in self.by(by).items()
            for part, row in breakdown.items()
        ]
        title = f"{self.dataset.id}: mean over the queries of each part"
        return TextTable(["run", by, "queries", *self.measures], parts, title)

    def counts(self, measure: str) -> bool:
        """Returns whether a measure counts something, as num_rel_ret does."""
        return str(self.measures[measure].NAME).startswith("Num")

    def _cells(self, row: Mapping[str, float]) -> list[TableCell]:
        """Returns the figures of a row; counts are whole numbers, unless they are means."""
        return [
            int(value) if self.counts(measure) and value.is_integer() else value
            for measure, value in row.items()
        ]

    def to_frame(self) -> Any:
        """Returns the figures as a pandas DataFrame, a row for each system."""
        import pandas as pd

        return pd.DataFrame.from_dict(self.figures(), orient="index")

    def __str__(self) -> str:
        return "\n".join([self.table().render("text"), *map(str, self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = self.table()
        noted = TextTable(table.headers, table.rows, table.title, [str(n) for n in self.notes])
        return noted.to_html()


def score(
    data: Any,
    runs: Any,
    measures: Measures | None = None,
    *,
    names: Sequence[str] | None = (),
    excluded: int | None = None,
    precision: Precision = "single",
) -> Scores:
    """Scores runs on a dataset's judgments, as trec_eval would.

    Only judged queries count; a judged query that a run lacks counts as zero, unless its exact ranks
    are known. Figures are averaged as the dataset's protocol says. If a measure needs more than the
    run lists, exact ranks of relevant documents are used: those that a run in memory carries, or
    those beside its file.

    Args:
        data: anything that `Dataset.of` takes: an id, a qrels file, a Dataset, judgments. A run and a
            dataset in each other's place are swapped.
        runs: one run, a sequence of runs, or name to run; a run is a file or anything that
            `Run.of` takes.
        measures: ir_measures names; by default the dataset's own.
        names: names of the systems in order; by default a file's path or a run's tag.
        excluded: the grade of documents that are left out of a run before it is scored, as -100 in
            BRIGHT's judgments; by default the dataset's excluded grade.
        precision: how scores are compared; see `Run.read`.

    Raises:
        InputError: no runs, or a file given twice; a run without a judged query, or one that does
            not fit the dataset; an unknown measure or dataset; an excluded grade that no document has.
    """
    if precision not in get_args(Precision):
        raise InputError(f"precision {precision!r} is neither single nor double")
    data, runs = dataset_first(data, runs)
    dataset = Dataset.of(data)
    qrels = dataset.qrels
    parsed = _parsed(dataset.protocol.measures if measures is None else measures)
    inputs = named_runs(runs, names)
    left_out = _excluded_docs(dataset, excluded)
    evaluations: dict[str, Evaluation] = {}
    read: dict[str, Run] = {}
    notes = [*absent(dataset)]
    if not left_out and (qrels.grades == _BRIGHT).any():
        notes.append(Note("", "excluded", (), len(qrels.query_ids)))
    for name, source in tqdm(inputs.items(), "scoring", disable=None, leave=False, delay=DELAY):
        run, ranks = _read(source, dataset, parsed, precision)
        scored = without_excluded(run, left_out) if left_out else run
        if scored is not run:
            rows = len(run) - len(scored)
            notes.append(Note(name, "left out", (), len(qrels.query_ids), rows=rows))
            run, ranks = scored, None
        read[name] = run
        evaluations[name] = evaluate(run, qrels, parsed, dataset.protocol.folds, ranks)
        notes.extend(_notes(name, source, run, ranks, evaluations[name], dataset))
    files = {name: fspath(source) for name, source in inputs.items() if is_path(source)}
    return Scores(dataset, parsed, evaluations, read, dataset.protocol.note, tuple(notes), files)


def _notes(
    name: str, source: Any, run: Run, ranks: Ranks | None, evaluation: Evaluation, dataset: Dataset
) -> list[Note]:
    """Returns the notes on a run that has been scored."""
    measures, qrels = evaluation.measures, dataset.qrels
    whole = tuple(name for name, measure in measures.items() if traits(measure).whole_pool)
    listed_only = tuple(name for name in measures if not traits(measures[name]).exact_ranks)
    notes: list[Note] = []
    if not evaluation.judged_rows and ranks is None:
        notes.extend(unjudged(name, run, qrels))
    notes.extend(run_notes(name, run, dataset, whole, source))
    notes.extend(missing(name, run, qrels, ranks, listed_only))
    notes.extend(unranked(name, evaluation))
    return notes


def _parsed(measures: Measures) -> dict[str, ir_measures.Measure]:
    """Returns measures by the names under which they were requested."""
    if not isinstance(measures, Mapping):
        return parse_measures(measures)
    for name, measure in measures.items():
        if not isinstance(measure, ir_measures.Measure):
            raise InputError(
                f"{name!r} has {shown_value(measure)}, which is no measure",
                remedy="give a list of names",
            )
    return dict(measures) or parse_measures(())


def _excluded_docs(dataset: Dataset, grade: int | None) -> Mapping[str, Collection[str]]:
    """Returns query id to the documents to leave out: those of a grade, or those that the dataset excludes.

    Raises:
        InputError: no document has that grade.
    """
    grade = dataset.excluded if grade is None else grade
    if grade is None:
        return dataset.excluded_docs
    grades = np.unique(dataset.qrels.grades).tolist()
    if grade not in grades:
        examples = ", ".join(map(str, grades[:10])) + (", ..." if len(grades) > 10 else "")
        raise InputError(
            f"no document has the excluded grade {grade!r} in {dataset.id}",
            remedy=f"the judgments have the grades {examples}",
        )
    return dataset.qrels.of_grade(grade)


def _read(
    source: Any, dataset: Dataset, measures: Mapping[str, ir_measures.Measure], precision: Precision
) -> tuple[Run, Ranks | None]:
    """Returns a run, and the exact ranks of relevant documents if a measure needs them."""
    if not is_path(source):
        run = Run.of(source, precision=precision)
        tied = any(isinstance(rank, TiedRank) for rank in _first_ranks(run.exact_ranks))
        return run, run.exact_ranks if _wants_ranks(run, dataset, measures, tied) else None
    run = read_run(source, None if dataset.in_memory else dataset, precision)
    with_ranks = _wants_ranks(run, dataset, measures, has_best_ranks(source))
    return run, read_ranks(source, run) if with_ranks else None


def _first_ranks(ranks: Ranks | None) -> Iterable[int]:
    """Returns the ranks of the first query that has some."""
    return next((docs.values() for docs in (ranks or {}).values() if docs), ())


def _wants_ranks(
    run: Run, dataset: Dataset, measures: Mapping[str, ir_measures.Measure], tied: bool
) -> bool:
    """Returns whether a measure needs more than the run lists, or ranks of equal scores."""
    lists_all = np.isin(dataset.qrels.query_ids, run.query_ids).all()
    sizes = np.diff(run.offsets)
    shallowest = int(sizes.min()) if lists_all and len(sizes) else 0
    return any(
        traits(measure).exact_ranks
        and (tied or measure.params.get("cutoff", shallowest + 1) > shallowest)
        for measure in measures.values()
    )

"""What `eval` and `compare` share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.measures.base import ColumnarMeasure
from irtoolkit.measures.standard import uses_ranks
from irtoolkit.runs import Run
from irtoolkit.runs.exact_ranks import Ranks, read_ranks
from irtoolkit.scoring.check import read_run, shallow_queries
from irtoolkit.scoring.evaluation import Evaluation, evaluate, parse_measures


@dataclass(frozen=True)
class Scored:
    """Runs scored on one dataset."""

    evaluations: dict[str, Evaluation]
    measures: dict[str, Any]
    averaging: str
    notes: list[str]


def score_runs(dataset_id: str, paths: list[str], measures: str | None) -> Scored:
    """Reads, checks and scores run files.

    Raises:
        InputError: a file that is no run of the dataset, an unknown measure or dataset, a file given twice.
    """
    if len({Path(path).resolve() for path in paths}) != len(paths):
        raise InputError("a run is given twice")
    dataset = Dataset.of(dataset_id)
    qrels, plan = dataset.qrels, dataset.protocol
    asked = measures if measures is not None else plan.measures
    parsed = parse_measures(asked)
    ours = {n: m for n, m in parsed.items() if isinstance(m, ColumnarMeasure)}
    evaluations, notes = {}, []
    for path in paths:
        run = read_run(path, None if dataset.in_memory else dataset_id)
        evaluations[path] = evaluate(
            run, qrels, parsed, plan.folds, _ranks(run, path, parsed.values())
        )
        lacking = set(qrels.query_ids) - set(run.query_ids)
        if len(lacking) == len(qrels.query_ids):
            raise InputError(
                "the run has no judged query", file=path, remedy=f"is it a run of {dataset_id}?"
            )
        if lacking:
            notes.append(
                f"note: {path} lacks {len(lacking)} of {len(qrels.query_ids)} judged queries, the"
                f" first {min(lacking)}; they count as zero"
            )
        partial = [n for n, m in ours.items() if m.needs_whole_pool()]
        shallow = shallow_queries(run, dataset) if partial else []
        if shallow:
            notes.append(
                f"note: {path} lists less than the pool for {len(shallow)} queries, the first"
                f" {shallow[0]}: {' and '.join(partial)} take the listed documents for the whole"
                " pool, as the official scorer does, and are not comparable"
            )
    return Scored(evaluations, parsed, plan.note, notes)


def _ranks(run: Run, path: str, measures: Iterable[Any]) -> Ranks | None:
    """The exact ranks beside a run, where a measure asks for more than the run lists."""
    shallowest = int(np.diff(run.offsets).min())
    wanted = (
        uses_ranks(measure) and measure.params.get("cutoff", shallowest + 1) > shallowest
        for measure in measures
    )
    return read_ranks(path) if any(wanted) else None

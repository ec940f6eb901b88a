"""Runs made by an engine: each worker ranks a dataset with a system, the driver writes the runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.engines.engine import current
from irtoolkit.engines.work import WorkerKilledError
from irtoolkit.ranking.decided import SentSystem
from irtoolkit.ranking.produce import MakeRanking, rank_dataset, ranks_wanted
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.engine import Ranking

# The ranking of a job, or why there is none, and the seconds that it took.
_Made = tuple[Ranking | InputError, float]


@dataclass(frozen=True)
class RunJob:
    """A run to be made.

    Attributes:
        path: the file of the run.
        dataset, system, depth: see `irtoolkit.ranking.produce.produce`.
        sent: the system as it is sent to a worker.
    """

    path: Path
    dataset: Dataset
    system: System
    depth: int | None
    sent: SentSystem | None = None

    def __repr__(self) -> str:
        return f"{self.system.name} on {self.dataset.id}"


class RunsAhead:
    """Runs that the workers of an engine make while the driver writes and scores others.

    Without several workers, or with fewer runs than workers, nothing is made ahead: then each run
    is spread over the workers.

    Args:
        jobs: in the order in which they are taken.
    """

    def __init__(self, jobs: Sequence[RunJob]) -> None:
        self._engine = current()
        self._left = list(jobs) if 1 < self._engine.workers <= len(jobs) else []
        devices = {job.system.retriever.computed().get("device", "cpu") for job in self._left}
        self._gpus = float(bool(devices - {"cpu"}))
        # The jobs that workers were last given, and what they make of them; None after a failure.
        self._given: list[RunJob] = []
        self._made: Iterator[_Made] | None = None
        self._failed: dict[Path, InputError] = {}

    def of(self, path: Path) -> MakeRanking | None:
        """Returns a function that returns the ranking for a run's path.

        None if it is not made ahead.
        """
        if all(job.path != path for job in self._left):
            return None

        def ranked() -> tuple[Ranking, float]:
            while True:  # a row that failed on one group is not run on the next
                job, (ranking, seconds) = self._next()
                if job.path == path:
                    break
            if isinstance(ranking, InputError):
                raise ranking
            return ranking, seconds

        return ranked

    def _next(self) -> tuple[RunJob, _Made]:
        """Returns the next job with its outcome.

        A job that kills workers does not end the others.
        """
        job, result = self._taken()
        if not self._left and self._made is not None:
            next(self._made, None)  # ends the map: the workers are free for others
        return job, result

    def _taken(self) -> tuple[RunJob, _Made]:
        while self._left[0].path not in self._failed:
            if self._made is None:
                self._given = [job for job in self._left if job.path not in self._failed]
                self._made = self._engine.map(make, list(map(_sent, self._given)), gpus=self._gpus)
            try:
                result = next(self._made)
            except WorkerKilledError as error:
                self._made = None
                self._failed[self._given[error.number].path] = error
            except InputError as error:  # of the engine itself, which may have recovered by then
                self._made = None
                return self._left.pop(0), (error, 0.0)
            else:
                return self._left.pop(0), result
        job = self._left.pop(0)
        return job, (self._failed.pop(job.path), 0.0)


def _sent(job: RunJob) -> RunJob:
    try:
        return replace(job, sent=SentSystem.of(job.system))
    except InputError:  # its files are not here; who makes the run says so
        return job


def make(job: RunJob) -> _Made:
    """Returns the ranking of a job and the seconds it took; an error does not end the others."""
    started = time.monotonic()
    try:
        system = job.system if job.sent is None else job.sent.here()
        relevant = ranks_wanted(job.dataset, system, job.depth)
        outcome: Ranking | InputError = rank_dataset(
            job.dataset, system, depth=job.depth, relevant=relevant, progress=False
        )
    except InputError as error:
        outcome = error
    return outcome, time.monotonic() - started

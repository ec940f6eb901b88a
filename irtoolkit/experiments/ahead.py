"""Whole runs over an engine: each worker ranks a dataset with a system, and the driver writes the runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.engines.engine import current
from irtoolkit.ranking.produce import Ranked, rank_dataset, ranks_wanted
from irtoolkit.ranking.systems import System
from irtoolkit.retrievers.engine import Ranking


@dataclass(frozen=True)
class RunJob:
    """A run that is to be made.

    Attributes:
        path: where it goes.
        dataset, system, depth: see `irtoolkit.ranking.produce.produce`.
    """

    path: Path
    dataset: Dataset
    system: System
    depth: int | None

    def __repr__(self) -> str:
        return f"{self.system.name} on {self.dataset.id}"


class RunsAhead:
    """Runs that the workers of an engine make while the driver writes and scores others.

    Without several workers, and where there are fewer runs than workers, nothing is made ahead:
    then each run is spread over the workers.

    Args:
        jobs: in the order in which they are taken.
    """

    def __init__(self, jobs: Sequence[RunJob]) -> None:
        engine = current()
        self._left = list(jobs) if 1 < engine.workers <= len(jobs) else []
        devices = {job.system.retriever.computed().get("device", "cpu") for job in self._left}
        gpus = float(bool(devices - {"cpu"}))
        self._made: Iterator[tuple[Ranking | InputError, float]] = (
            engine.map(make, tuple(self._left), gpus=gpus) if self._left else iter(())
        )

    def of(self, path: Path) -> Ranked | None:
        """What gives the ranking of the run of a path; None of one that is not made ahead."""
        if all(job.path != path for job in self._left):
            return None

        def ranked() -> tuple[Ranking, float]:
            while True:  # a row that failed on one group is not run on the next
                found, seconds = next(self._made)
                if self._left.pop(0).path == path:
                    break
            if isinstance(found, InputError):
                raise found
            return found, seconds

        return ranked


def make(job: RunJob) -> tuple[Ranking | InputError, float]:
    """The ranking of a job and the seconds that it took; an error is no reason to end the others."""
    started = time.monotonic()
    relevant = ranks_wanted(job.dataset, job.system, job.depth)
    try:
        found: Ranking | InputError = rank_dataset(
            job.dataset, job.system, depth=job.depth, relevant=relevant, progress=False
        )
    except InputError as error:
        found = error
    return found, time.monotonic() - started

"""Ranking a dataset with a system, in memory or into a run file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, check_writable, is_file, local, sha256
from irtoolkit.base.launch import launch
from irtoolkit.base.paths import beside, is_url
from irtoolkit.base.stamps import unchanged
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.ranking.candidates import candidates_line
from irtoolkit.ranking.decided import digest, made_of
from irtoolkit.ranking.systems import System, for_dataset
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.task import Task
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.exact_ranks import RANKS_END
from irtoolkit.runs.parts import followed_by, without_excluded
from irtoolkit.runs.publish import publish
from irtoolkit.runs.storage import RunForm, check_run_name

Relevant = Mapping[str, list[str]]


@dataclass(frozen=True)
class Among:
    """A run whose best documents are ranked again, to the system's depth.

    Attributes:
        run: the run.
        keep_rest: whether its documents beyond the depth follow in their order.
        sha256: the hash of its file, for the record; None of a run in memory.
    """

    run: Run
    keep_rest: bool = False
    sha256: str | None = None

    @classmethod
    def read(cls, path: StrPath, *, keep_rest: bool = False) -> Among:
        """The run of a file, or of a pipe, which can be read only once."""
        file = local(path)
        with unchanged([file]):
            return cls(Run.read(file), keep_rest, sha256(file))


@dataclass(frozen=True)
class RunOutput:
    """Where a run goes, and in which form.

    Attributes:
        path: TREC text, .gz or Parquet by its name.
        form: "msmarco" writes query id, document id and rank, separated by tabs.
        say: called before ranking with the line that says which candidates are ranked.
    """

    path: StrPath
    form: RunForm = "trec"
    say: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        check_run_name(self.path, self.form)


def rank_dataset(
    data: Dataset | str,
    system: System,
    *,
    depth: int | None = None,
    candidates: Among | None = None,
    relevant: Relevant | None = None,
    progress: bool = True,
) -> Run:
    """Ranks a dataset with a system, in memory.

    Args:
        data: a Dataset, or an ir_datasets id.
        system: what ranks.
        depth: rows kept for each query; None keeps all.
        candidates: a run whose documents are ranked again; by default the system's own first stage
            where it has one, else all candidates are ranked.
        relevant: documents whose exact ranks are wanted, by query id.
        progress: whether to show a bar on a terminal.

    Returns:
        The run, in which no two scores of a query tie, so that no tool can read another order out
        of it, with the exact ranks.

    Raises:
        InputError: the system cannot run here, or what ranking raises.
    """
    dataset = Dataset.of(data)
    system = for_dataset(system, dataset)
    check_runnable(system)
    return _rank(dataset, system.load(dataset), system, depth, candidates, relevant or {}, progress)


def _rank(
    dataset: Dataset,
    task: Task,
    system: System,
    depth: int | None,
    candidates: Among | None,
    relevant: Relevant,
    progress: bool,
) -> Run:
    narrowed = _narrowed(dataset, task, system, candidates, progress)
    run = ranked = rank(
        narrowed,
        system.retriever,
        relevant,
        depth=depth,
        ties=system.task.ties,
        fill=system.task.fill or narrowed.picked,
        tag=system.name,
        progress=progress,
    )
    if candidates is not None and candidates.keep_rest:
        run = followed_by(
            run, without_excluded(candidates.run, dataset.excluded_docs), system.depth
        )
    return replace(run.untied(), exact_ranks=ranked.exact_ranks)


def check_runnable(system: System) -> None:
    """Raises InputError where a system cannot run here."""
    reason = system.missing()
    if reason is not None:
        raise InputError(reason)


def produce(
    data: Dataset | str,
    system: System,
    output: StrPath | RunOutput,
    *,
    depth: int | None = None,
    progress: bool = True,
    reuse: bool = False,
    candidates: Among | None = None,
) -> tuple[Run, bool]:
    """Ranks a dataset, writes the run and the record of how it was made.

    Args:
        data: a Dataset, or an ir_datasets id.
        system: what ranks.
        output: where the run goes; see `RunOutput`.
        depth, candidates, progress: see `rank_dataset`.
        reuse: whether to take the run that is already there when its record says that it came
            from the same data, system, settings and version, and its content is still what was written.

    Returns:
        The run, and whether it was reused. Of the processes of a launch, which share the encoding,
        the first writes. Beside a run that is cut at a depth are the exact ranks of the relevant
        documents; see `irtoolkit.runs.exact_ranks`.
    """
    dataset = Dataset.of(data)
    target = output if isinstance(output, RunOutput) else RunOutput(output)
    path = target.path
    if not is_url(path):
        check_writable(path)
    system = for_dataset(system, dataset)
    check_runnable(system)
    task = system.load(dataset)
    if target.say is not None and not launch().helps:
        if candidates is not None:  # a run on something else is refused before anything is said
            _narrowed(dataset, task, system, candidates, progress)
        target.say(
            candidates_line(dataset, task, system, depth, candidates.run if candidates else None)
        )
    relevant = ranks_wanted(dataset, system, depth)
    record = _made(dataset, system, task, depth, candidates, relevant)
    if reuse and _unchanged(path, record):
        return Run.read(path), True
    started = time.monotonic()
    run = _rank(dataset, task, system, depth, candidates, relevant, progress)
    publish(run, path, record, time.monotonic() - started, form=target.form)
    return run, False


def _made(
    dataset: Dataset,
    system: System,
    task: Task,
    depth: int | None,
    candidates: Among | None,
    relevant: Relevant,
) -> dict[str, Any]:
    """Everything that decides a run."""
    return {
        **made_of(system, task),
        **_stage(dataset, system, candidates),
        "depth": depth,
        "golds": digest(str(relevant)) if relevant else None,
        **dataset.decides,
    }


def ranks_wanted(dataset: Dataset, system: System, depth: int | None) -> dict[str, list[str]]:
    """The documents whose exact ranks belong beside a run: the relevant ones, or none.

    A run that is cut at a depth no longer shows where they are, and no run shows the best rank
    among equal scores.
    """
    is_complete = depth is None and system.task.ties != "best"
    return {} if is_complete or not dataset.judgments_are_here else dataset.relevant()


def is_shared(system: System) -> bool:
    """Whether processes that are started together share a system's work: what its models encode."""
    return bool(system.retriever.computed()) or (
        system.first is not None and is_shared(system.first)
    )


def has_nothing_to_do(system: System) -> bool:
    """Whether this process only helps, and a system leaves no work to helpers."""
    return launch().helps and not is_shared(system)


def _stage(dataset: Dataset, system: System, candidates: Among | None) -> dict[str, Any]:
    """Returns the record of the run or the first stage that is reranked."""
    if candidates is not None:
        picked = {"tag": candidates.run.tag, "sha256": candidates.sha256}
        return {"among": {**picked, "depth": system.depth, "rest": candidates.keep_rest}}
    if system.first is not None:
        return {"among": made_of(system.first, system.first.load(dataset))}
    return {}


def _narrowed(
    dataset: Dataset, task: Task, system: System, candidates: Among | None, progress: bool
) -> Task:
    """The task, or what another run or a first stage leaves of it."""
    if candidates is not None:
        run = without_excluded(candidates.run, dataset.excluded_docs)
        return task.among(run, system.depth)
    first = system.first
    if first is None:
        return task
    ranked = rank(
        _narrowed(dataset, first.load(dataset), first, None, progress),
        first.retriever,
        depth=system.depth,
        ties=first.task.ties,
        fill=first.task.fill,
        tag=first.name,
        progress=progress,
    )
    return task.among(ranked)


def _unchanged(path: StrPath, record: dict[str, Any]) -> bool:
    recorded = (provenance.read_metadata(path) or {}).get("irtoolkit")
    if not isinstance(recorded, dict) or not is_file(path):
        return False
    if record["golds"] is not None and not is_file(beside(path, RANKS_END)):
        return False
    return recorded == {**record, "sha256": sha256(path)}

"""Named systems: a retriever, its settings, and the view of the task it takes."""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from irtoolkit import __version__
from irtoolkit.base import analysis
from irtoolkit.base.errors import InputError
from irtoolkit.base.files import StrPath, sha256
from irtoolkit.base.ids import encode, is_word
from irtoolkit.datasets.dataset import benchmark, load_dataset
from irtoolkit.experiments.tables import Row, find_row, tables
from irtoolkit.models.presets import Kind, kind_of, presets
from irtoolkit.retrievers import create, engine, retrievers
from irtoolkit.retrievers.base import Retriever, parse_settings
from irtoolkit.retrievers.engine import rank, rank_and_locate
from irtoolkit.retrievers.ordering import Ties, separate, untied
from irtoolkit.retrievers.task import DEFAULT_VIEW, Task, load_task
from irtoolkit.runs import Run, provenance
from irtoolkit.runs.exact_ranks import ranks_path, remove_ranks, write_ranks
from irtoolkit.training.model_paths import is_trained, trained_by, trained_folder
from irtoolkit.training.recipes import find_recipe


@dataclass(frozen=True)
class TaskSettings:
    """Settings that any system takes, because they concern the task and not the retriever.

    Attributes:
        query, doc: views, see `irtoolkit.retrievers.task.view`.
        own: whether a query's own document stays among its candidates; "self" when set.
        ties: order of equal scores, see `irtoolkit.retrievers.engine.rank`.
    """

    query: str = DEFAULT_VIEW
    doc: str = DEFAULT_VIEW
    own: Literal["keep", "drop"] = "keep"
    ties: Ties = "trec"


# Documents of a first system that a second one takes, where nothing else is said.
RERANKED = 100


@dataclass(frozen=True)
class Training:
    """How a system's model is made, where irtoolkit trains it.

    Attributes:
        recipe: its name.
        settings: of the recipe.
    """

    recipe: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where it goes unless another folder is named."""
        return trained_folder(self.recipe, self.settings)

    @property
    def command(self) -> str:
        """What makes it."""
        pairs = [shlex.quote(f"{key}={value}") for key, value in self.settings.items()]
        return " ".join(["irtoolkit train", self.recipe, *(["--set", *pairs] if pairs else [])])

    def missing(self) -> str | None:
        """What to do where it has not been made here, or None."""
        if not is_trained(self.folder):
            return f"not trained here: {self.command}"
        if not trained_by(self.folder, find_recipe(self.recipe, self.settings)):
            return f"the model in {self.folder} was trained otherwise: {self.command} --restart"
        return None


@dataclass(frozen=True)
class System:
    """A retriever ready to be run on any dataset.

    Attributes:
        name: of the run.
        retriever: what ranks.
        task: what it is shown.
        first: the system whose best documents it ranks again; None where it ranks all candidates.
        depth: how many of them.
        training: how its model is made; None where another model is taken, or none is trained.
    """

    name: str
    retriever: Retriever
    task: TaskSettings = field(default_factory=TaskSettings)
    first: System | None = None
    depth: int = RERANKED
    training: Training | None = None

    @classmethod
    def make(cls, name: str, retriever: str, settings: Mapping[str, Any]) -> System:
        """A system from one flat set of settings, as `--set` and the tables give them.

        Raises:
            InputError: an unknown retriever or setting, or a value that is not of its kind.
        """
        if "own" in settings:
            raise InputError("no setting 'own'", remedy="it is called self")
        flat = {("own" if key == "self" else key): value for key, value in settings.items()}
        shared = {key: flat.pop(key) for key in list(flat) if key in asdict(TaskSettings())}
        try:
            made = create(retriever, flat)
        except InputError as error:
            hint = ", ".join(["query", "doc", "self", "ties"])
            raise InputError(
                error.found, remedy=f"{error.remedy or ''}; all take {hint}".strip("; ")
            ) from None
        try:
            return cls(name, made, TaskSettings(**parse_settings(TaskSettings, shared, "the task")))
        except InputError as error:
            # The field cannot be called self, which is what the user wrote.
            raise InputError(error.found.replace("setting own=", "setting self=")) from None

    def settings(self) -> dict[str, Any]:
        """Everything that decides the ranking, flat."""
        shared = asdict(self.task)
        shared["self"] = shared.pop("own")
        first = {"first": self.first.name, "depth": self.depth} if self.first else {}
        return {**shared, **self.retriever.settings(), **first}

    def missing(self) -> str | None:
        """The one thing that it lacks to run here, or None."""
        untrained = self.training.missing() if self.training else None
        return (
            untrained or self.retriever.missing() or (self.first.missing() if self.first else None)
        )

    def asks_others(self) -> bool:
        """Whether it or its first stage sends texts to a service that may charge for it."""
        return self.retriever.asks_others() or (self.first is not None and self.first.asks_others())

    def load(self, dataset_id: str) -> Task:
        """The task this system is given: of a second one, before the first has ranked it."""
        return load_task(dataset_id, query=self.task.query, doc=self.task.doc, own=self.task.own)


def find_system(
    name: str, settings: Mapping[str, Any], dataset_id: str = "", kind: Kind = "dense",
    staged: bool = True,
) -> System:  # fmt: skip
    """A retriever by its own name, a system of a paper by the paper's name for it, or a model.

    Args:
        name: e.g. "bm25", "fabs_bm25", "Contriever", or a model's folder or hub id.
        settings: replace or add to the named system's own.
        dataset_id: what it is to be run on, which tells systems of one name apart.
        kind: what a model is taken for that does not say it.
        staged: whether a system that ranks another's best again comes with that other one.

    Raises:
        InputError: no such system.
    """
    if name in retrievers():
        return System.make(name, name, settings)
    row = find_row(name, dataset_id)
    if row is None and (name in presets() or "/" in name):
        return _of_model(name, settings, kind_of(name, kind))
    if row is None:
        known = dict.fromkeys(row.system for table in tables().values() for row in table.rows)
        raise InputError(
            f"no system {name!r}",
            remedy=f"retrievers: {', '.join(retrievers())}; systems of the papers: {', '.join(known)};"
            f" models: {', '.join(presets())}, a folder (./model) or a hub id",
        )
    parts = dataset_id.split("/")
    if row.view and dataset_id and parts[-1] != row.view:
        raise InputError(
            f"system {name} is shown {row.view} of a query and no more",
            remedy=f"the dataset for it is {dataset_id}/{row.view}",
        )
    own = _of_group(row.settings_for, dataset_id)
    return of_row(row if staged else replace(row, first=None), {**own, **settings}, dataset_id)


def find_reranker(name: str, settings: Mapping[str, Any], dataset_id: str = "") -> System:
    """As `find_system`; a model that says nothing of itself is taken for a cross-encoder."""
    return find_system(name, settings, dataset_id, kind="cross", staged=False)


def _of_model(name: str, settings: Mapping[str, Any], kind: Kind) -> System:
    """The retriever that a model is for."""
    fit = [one for one in retrievers().values() if getattr(one, "applies", None) == kind]
    if not fit:
        raise InputError(
            f"{name} is a model of kind {kind}, which ranks nothing by itself",
            remedy=f"give a retriever that takes it, with --set model={name}",
        )
    made = fit[0]
    tag = name.rstrip("/").rpartition("/")[2] or made.name
    return System.make(tag if is_word(tag) else made.name, made.name, {"model": name, **settings})


def of_row(row: Row, settings: Mapping[str, Any], dataset_id: str = "") -> System:
    """The system of a row of a table, with more settings, or others, than the row's own.

    Where the row's model is trained by a recipe, its weights are those that training leaves, unless
    the settings name a model or weights.

    Raises:
        InputError: nothing runs the row.
    """
    if row.retriever is None:
        raise InputError(f"system {row.system} cannot be run: {row.unavailable}")
    training = None if {"model", "weights"} & settings.keys() else _training(row, dataset_id)
    weights = {} if training is None else {"weights": str(training.folder)}
    made = System.make(row.system, row.retriever, {**row.settings, **weights, **settings})
    system = replace(made, training=training)
    if row.first is None:
        return system
    return replace(
        system, first=find_system(row.first, {}, dataset_id), depth=row.rerank_depth or RERANKED
    )


def _training(row: Row, dataset_id: str) -> Training | None:
    if row.train is None:
        return None
    own = _of_group(row.train_set_for, dataset_id)
    return Training(row.train, {**row.train_set, **own})


def _of_group(by_group: Mapping[str, dict[str, Any]], dataset_id: str) -> dict[str, Any]:
    """What a row has for the group that a dataset is of."""
    parts = dataset_id.split("/")
    return next((found for group, found in by_group.items() if group in parts), {})


def produce(
    dataset_id: str,
    system: System,
    path: StrPath,
    *,
    depth: int | None = None,
    progress: bool = True,
    reuse: bool = False,
    among: StrPath | None = None,
    keep_rest: bool = False,
) -> tuple[Run, bool]:
    """Ranks a dataset, writes the run and the record of how it was made.

    Args:
        dataset_id: any ir_datasets id.
        system: what ranks.
        path: where the run goes; TREC text, .gz or Parquet by its name.
        depth: rows kept for each query.
        progress: whether to show a bar on a terminal.
        among: a run whose documents are ranked again, to the system's depth; by default the
            system's own first stage where it has one, else all candidates are ranked.
        keep_rest: whether the documents of `among` beyond that depth follow in their order.
        reuse: whether to take the run that is already there when its record says that it came
            from the same data, system, settings and version, and its content is still what was written.

    Returns:
        The run, and whether it was reused. Of the processes that torchrun starts, which share the
        encoding, the first writes. Beside a run that is cut at a depth stand the exact
        ranks of the relevant documents; see `irtoolkit.runs.exact_ranks`.
    """
    lacking = system.missing()
    if lacking is not None:
        raise InputError(lacking)
    source = None if among is None else Run.read(among)
    task = system.load(dataset_id)
    stage: dict[str, Any] = {}
    if among is not None and source is not None:
        picked = {"tag": source.tag, "sha256": sha256(among)}
        stage = {"among": {**picked, "depth": system.depth, "rest": keep_rest}}
    elif system.first is not None:
        stage = {"among": made_of(system.first, system.first.load(dataset_id))}
    # A cut run no longer tells where its golds stand; the engine still can.
    wanted = relevant_documents(dataset_id) if depth is not None else {}
    made = {
        **made_of(system, task),
        **stage,
        "depth": depth,
        "golds": _digest(str(wanted)) if wanted else None,
    }
    if reuse and _unchanged(path, made):
        return Run.read(path), True
    started = time.monotonic()
    ranking = rank_and_locate(
        _narrowed(task, system, source, progress),
        system.retriever,
        wanted,
        depth=depth,
        ties=system.task.ties,
        tag=system.name,
        progress=progress,
    )
    seconds = time.monotonic() - started
    if is_helper():
        return ranking.run, False
    # The record goes first away and last back: no run ever stands beside a record not its own.
    with suppress(OSError):  # a path that cannot be is refused by the writer, with its reason
        provenance.metadata_path(path).unlink()
    remove_ranks(path)
    run = ranking.run
    if source is not None and keep_rest:
        run = _with_rest(run, source, system.depth)
    # In the file no scores tie, so that no tool can read another order out of it.
    run = untied(run)
    run.write(path)
    if wanted and Path(path).is_file():
        write_ranks(path, ranking.ranks)
    if not Path(path).is_file():  # a pipe or device keeps nothing that could be described
        return run, False
    provenance.write(path, provenance.record({**made, "sha256": sha256(path)}, seconds))
    return run, False


def is_helper() -> bool:
    """Whether this process was started by torchrun to share the encoding, and writes nothing."""
    return "TORCHELASTIC_RUN_ID" in os.environ and os.environ.get("RANK", "0") != "0"


def _narrowed(task: Task, system: System, source: Run | None, progress: bool) -> Task:
    """The task, or what another run leaves of it."""
    if source is not None:
        return task.among(source, system.depth)
    first = system.first
    if first is None:
        return task
    shown = first.load(task.dataset_id)
    found = rank(
        _narrowed(shown, first, None, progress), first.retriever, depth=system.depth,
        ties=first.task.ties, tag=first.name, progress=progress,
    )  # fmt: skip
    return task.among(found)


def _with_rest(run: Run, source: Run, depth: int) -> Run:
    """A run, followed for each query by what another lists below a depth, in its order."""
    doc_ids, codes = encode([*run.doc_ids, *source.doc_ids])
    rest = codes[len(run.doc_ids) :]
    docs, scores, counts = [], [], []
    at = {query: i for i, query in enumerate(source.query_ids)}
    for i, query in enumerate(run.query_ids):
        mine = slice(run.offsets[i], run.offsets[i + 1])
        more = source.docs[:0]
        if query in at:
            first, last = source.offsets[at[query]], source.offsets[at[query] + 1]
            more = source.docs[min(first + depth, last) : last]
        listed = np.concatenate([codes[run.docs[mine]], rest[more]])
        # Each a step below the one before it, whatever the scores' scale.
        kept = run.scores[mine]
        low = np.full(len(more) + 1, kept[-1] if len(kept) else 0, np.float32)
        scores.append(np.concatenate([kept, separate(low, np.arange(len(low)))[1:]]))
        docs.append(listed)
        counts.append(len(listed))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Run.ordered(
        run.query_ids, offsets, doc_ids, np.concatenate(docs).astype(np.int32),
        np.concatenate(scores), run.tag,
    )  # fmt: skip


def relevant_documents(dataset_id: str) -> dict[str, list[str]]:
    """The relevant documents of each judged query, for the engine to locate; no retriever's."""
    dataset = load_dataset(dataset_id)
    if benchmark(dataset) is None:  # others' qrels may have to be downloaded, or be restricted
        return {}
    wanted: dict[str, list[str]] = {}
    for row in dataset.qrels_iter() if dataset.has_qrels() else ():
        if row.relevance > 0:
            wanted.setdefault(row.query_id, []).append(row.doc_id)
    return wanted


def made_of(system: System, task: Task, data: str | None = None) -> dict[str, Any]:
    """Everything that decides a full ranking; `data` is the task's fingerprint where it is known."""
    more = "\x1f".join(system.retriever.also_reads(task))
    return {
        "dataset": task.dataset_id,
        "data": data or fingerprint(task, corpus=system.retriever.reads_corpus()),
        "training": _digest(more) if more else None,
        "system": system.name,
        "retriever": system.retriever.name,
        "settings": system.settings(),
        "inputs": system.retriever.fingerprint(),
        "computed": system.retriever.computed(),
        "version": __version__,
        "formats": formats(system.retriever),
        "libraries": provenance.versions(),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(task: Task, *, corpus: bool = False) -> str:
    """A hash of everything a retriever is given: ids, candidates, texts, and perhaps the corpus."""
    digest = hashlib.sha256()
    for ids, texts in ((task.query_ids, task.queries), (task.doc_ids, task.docs)):
        for name, segments in zip(ids, texts, strict=True):
            digest.update("\x1f".join((name, *segments, "\x1e")).encode())
    for segments in task.corpus() if corpus else ():
        digest.update("\x1f".join((*segments, "\x1d")).encode())
    for group in task.groups:
        digest.update(f"{len(group.queries)} {len(group.docs)} ".encode())
        digest.update(group.queries.tobytes())
        digest.update(group.docs.tobytes())
    return digest.hexdigest()


def formats(retriever: Retriever) -> dict[str, int]:
    """The format numbers of what decides a run, so that runs of an older format are made again."""
    return {"engine": engine.FORMAT, "analysis": analysis.FORMAT, "retriever": retriever.format}


def _unchanged(path: StrPath, made: dict[str, Any]) -> bool:
    recorded = (provenance.read(path) or {}).get("irtoolkit")
    if not isinstance(recorded, dict) or not Path(path).is_file():
        return False
    if made["golds"] is not None and not ranks_path(path).is_file():
        return False
    return recorded == {**made, "sha256": sha256(path)}

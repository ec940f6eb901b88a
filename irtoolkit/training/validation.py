"""Validation: the figures of a model on real candidate pools during training."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.models.presets import Kind
from irtoolkit.retrievers.engine import rank
from irtoolkit.retrievers.task import QueryGroup, Task, load_task
from irtoolkit.retrievers.texts import GivenTexts
from irtoolkit.runs import Qrels
from irtoolkit.scoring.evaluation import parse_measures
from irtoolkit.scoring.score import score
from irtoolkit.training.model_retriever import ModelRetriever
from irtoolkit.training.negatives import random_generator
from irtoolkit.training.processes import world_size
from irtoolkit.training.recipes import Stage
from irtoolkit.training.training_set import TrainingSet

# Depth of the rankings that are scored; the ranks of relevant documents are exact.
DEPTH = 1000
# Number of texts that a CPU reads at once, and the largest number that a GPU does.
_ON_CPU, _ON_GPU = 64, 512
# Seed of the candidates of an evaluation with `ways`.
_WAYS = 20


@dataclass(frozen=True, eq=False)
class Validation:
    """Queries, candidates and measures that a model is evaluated with during training.

    Attributes:
        task: the queries and their candidates.
        dataset: the judgments, and the protocol by which figures are averaged.
        measure: name of the measure that selects the best model.
        measures: all measures by name; they include the others of the dataset's protocol.
        join: separator of the segments of a text.
        batch: number of texts that a GPU reads at once.
    """

    task: Task
    dataset: Dataset
    measure: str
    measures: dict[str, Any]
    join: str = " "
    batch: int = _ON_GPU

    @property
    def qrels(self) -> Qrels:
        """The judgments of the queries."""
        return self.dataset.qrels

    def fingerprint(self) -> str:
        """Returns the SHA-256 of the queries, the ids of the candidates and the judgments."""
        digest = hashlib.sha256()
        for name, text in zip(self.task.query_ids, self.task.queries, strict=True):
            digest.update("\x1f".join((name, *text, "\x1e")).encode())
        for ids in (self.task.doc_ids, self.qrels.query_ids, self.qrels.doc_ids):
            digest.update("\x1f".join(map(str, ids)).encode())
        for group in self.task.groups:
            digest.update(group.queries.tobytes() + group.docs.tobytes())
        for part in (self.qrels.offsets, self.qrels.docs, self.qrels.grades):
            digest.update(part.tobytes())
        return digest.hexdigest()

    def __call__(self, model: Any, kind: Kind, precision: str = "fp32") -> dict[str, float]:
        """Returns the figure of a model for each measure."""
        batch = _ON_CPU if model.device.type == "cpu" else self.batch
        training = model.training
        model.eval()
        try:
            run = rank(
                self.task,
                ModelRetriever(model, kind, batch, self.join, precision),
                _relevant(self.qrels),
                depth=DEPTH,
            )
        finally:
            model.train(training)
        scores = score(self.dataset, run, self.measures, names=["model"])
        return scores["model"].figures()


def _relevant(qrels: Qrels) -> dict[str, list[str]]:
    """Returns the relevant documents of each query."""
    relevant: dict[str, list[str]] = {}
    for i, query_id in enumerate(qrels.query_ids):
        rows = slice(qrels.offsets[i], qrels.offsets[i + 1])
        docs = qrels.docs[rows][qrels.grades[rows] > 0]
        relevant[query_id] = [str(qrels.doc_ids[doc]) for doc in docs]
    return relevant


def make_validation(
    stage: Stage, held_out: TrainingSet | None, join: str = " "
) -> Validation | None:
    """Returns the validation of a stage, or None if the stage has no measure.

    Args:
        stage: gives the measure, and the dataset unless rows are held out.
        held_out: the rows that are held out; None if there are none.
        join: separator of the segments of a text.

    Raises:
        InputError: the dataset has no judgments, or there is nothing to evaluate on.
    """
    if stage.measure is None:
        return None
    if stage.evaluate:
        task = load_task(stage.evaluate, query=stage.query, doc=stage.doc)
        dataset = Dataset.load(stage.evaluate)
        default_measures = dataset.protocol.measures if stage.ways is None else ()
        names = [stage.measure, *(m for m in default_measures if m != stage.measure)]
        measures = parse_measures(names)
        task = _narrowed(task, dataset.qrels, stage.ways)
        return Validation(task, dataset, stage.measure, measures, join, _batch(stage))
    if held_out is None:
        raise InputError(
            f"measure={stage.measure}, and there is nothing to measure it on",
            remedy="give evaluate=DATASET, or held_out=0.1 of the rows",
        )
    rows = zip(held_out.query_ids, held_out.doc_ids[held_out.golds], strict=True)
    qrels = Qrels.from_rows((str(query), str(doc), 1) for query, doc in rows)
    if stage.source == "dataset":
        whole = load_task(stage.dataset, query=stage.query, doc=stage.doc)
        task = whole.only(qrels.query_ids.tolist())
    else:
        task, join = _held_out(held_out, stage.grouped), " "
    task = _narrowed(task, qrels, stage.ways)
    judged = Dataset.of_qrels(qrels)
    measures = parse_measures([stage.measure])
    return Validation(task, judged, stage.measure, measures, join, _batch(stage))


def _batch(stage: Stage) -> int:
    """Returns the number of texts that a GPU reads at once.

    A training step holds the activations of all layers, and encoding only those of one layer; so
    several times the rows of a step fit wherever training does.
    """
    return min(_ON_GPU, 4 * (stage.chunk or max(1, stage.batch // world_size())))


def _narrowed(task: Task, qrels: Qrels, ways: int | None) -> Task:
    """Returns a task in which each query ranks its relevant documents and others drawn at random.

    The same queries and documents are always narrowed alike.

    Args:
        task: the queries and all their candidates.
        qrels: the relevant documents.
        ways: largest number of candidates of a query; None leaves the task as it is.
    """
    if ways is None:
        return task
    relevant, groups = _relevant(qrels), list[QueryGroup]()
    number_of = {name: number for number, name in enumerate(task.doc_ids.tolist())}
    for group in task.groups:
        for query in group.queries.tolist():
            relevant_numbers = [
                number_of[doc]
                for doc in relevant.get(task.query_ids[query], ())
                if doc in number_of
            ]
            golds = np.intersect1d(np.array(relevant_numbers, np.int64), group.docs)
            # As many more are drawn as there are golds, which are left out of what is drawn.
            count = min(ways + len(golds), len(group.docs))
            drawn = random_generator(_WAYS, query).choice(group.docs, count, replace=False)
            others = drawn[~np.isin(drawn, golds)][: max(0, ways - len(golds))]
            docs = np.sort(np.concatenate([golds, others]))
            groups.append(QueryGroup(np.array([query]), docs))
    return replace(task, groups=tuple(groups), picked=True)


def _held_out(rows: TrainingSet, grouped: bool) -> Task:
    """Returns a task with held-out rows as queries, and the documents of these rows as candidates.

    If `grouped`, the candidates of a row are the documents of its group.
    """
    query_ids, first = np.unique(rows.query_ids, return_index=True)
    queries = [(rows.queries[int(row)],) for row in first]
    groups = []
    for group in np.unique(rows.groups) if grouped else [None]:
        members = np.flatnonzero(rows.groups == group) if grouped else np.arange(len(rows))
        numbers = np.flatnonzero(np.isin(first, members))
        groups.append(QueryGroup(numbers, np.unique(rows.golds[members])))
    return Task(
        rows.what,
        query_ids,
        rows.doc_ids,
        tuple(groups),
        texts=GivenTexts(queries, [(text,) for text in rows.docs]),
    )

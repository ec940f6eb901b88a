"""The known contexts of documents: the queries that a training dataset judges them relevant for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from irtoolkit.base.errors import InputError
from irtoolkit.base.ids import Segments
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.identity import DatasetId
from irtoolkit.retrievers.task import Task
from irtoolkit.retrievers.texts import view


def known_contexts(task: Task, train: str) -> tuple[list[Segments], Any]:
    """The contexts of a training dataset, and a (contexts, documents) matrix of whose they are.

    Args:
        task: whose documents are looked for.
        train: id of the training dataset, or a split's name, which then takes the place of the split
            in the id of the task's dataset.

    Raises:
        InputError: no such dataset; one without judged queries, or without a document of the task;
            or one that has a query of the task.
    """
    name = training_id(task.dataset_id, train)
    dataset = Dataset.load(name)
    if not (dataset.has_queries() and dataset.has_qrels()):
        raise InputError(f"dataset {name} has no judged queries to learn from")
    positions = {doc_id: i for i, doc_id in enumerate(task.doc_ids)}
    texts = {query.query_id: view(query, task.query_view) for query in dataset.queries_iter()}
    for query_id in task.query_ids:
        if query_id in texts:
            raise InputError(
                f"query {query_id} of {task.dataset_id} is in the training set {name} too",
                remedy="learn from another split",
            )
    number = {query_id: i for i, query_id in enumerate(texts)}
    pairs = [
        (number[row.query_id], positions[row.doc_id])
        for row in dataset.qrels_iter()
        if row.relevance > 0 and row.doc_id in positions and row.query_id in number
    ]
    if not pairs:
        raise InputError(
            f"no document of {task.dataset_id} has a known context in {name}",
            remedy="--set train= another dataset over the same documents",
        )
    rows, columns = np.array(pairs).T
    shape = (len(texts), len(task.doc_ids))
    return list(texts.values()), csr_array((np.ones(len(pairs)), (rows, columns)), shape=shape)


def also_known(task: Task, train: str) -> Iterator[str]:
    """Yields what decides scores of the known contexts: their texts, and the documents they belong to."""
    contexts, golds = known_contexts(task, train)
    yield from (" ".join(segments) for segments in contexts)
    yield str(list(zip(*(part.tolist() for part in golds.nonzero()), strict=True)))


def training_id(dataset_id: str, train: str) -> str:
    """The id of the training dataset of a dataset.

    Raises:
        InputError: `train` names a split, and the dataset's id has none.
    """
    if "/" in train:
        return train
    training = DatasetId.parse(dataset_id).with_split(train)
    if training is not None:
        return str(training)
    raise InputError(
        f"{dataset_id} has no split, so no training set can be told from its id",
        remedy="--set train=DATASET",
    )

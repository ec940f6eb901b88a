"""Warnings about runs and judgments that do not fit each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np

from irtoolkit.base.errors import InputError
from irtoolkit.datasets.dataset import Dataset
from irtoolkit.runs import Qrels, Run
from irtoolkit.runs.exact_ranks import Ranks
from irtoolkit.scoring.check import shallow_queries
from irtoolkit.scoring.evaluation import Evaluation
from irtoolkit.scoring.notes import Note

# The name of a run that has none.
UNNAMED = "run"


def run_notes(
    name: str, run: Run, dataset: Dataset, whole: tuple[str, ...], source: Any
) -> Iterator[Note]:
    """Yields the warnings about a run.

    Raises:
        InputError: it has no judged query.
    """
    judged = [str(query_id) for query_id in dataset.qrels.query_ids]
    unranked = set(judged) - set(run.query_ids)
    if len(unranked) == len(judged):
        who = "the run" if isinstance(source, str | PathLike) or name == UNNAMED else f"run {name}"
        its = (
            f"it has for example {min(run.query_ids)}, and"
            if len(run.query_ids)
            else "it is empty;"
        )
        raise InputError(
            f"{who} has no judged query: {its} the judgments have {min(judged, default='none')}",
            file=source if isinstance(source, str | PathLike) else None,
            remedy=f"is it a run of {dataset.id}?",
        )
    if whole and dataset.replaced.get("candidates") == "corpus":
        yield Note(name, "corpus", (), len(judged), whole)
    shallow = shallow_queries(run, dataset) if whole else []
    if shallow:
        yield Note(name, "shallow", tuple(shallow), len(judged), whole)


def missing(
    name: str, run: Run, qrels: Qrels, ranks: Ranks | None, listed_only: tuple[str, ...]
) -> Iterator[Note]:
    """Yields a warning of the judged queries that a run lacks, and one of those with exact ranks.

    Args:
        name: the name of the run's system.
        run: a run.
        qrels: the judgments.
        ranks: the exact ranks that are scored, or None.
        listed_only: the measures that use no exact ranks.
    """
    judged = len(qrels.query_ids)
    # As in a run's file, a query without rows is not in the run.
    listed = run.query_ids[np.diff(run.offsets) > 0]
    unlisted = [str(query) for query in qrels.query_ids[~np.isin(qrels.query_ids, listed)]]
    ranked = tuple(query for query in unlisted if (ranks or {}).get(query))
    zero = tuple(query for query in unlisted if query not in ranked)
    if zero:
        yield Note(name, "missing", zero, judged)
    if ranked:
        yield Note(name, "ranked", ranked, judged, listed_only)


def unjudged(name: str, run: Run, qrels: Qrels) -> Iterator[Note]:
    """Yields a warning if no document of a run is judged, with a document of each side."""
    shared = np.isin(run.query_ids, qrels.query_ids).nonzero()[0]
    filled = [i for i in shared.tolist() if run.offsets[i] < run.offsets[i + 1]]
    if filled and len(qrels.docs):
        query = str(run.query_ids[filled[0]])
        doc_id = str(run.doc_ids[run.docs[run.offsets[filled[0]]]])
        judged = next(row.doc_id for row in qrels if row.query_id == query)
        yield Note(name, "unjudged", (query,), len(qrels.query_ids), documents=(doc_id, judged))


def absent(dataset: Dataset) -> Iterator[Note]:
    """Yields the judged documents that are not in the collection, if it is at hand.

    The judgments of a benchmark, and those of a registered collection, have been checked already.
    """
    unchecked = dataset.in_memory or "qrels" in dataset.replaced
    docs = dataset.documents_at_hand() if unchecked else None
    absent_ids = () if docs is None else [doc for doc in dataset.qrels.doc_ids if doc not in docs]
    if absent_ids:
        judged = len(dataset.qrels.query_ids)
        yield Note("", "absent", (), judged, documents=tuple(map(str, sorted(absent_ids))))


def unranked(name: str, evaluation: Evaluation) -> Iterator[Note]:
    """Yields a warning if figures are infinite, with the queries that cause it."""
    endless = [measure for measure, figure in evaluation.figures().items() if figure == math.inf]
    if endless:
        without = evaluation.query_ids[evaluation.per_query(endless[0]) == math.inf]
        queries = tuple(str(query_id) for query_id in without)
        yield Note(name, "unranked", queries, len(evaluation.query_ids), tuple(endless))

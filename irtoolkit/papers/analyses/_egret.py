"""Common parts of the analyses of EgRet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.egret import ExampleQuery
from irtoolkit.papers.analyses.base import records
from irtoolkit.runs import Run


def contexts_of(dataset: Dataset) -> dict[str, ExampleQuery]:
    """Returns query id to context, of a dataset in EgRet's form.

    Raises:
        InputError: its queries are not contexts of examples.
    """
    queries = records(
        dataset, lambda record: isinstance(record, ExampleQuery), "contexts of examples"
    )
    return {query.query_id: query for query in queries}


def best_others(
    run: Run, queries: Sequence[str], golds: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Returns query id to its best ranked document that is not relevant, if the run has one."""
    best = {}
    for query in queries:
        others = (row.doc_id for row in run.ranking(query) if row.doc_id not in golds[query])
        first = next(others, None)
        if first is not None:
            best[query] = first
    return best

"""Common parts of the analyses of RELiC."""

from __future__ import annotations

from irtoolkit.datasets.dataset import Dataset
from irtoolkit.datasets.relic_release import RelicQuery
from irtoolkit.papers.analyses.base import records


def windows_of(dataset: Dataset) -> list[RelicQuery]:
    """Returns the queries of a dataset in RELiC's form.

    Raises:
        InputError: they are not windows of criticism.
    """
    return records(dataset, lambda query: isinstance(query, RelicQuery), "windows of criticism")


def quotations_of(dataset: Dataset) -> dict[str, str]:
    """Returns query id to the id of the passage that is quoted.

    Raises:
        InputError: the quotations are hidden.
    """
    return {row.query_id: row.doc_id for row in dataset.qrels if row.relevance > 0}
